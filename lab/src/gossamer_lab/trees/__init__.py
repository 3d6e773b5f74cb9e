"""The quality of trees by classes that people gave: `gossamer eval tree`.

labelled   collections with a class for each document      methods   k-means, Ward, BERTopic and Gossamer's tree
measures   agreement with classes, coherence of words      quality   the tables
"""
