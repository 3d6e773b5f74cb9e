"""Vectors → concepts: the Cobweb/4V tree.

arrays      the state: named flat arrays, nothing else
kernels     the mathematics: entropies and moments
structure   child lists, leaves by content, free slots
grow        insert a document
shrink      remove a document
cobweb      CobwebTree, the class people use
"""
