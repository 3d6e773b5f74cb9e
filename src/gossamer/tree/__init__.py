"""Vectors → concepts: the Cobweb/4V tree.

cobweb          CobwebTree, the class people use
arrays          the state: named flat arrays
structure       changes to the links between nodes; leaves by content
utility         entropies and moments of nodes
insertion       one document at a time, by Cobweb's operators
removal         the inverse
agglomeration   all at once, from below, by Ward's rule
ward            Ward's method where all pairs are compared
top             the levels that people see: the last clusters moved as well as merged
rebuild         a new tree over the documents of another
scoring         log densities, scores of leaves and the documents of the best
views           nodes and paths, to read
browsing        the view that people see: shown children, shown paths, outlines
cuts            the n concepts that describe all documents best
identity        concepts of a rebuilt tree keep their ids
history         which concepts are new, grown, merged, split or gone since an operation
anchoring       points for a rebuild that prefers the concepts there are
validation      saved arrays → a tree, or an error
"""
