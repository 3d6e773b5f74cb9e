"""Leaves → points in the plane, laid out so that concepts are regions.

sketch      what a layout reads of a tree and its search graph, copied, so that the index can change meanwhile
affinities  leaves → how strongly each is tied to the leaves nearest to it
forces      points, masses and affinities → points moved to where attraction and repulsion balance (t-SNE)
layout      a tree → a place for each leaf, level by level from the largest concepts down
placing     places for leaves that came later, near their neighbours; the others stay
"""
