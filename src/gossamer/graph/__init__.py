"""Leaves → near leaves: what lets a search find documents by scoring a small part of the tree.

search_graph    the graph of one version of a tree: build it, follow changes of the tree, save and load it
codes           vectors of leaves and concepts, quantised to one byte a coordinate
links           the links of each leaf: add, thin, drop
linking         which leaves a leaf should link to
entry_points    concepts, and a leaf of each, from which walks start
walk            the search: from entry points along links to the nearest leaves
calibration     what a search has to spend for a wanted recall
growth          new vectors → leaves in the tree and in the graph, one after the other
workspace       memory that searches reuse
"""
