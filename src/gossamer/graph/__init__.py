"""Leaves → near leaves: one-byte codes, links between near leaves, and the walk along them that guides a search.

codes           vectors of leaves and concepts, quantised to one byte a coordinate
links           the links of each leaf: add, thin, drop
linking         which leaves a leaf should link to
entry_points    concepts from which a search starts
walk            the search: from entry points along links to the nearest leaves
calibration     how far to walk for a wanted recall
"""
