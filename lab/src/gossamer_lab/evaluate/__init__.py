"""Retrieval quality on collections with known answers.

collection  documents, queries and which answers which          datasets  collections read from files or by name
construct   the paper's setting: n documents, q queries         places    where data is found, and results are kept
embed       a collection as vectors                             spaces    vectors as they come, and whitened
prepared    what methods share: spaces, trees, words            methods   rankers by name; a few lines add one
metrics     measures of a ranking, query by query               compare   is a difference real?
lexical     BM25 of every query
runs        rankings kept, so that a run can be stopped         run       methods × a collection
single      one collection: what `gossamer eval run` does       summary   results as a table
tables      tables as Markdown, CSV, JSON, LaTeX                figures   pictures
paper       every table of the paper again                      published the authors' own figures
 ├─ architectures   models, collections, sizes                  dials     settings of an index as methods
 ├─ costs           latency, growth                             choose    dials turned, one after the other
 └─ cases           sub-hierarchies, the decoder-only case      defaults  chosen on one half, reported on the other
robustness  the same methods as the embedding gets worse        tree_quality  is the tree any good?
"""
