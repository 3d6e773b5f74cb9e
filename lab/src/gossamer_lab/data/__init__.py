"""Collections with known answers, and their vectors.

files       folders of data and of results, .npy files       construct   the paper's setting made from pairs
collection  documents, queries and answers                   embedded    a collection with its vectors
datasets    collections by name
"""
