"""Vectors → concepts: the tree.

The state
    cobweb          CobwebTree, the class people use
    arrays          named flat arrays
    structure       changes to the links between nodes; leaves by content
    utility         entropies and moments of nodes
    validation      saved arrays → a tree, or an error

Changing it
    placement       one document at a time, beside the nearest leaf (structure "living")
    insertion       one document at a time, by Cobweb's operators (structure "cobweb")
    removal         the inverse of both, for the statistics
    agglomeration   all at once, from below, by Ward's rule
    ward            Ward's method where all pairs are compared
    top             the upper levels: the last clusters moved as well as merged
    rebuild         a new tree over the documents of another
    anchoring       points for a rebuild that prefers the concepts there are
    identity        concepts of a rebuilt tree keep their ids
    history         which concepts are new, grown, shrunk, merged, split or gone since an operation

Reading it
    scoring         log densities, scores of leaves and the documents of the best
    views           nodes and whole paths
    browsing        what people see: shown children, shown paths, outlines
    cuts            the n groups that describe all documents best
"""
