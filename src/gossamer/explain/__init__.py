"""Documents and concepts → words: labels, exemplars, the concepts a query fits, and whether it fits at all.

passages      the texts behind the tree, and how much of each is read
sampling      concept → a sample of its members, and the terms of their passages
terms         text → terms that may stand in a label
labels        terms of members, siblings and corpus → a label (class-based TF-IDF)
label_cache   the labels of a tree, kept while their concepts change little; the user's labeller
exemplars     concept → the documents that stand for it
basic_level   path → the concept people would name first
concepts      nodes of the tree → `Concept`s; read this first
matching      query → the concepts it fits
novelty       query → how unusual it is
"""
