"""Research on Gossamer: the paper's experiments, how its defaults were chosen, and benchmarks beside other systems.

engine      what is used of Gossamer's insides                    data       collections and their vectors
job         one run: data, cache, progress                        methods    rankers by name, over vectors by name
timing      fair clocks                                           evaluate   methods measured and compared
tables      tables and reports as text, Markdown, CSV, JSON       paper      the paper's tables again
fingerprint which engine made a page                              pages      docs/results and its commands
pictures    PNG                                                   trees      the tree beside k-means and Ward
cli         gossamer eval …, gossamer bench                       bench      Gossamer beside faiss, hnswlib, usearch
"""
