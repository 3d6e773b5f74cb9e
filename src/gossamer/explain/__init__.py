"""Document → reasons, over the tree and the texts behind it; `Index` is the door to all of it.

terms, stopwords       text → terms that may stand in a label
sampling, members      which members of a concept are looked at
labels, names          terms → what a concept is called, and for how long
ways                   paths from the root, and which nodes to show
exemplars, making      nodes → `Concept`s,
concepts               which are kept as long as they hold
basic, matching        the level people would name; the concepts a query fits
cuts                   the best partition into groups
paths                  evidence step by step, on the scale of the score
novelty                whether a query is at home here
"""
