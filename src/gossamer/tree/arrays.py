"""The state of a tree: named flat arrays. Kernels are functions of them, nodes are views into them, files hold them.

A node is the number of a slot. A slot made for a leaf stays one for leaves and keeps its row of `vectors`; a slot made
for an internal node keeps its row of `mean` and `m2`. Free slots form two lists, linked through `next_sibling`, and are
used again last in, first out.

The names of the arrays, and the places in `meta` and `limits`, are part of the file format.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Floats, Ints, Longs


# Tuples of numbers, since before Numba 0.68 a kernel could not index an array with a member of an IntEnum.
class _Meta(NamedTuple):
    """Places of the counts in `TreeArrays.meta`."""

    ROOT: int = 0
    SLOTS: int = 1  # slots ever made; the next new slot gets this number
    LEAF_ROWS: int = 2  # rows of `vectors` ever made
    INNER_ROWS: int = 3  # rows of `mean` and `m2` ever made
    FREE_LEAF: int = 4  # first free slot of a leaf
    FREE_INNER: int = 5  # first free slot of an internal node
    NODES: int = 6  # in the tree, leaves included
    LEAVES: int = 7  # in the tree
    DOCUMENTS: int = 8  # in the tree
    NEXT_DOCUMENT: int = 9  # number of the next document; numbers are not used again
    CHANGES: int = 10  # insertions and removals so far; a rebuild counts as one
    INSERTED: int = 11  # operators applied so far: into the best child,
    CREATED: int = 12  # a new child,
    MERGED: int = 13  # two children merged,
    SPLIT: int = 14  # a child split,
    FRINGE: int = 15  # a leaf turned into a node over two leaves,
    JOINED: int = 16  # an exact duplicate joined its leaf
    SIZE: int = 17


class _Limit(NamedTuple):
    """Places of the numbers in `TreeArrays.limits`."""

    ACUITY: int = 0
    LOWEST: int = 1  # smallest coordinate ever seen
    HIGHEST: int = 2  # largest coordinate ever seen
    SIZE: int = 3


Meta: Final = _Meta()
Limit: Final = _Limit()


class TreeArrays(NamedTuple):
    """Everything a tree consists of."""

    # one entry for each slot
    size: Longs  # documents below
    parent: Ints
    first_child: Ints
    next_sibling: Ints
    prev_sibling: Ints
    n_children: Ints  # 0 marks a leaf
    row: Ints  # of `vectors` for a leaf, of `mean` and `m2` for an internal node
    h: Doubles  # Σ_d log(σ²_d / a): entropy above that of a leaf, whose h is therefore 0
    s: Doubles  # Σ n·h over the children
    first_document: Ints  # of a leaf
    # one row for each leaf
    vectors: Floats
    norm: Doubles  # squared length of the vector; infinite where the row holds no leaf, so that no search finds it
    owner: Ints  # the slot whose row this is
    key: Longs  # hash of the vector
    chain: Ints  # the next leaf in the same bucket
    # one row for each internal node
    mean: Doubles
    m2: Doubles  # sum of squared deviations from the mean
    changed: Longs  # Meta.CHANGES when this row last changed, so that copies can tell which rows are out of date
    # one entry for each document, in order of arrival
    leaf: Ints  # NONE once removed
    next_document: Ints  # the others of the same leaf
    prev_document: Ints
    # the rest
    bucket: Ints  # leaves by hash; a power of two long
    meta: Longs  # see Meta
    limits: Doubles  # see Limit


NODE_FIELDS: Final = (
    "size", "parent", "first_child", "next_sibling", "prev_sibling", "n_children", "row", "h", "s", "first_document",
)  # fmt: skip
LEAF_FIELDS: Final = ("vectors", "norm", "owner", "key", "chain")
INNER_FIELDS: Final = ("mean", "m2", "changed")
DOCUMENT_FIELDS: Final = ("leaf", "next_document", "prev_document")

RESERVE: Final = 64
"""Spare slots that there are when a kernel is called; one insertion rarely takes more than three."""


def empty_arrays(dim: int, acuity: float) -> TreeArrays:
    """The arrays of a tree without documents."""
    meta = np.zeros(Meta.SIZE, np.int64)
    meta[[Meta.ROOT, Meta.FREE_LEAF, Meta.FREE_INNER]] = NONE
    limits = np.array([acuity, np.inf, -np.inf])
    ints = np.int32
    return TreeArrays(
        size=np.zeros(0, np.int64), parent=np.zeros(0, ints), first_child=np.zeros(0, ints),
        next_sibling=np.zeros(0, ints), prev_sibling=np.zeros(0, ints), n_children=np.zeros(0, ints),
        row=np.zeros(0, ints), h=np.zeros(0), s=np.zeros(0), first_document=np.zeros(0, ints),
        vectors=np.zeros((0, dim), np.float32), norm=np.zeros(0), owner=np.zeros(0, ints),
        key=np.zeros(0, np.int64), chain=np.zeros(0, ints),
        mean=np.zeros((0, dim)), m2=np.zeros((0, dim)), changed=np.zeros(0, np.int64),
        leaf=np.zeros(0, ints), next_document=np.zeros(0, ints), prev_document=np.zeros(0, ints),
        bucket=np.full(1, NONE, ints), meta=meta, limits=limits,
    )  # fmt: skip


def with_room(t: TreeArrays, documents: int, inners: int | None = None) -> TreeArrays:
    """`t` with room for `documents` more documents and `inners` more internal nodes.

    By default half as many internal nodes as documents, which is what real data needs, and RESERVE. An insertion that
    finds no free slot stops, and is resumed with more room.
    """
    meta = t.meta
    inners = documents // 2 + RESERVE if inners is None else inners
    need = {
        **dict.fromkeys(NODE_FIELDS, int(meta[Meta.SLOTS]) + documents + inners),
        **dict.fromkeys(LEAF_FIELDS, int(meta[Meta.LEAF_ROWS]) + documents),
        **dict.fromkeys(INNER_FIELDS, int(meta[Meta.INNER_ROWS]) + inners),
        **dict.fromkeys(DOCUMENT_FIELDS, int(meta[Meta.NEXT_DOCUMENT]) + documents),
    }
    grown = {name: _longer(array, rows) for name, rows in need.items() if len(array := getattr(t, name)) < rows}
    return t._replace(**grown) if grown else t


def rows_in_use(meta: Longs) -> dict[str, int]:
    """How many rows of each array are in use, by name; arrays that are not listed are in use as a whole."""
    return {
        **dict.fromkeys(NODE_FIELDS, int(meta[Meta.SLOTS])),
        **dict.fromkeys(LEAF_FIELDS, int(meta[Meta.LEAF_ROWS])),
        **dict.fromkeys(INNER_FIELDS, int(meta[Meta.INNER_ROWS])),
        **dict.fromkeys(DOCUMENT_FIELDS, int(meta[Meta.NEXT_DOCUMENT])),
    }


def used(t: TreeArrays) -> dict[str, npt.NDArray[Any]]:
    """The part of each array that is in use, by name: what is saved."""
    rows = rows_in_use(t.meta)
    return {name: array[: rows.get(name, len(array))] for name, array in t._asdict().items()}


def leaf_vectors(t: TreeArrays) -> Floats:
    """The vectors of all leaves, in the order of their rows; a view where no row is free."""
    rows = int(t.meta[Meta.LEAF_ROWS])
    alive = np.isfinite(t.norm[:rows])
    return t.vectors[:rows] if alive.all() else t.vectors[:rows][alive]


def _longer(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """A copy of `array` with at least `rows`, and half as many again as before: growing takes linear time in all."""
    longer = np.empty((max(rows, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
