"""Gossamer beside other vector indexes, on the same vectors, in one run.

data      the vectors, whitened once for everybody
timing    the same threads for all, rounds that take turns, best and median and spread
measures  recall, nDCG, what a curve says between its points
systems   gossamer, faiss, hnswlib and usearch behind one face
search build scale memory filters refining     one task each: data in, a report out
report    reports as tables and JSON
plot      recall against queries a second
"""
