"""Vectors → nearest vectors. Below the tree, which agglomerates nearest neighbours, and the graph, which links them.

quantise    vectors → codes of one byte a coordinate
all_pairs   codes → the nearest others of each, by comparing all pairs
ordering    the heap, the sorted list and the insertion sort that kernels share
"""
