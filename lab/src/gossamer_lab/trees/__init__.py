"""The quality of trees, by classes that people gave and by what people see first: `gossamer eval tree`.

labelled   collections with a class for each document      methods   k-means, Ward, BERTopic and the index
measures   agreement with classes                          topics    how even `topics(n)` and the view of the root are
criteria   Cobweb's loss of n·h beside Ward's rule         quality   the tables
"""
