"""Documents and concepts → words: labels, exemplars, the concepts a query fits, and whether it fits at all.

passages      the texts behind the tree, and how much of each is read
sampling      concept → a sample of its members, and a fingerprint of what its label is made from
terms         text → terms that may stand in a label
boilerplate   passages → sequences of words that otherwise different ones share
background    corpus → its language, boilerplate and terms
meaning       vectors of terms → how well they tell members from siblings' members
labels        terms of members, siblings and corpus → a label (class-based TF-IDF)
proposals     concept → its terms and possible labels
labelling     proposals → the labels of a tree; `saved_labels` are the same as text
naming        names by hand and by a labeller; `language_model` asks a server
exemplars     concept → the documents that stand for it
basic_level   path → the concept people would name first
concepts      nodes of the tree → `Concept`s; read this first
matching      query → the concepts it fits
novelty       query → how unusual it is
"""
