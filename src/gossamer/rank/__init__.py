"""Query → documents.

density     log p(x|c), the number every ranking is made of
selection   the best few of many, and their documents
best_first  the paper's traversal (section 3.4.1)
path_sum    the paper's path-sum (3.4.2) and our path gain, exhaustive and exact
"""
