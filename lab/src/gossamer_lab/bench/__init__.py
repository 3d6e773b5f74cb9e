"""Gossamer beside other vector indexes, on the same vectors, in one run: `gossamer bench`.

data      the vectors, whitened once for all systems             report    reports as tables and JSON
measures  recall, and costs read from a curve                    systems   Gossamer, faiss, hnswlib and usearch
search, build, scale, memory, filters                            one task each: data in, a report out
stream    a tree that grows document by document: its quality, and who waits
"""
