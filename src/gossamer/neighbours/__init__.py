"""Vectors → nearest vectors, by comparing all pairs of one-byte codes; and the heap that kernels share."""
