"""Rankers by name, over vectors by name: ``best-first@paper`` is best-first search over the paper's vectors.

spaces     vectors as they come, and whitened             rankers    what ranks, with a registry
lexical    BM25 of every query                            settings   any setting of an index as a method
prepared   vectors, trees and words that methods share    rankings   rankings kept on disk
path_weights   path-sum with other weights
"""
