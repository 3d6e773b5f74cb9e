"""Query → documents, best first.

request     the parameters of a search, checked
ranking     which ranker a request calls for
guided      a walk along links: nearly all of the best, from a small part of the tree
path_sum    the paper's path-sum (section 3.4.2) and our path gain: exhaustive and exact; `path_sum_on_device` on a GPU,
            with products of `split_product`
best_first  the paper's traversal (section 3.4.1)
exact       exact scores of documents that are named
fusion      scores of meaning and of words → one ranking
gains       what each concept on a path contributes to a score
"""
