"""Memory that the kernels of a search write into instead of allocating, and the pool it is taken from."""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Doubles, Floats, Ints, Longs, Shorts
from gossamer.graph.codes import code_width
from gossamer.graph.links import MAX_LINKS
from gossamer.tree.arrays import TreeArrays

_LEAST_WIDTH: Final = 512
"""Leaves that every workspace has room for: few searches keep more, so that most workspaces fit most searches."""

Marks: TypeAlias = npt.NDArray[np.uint8]


class Workspace(NamedTuple):
    """What one search at a time needs besides the tree and the graph."""

    stamp: Longs  # one number: the number of the current query, counted up
    mark: Marks  # one number: the stamp modulo 255, plus 1, so that it fits in a byte and is never 0
    marks: Marks  # by leaf row: the mark of the last query that scored it; one byte each, so that they stay in cache
    keys: Floats  # heap of internal nodes, lowest estimate on top; without a heap, distances of entry concepts
    nodes: Ints
    near: Floats  # distances of the nearest leaves so far, rising
    rows: Ints  # their leaf rows; ~row once the links of that leaf were followed
    allowed_near: Floats  # the same for the leaves that pass the filter, where there is one
    allowed_rows: Ints
    query: Shorts  # the code of the current query
    known: Doubles  # by internal row: log densities for the current query,
    known_stamps: Doubles  # where this is its stamp
    counts: Longs  # two numbers: leaves in `near`, and in `allowed_near`
    unseen: Ints  # links of the current leaf that lead to leaves not scored yet


def new_workspace(t: TreeArrays, width: int) -> Workspace:
    """A workspace for a tree and searches that keep up to `width` leaves."""
    leaf_rows, inner_rows = len(t.vectors), len(t.mean)
    return Workspace(
        stamp=np.zeros(1, np.int64),
        mark=np.zeros(1, np.uint8),
        marks=np.zeros(leaf_rows, np.uint8),
        keys=np.zeros(inner_rows + 1, np.float32),  # every internal node is on the heap at most once
        nodes=np.zeros(inner_rows + 1, np.int32),
        near=np.zeros(width, np.float32),
        rows=np.zeros(width, np.int32),
        allowed_near=np.zeros(width, np.float32),
        allowed_rows=np.zeros(width, np.int32),
        query=np.zeros(code_width(t.vectors.shape[1]), np.int16),
        known=np.zeros(inner_rows),
        known_stamps=np.zeros(inner_rows),
        counts=np.zeros(2, np.int64),
        unseen=np.zeros(MAX_LINKS, np.int32),
    )


class WorkspacePool:
    """The workspaces of one index that no search is using: at most as many as searches ever ran at once."""

    def __init__(self) -> None:
        self._free: list[Workspace] = []

    def take(self, t: TreeArrays, width: int) -> Workspace:
        """A workspace that is large enough; smaller ones are dropped. `list.pop` is atomic, so threads never share."""
        while self._free:
            try:
                workspace = self._free.pop()
            except IndexError:
                break
            fits = len(workspace.marks) >= len(t.vectors) and len(workspace.known) >= len(t.mean)
            if fits and len(workspace.near) >= width:
                return workspace
        return new_workspace(t, max(_LEAST_WIDTH, width))

    def give_back(self, workspace: Workspace) -> None:
        """Let later searches use it."""
        self._free.append(workspace)
