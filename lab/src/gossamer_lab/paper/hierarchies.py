"""Figure 2 and appendix B: parts of trees of the kinds that the paper shows, found in ours by what its captions say.

A part is told by its documents' rows and words of our own; texts are shown only if asked for. The paper's trees are
not published, so the parts are others of the same kind, chosen by rule: of all concepts that fit, the tightest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer import CobwebTree, VectorIndex
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import unit_rows
from gossamer_lab.paper.architectures import TITLES
from gossamer_lab.paper.setting import Missing, Name, Setting
from gossamer_lab.tables import Cell, Row, Table

_SMALL: Final = 12
"""Leaves of a small concept of a living tree, which has no concepts of two or three beside them: looked at instead."""
_SHARE: Final = 0.5
"""A group has a theme if so many of its documents have a word of it."""


@dataclass(frozen=True)
class Kind:
    """A part that the paper shows: how many documents, a pattern that so many of them must match, and how near."""

    key: str
    caption: str
    collection: Name
    sizes: range
    pattern: str = ""
    share: float = 1.0
    near: bool = True
    """Whether the documents say the same; else the least alike are wanted, which a word alone joins."""


KINDS: Final = (
    Kind("B1", "three wordings of one question on education", "qqp", range(3, 4), r"stud|school|college|exam"),
    Kind("B2", "two instructions for setting something up, on different subjects", "qqp", range(2, 3),
         r"\b(set ?up|install|configure|connect|activate|enable|download)", near=False),
    Kind("B3", "two questions for the best of some gadget", "qqp", range(2, 3),
         r"\b(best|top)\b.*\b(phones?|smartphones?|laptops?|headphones|earphones|tablets?|cameras?|gadgets?)\b"),
    Kind("B4", "three wordings of one passage", "msmarco", range(3, 4)),
    Kind("B5", "a pair joined by burning, on different subjects", "msmarco", range(2, 3), r"\bburn", near=False),
    Kind("B6", "six passages on burning and pain", "msmarco", range(5, 8), r"\b(burn|pain|sore|ache)", share=_SHARE),
)  # fmt: skip

PAIRS: Final[dict[Name, tuple[str, str, str, str]]] = {
    "qqp": (
        "education in India", r"\b(india|indian|iit|iim|cbse|neet|jee|gate)\b.*|\b(btech|engineering college)",
        "earning money", r"\b(earn|make|making) (\w+ )?money|\bmoney online|\bsalary|\bincome",
    ),
    "msmarco": (
        "biochemistry", r"\b(enzymes?|proteins?|amino|glucose|atp|dna|rna|molecules?)\b",
        "nutrition", r"\b(vitamins?|calories|diets?|nutrition|nutrients?|foods?)\b",
    ),
}  # fmt: skip
"""By collection: two themes of figure 2, each with a pattern."""


def hierarchies(setting: Setting, *, texts: bool = False) -> list[Table]:
    """The six parts of appendix B, and the grandparents of figure 2, in both structures."""
    parts: list[Row] = []
    members: list[Row] = []
    joins: list[Row] = []
    names: tuple[Name, ...] = ("qqp", "msmarco")
    model = setting.by_kind.get("encoder", setting.models[0])
    for name in names:
        task = setting.task_or_reason(name, model, setting.sizes.documents)
        if isinstance(task, Missing):
            continue
        for structure, space in (("Cobweb", setting.whitened), ("living", "default")):
            seen = _Seen(task, space)
            joins.append({"collection": TITLES[name], "tree": structure, **_join(seen, *PAIRS[name])})
            for kind in (kind for kind in KINDS if kind.collection == name):
                row, rows = _part(seen, kind, small=structure == "living")
                parts.append({"part": kind.key, "tree": structure, "the paper's": kind.caption, **row})
                shown = task.data.collection.texts
                members += [{"part": kind.key, "tree": structure, "row": each, "text": shown[each]} for each in rows]
    tables = [
        Table(
            "parts",
            "Appendix B: parts of both trees",
            sorted(parts, key=lambda row: str(row["part"])),
            [_PARTS],
            {"like": 2},
        ),
        Table("joins", "Figure 2: the concept that joins two themes", joins, [_JOINS]),
    ]
    return [*tables, Table("members", "Documents of the parts", members)] if texts else tables


_PARTS: Final = (
    "Of the concepts of that size whose documents have the words that the caption asks for, the one whose documents "
    "are most alike, or, where the paper shows a pair on different subjects, least alike. like: mean cosine of its "
    "pairs. Small concepts of the living tree have up to twelve documents; there half of them must fit. rows: places "
    "of the documents in the collection; --texts shows the texts, which are not ours to print."
)
_JOINS: Final = (
    "The smallest concept with two children in each of which at least half of the documents have a word of one theme, "
    "three documents in each. The words are our own and rough."
)


class _Seen:
    """A tree over a collection, with the rows below each concept."""

    def __init__(self, task: Prepared, space: str) -> None:
        self.texts = task.data.collection.texts
        self.unit = unit_rows(task.data.E)
        self.index: VectorIndex = task.tree(space).index
        self.tree: CobwebTree = self.index.tree

    def below(self, node: int) -> list[int]:
        return [int(row) for row in self.index.documents_below(node)]

    def concepts(self, most: int) -> Iterator[int]:
        """All concepts of at most so many documents, parents first."""
        waiting = [self.tree.root]
        while waiting:
            node = self.tree.node(waiting.pop())
            waiting.extend(reversed(node.children))
            if node.children and node.count <= most:
                yield node.id

    def share(self, rows: Sequence[int], pattern: str) -> float:
        """How many of the texts match, as a share."""
        found = re.compile(pattern, re.IGNORECASE)
        return sum(found.search(self.texts[row]) is not None for row in rows) / len(rows)

    def likeness(self, rows: Sequence[int]) -> float:
        """The mean cosine of different documents."""
        if len(rows) < 2:
            return 1.0
        vectors = self.unit[list(rows)].astype(np.float64)
        n = len(rows)
        return float((vectors.sum(axis=0) @ vectors.sum(axis=0) - n) / (n * (n - 1)))


def _part(seen: _Seen, kind: Kind, *, small: bool) -> tuple[dict[str, Cell], list[int]]:
    """The best concept of a kind as cells, and its rows; among `small` concepts, of which half must fit."""
    sizes = range(kind.sizes.start, _SMALL + 1) if small else kind.sizes
    share = _SHARE if small else kind.share
    fitting: list[tuple[float, list[int]]] = []
    for node in seen.concepts(sizes.stop - 1):
        rows = seen.below(node)
        if len(rows) in sizes and (not kind.pattern or seen.share(rows, kind.pattern) >= share):
            likeness = seen.likeness(rows)
            fitting.append((likeness if kind.near else -likeness, rows))
    if not fitting:
        return {"fit": 0, "documents": None, "like": None, "rows": "none"}, []
    likeness, rows = max(fitting)
    cells: dict[str, Cell] = {
        "fit": len(fitting), "documents": len(rows), "like": abs(likeness), "rows": ", ".join(map(str, sorted(rows))),
    }  # fmt: skip
    return cells, sorted(rows)


def _join(seen: _Seen, first: str, first_words: str, second: str, second_words: str) -> dict[str, Cell]:
    """The smallest concept two of whose children have the two themes."""
    best: tuple[int, int, int, int] | None = None
    for node in seen.concepts(len(seen.texts)):
        concept = seen.tree.node(node)
        if best is not None and concept.count >= best[0]:
            continue
        children = [child for child in concept.children if seen.tree.node(child).count >= 3]
        groups = {child: seen.below(child) for child in children}
        one = [child for child in children if seen.share(groups[child], first_words) >= _SHARE]
        other = [child for child in children if seen.share(groups[child], second_words) >= _SHARE]
        pairs = [(a, b) for a in one for b in other if a != b]
        if pairs:
            best = (concept.count, node, *pairs[0])
    if best is None:
        return {"themes": f"{first} + {second}", "documents": None, "first": None, "second": None, "rows": "none"}
    sizes = [seen.tree.node(child).count for child in best[2:]]
    rows = ", ".join(map(str, sorted(seen.below(best[1]))[:12])) + (" …" if best[0] > 12 else "")
    return {
        "themes": f"{first} + {second}", "documents": best[0], "first": sizes[0], "second": sizes[1], "rows": rows,
    }  # fmt: skip
