"""The paper's figures: sub-hierarchies coloured by theme, and the decoder-only case where the dot product fails."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.tree.cobweb import CobwebTree
from gossamer_lab.evaluate import architectures
from gossamer_lab.evaluate.architectures import Setting
from gossamer_lab.evaluate.collection import Rows
from gossamer_lab.evaluate.methods import method_of
from gossamer_lab.evaluate.prepared import Prepared
from gossamer_lab.evaluate.run import measure
from gossamer_lab.evaluate.tables import Row, Table

_SHOWN: Final = 5
_HUBS: Final = 10
_COMPARED: Final = ("dot@raw", "cosine@raw", "l2@raw", "dot@pca", "l2@pca", "best-first@pca", "gain@default")
_COMMON: Final = 0.01
"""Words in a larger share of the documents name no theme."""
_FAILS: Final = "dot@raw"
_FINDS: Final = "best-first@pca"


def decoder_case(setting: Setting, *, texts: bool = False) -> list[Table]:
    """With decoder-only vectors a few documents answer everything; whitening undoes it, with a tree or without one.

    The texts of the collection are shown only where asked for: not everybody may pass them on.
    """
    task = setting.task("qqp", "smollm2", architectures.DOCUMENTS, architectures.QUERIES)
    rankings: dict[str, Rows] = {}
    rows: list[Row] = []
    for name in _COMPARED:
        setting.say(f"decoder-only, {name}", len(rows), len(_COMPARED))
        method = method_of(name)
        rankings[name] = setting.runs.rank(task, method, 10).rows
        often = Counter(rankings[name][:, :_SHOWN].ravel().tolist())
        rows.append(
            {
                "method": method.ranker,
                "vectors": method.space,
                "Recall@5": measure(task, method, setting.runs).scores.mean("Recall@5"),
                f"held by {_HUBS} documents": 100.0 * sum(n for _, n in often.most_common(_HUBS)) / often.total(),
                "different documents": len(often),
            }
        )
    asked = len(task.data.Q)
    notes = [f"Of the {_SHOWN} answers to each of {asked:,} queries, in percent; {_SHOWN * asked:,} answers in all."]
    hubs = Table("decoder-hubs", f"SmolLM2 on QQP, {len(task.data.E):,} documents: who answers", rows, notes)
    return [hubs, _case(task, rankings, texts)]


def _case(task: Prepared, rankings: dict[str, Rows], texts: bool) -> Table:
    """The first query whose answer the tree ranks first and the dot product does not find at all."""
    collection = task.data.collection
    right = [collection.row_of[next(iter(collection.answers[query]))] for query in collection.query_ids]
    often = {name: Counter(found[:, :_SHOWN].ravel().tolist()) for name, found in rankings.items()}
    for query, answer in enumerate(right):
        if rankings[_FINDS][query, 0] == answer and answer not in rankings[_FAILS][query]:
            break
    asked = f"“{collection.queries[query]}”" if texts else f"number {query}"
    rows: list[Row] = []
    for rank in range(_SHOWN):
        row: dict[str, str | int] = {"rank": rank + 1}
        for name in (_FAILS, _FINDS):
            place = int(rankings[name][query, rank])
            shown = collection.texts[place] if texts else f"document {place}"
            row[name] = f"{shown}{' ← the answer' if place == answer else ''}"
            row[f"{name}: queries answered so"] = often[name][place]
        rows.append(row)
    scores = task.data.E @ task.data.Q[query]
    rank = int((scores > scores[right[query]]).sum()) + 1
    notes = [f"The dot product has the answer at place {rank:,} of {len(scores):,}."]
    return Table("decoder-case", f"Query {asked}: the five best by dot product and by the tree", rows, notes)


# -- sub-hierarchies -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Theme:
    """A concept with all that is below it, ready to be drawn."""

    words: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]
    """Parent and child, by node."""
    depth: dict[int, int]
    place: dict[int, float]
    """Left to right: leaves in order, others above the middle of theirs."""
    leaves: dict[int, int]
    """The document of each leaf."""


def themes(task: Prepared, *, count: int = 5, least: int = 9, most: int = 22) -> list[Theme]:
    """The tightest concepts of a middling size, none inside another."""
    index = task.tree("default").index
    tree = index.tree
    middling = [node for node in _nodes(tree) if least <= tree.node(node).count <= most]
    spread = {node: float(tree.node(node).variance.mean()) for node in middling}
    chosen: list[int] = []
    for node in sorted(middling, key=lambda node: (spread[node], node)):
        if len(chosen) < count and not any(_related(tree, node, other) for other in chosen):
            chosen.append(node)
    texts = task.data.collection.texts
    common = Counter(word for text in texts for word in set(_words(text)))
    return [_theme(tree, node, [int(d) for d in index.documents_below(node)], texts, common) for node in chosen]


def _nodes(tree: CobwebTree) -> list[int]:
    waiting, found = [tree.root], []
    while waiting:
        found.append(waiting.pop())
        waiting.extend(tree.node(found[-1]).children)
    return found


def _related(tree: CobwebTree, node: int, other: int) -> bool:
    return other in _above(tree, node) or node in _above(tree, other)


def _above(tree: CobwebTree, node: int) -> list[int]:
    path = [node]
    while (parent := tree.node(path[-1]).parent) is not None:
        path.append(parent)
    return path


def _theme(tree: CobwebTree, root: int, below: Sequence[int], texts: Sequence[str], common: Counter[str]) -> Theme:
    edges: list[tuple[int, int]] = []
    depth, place, leaves = {root: 0}, dict[int, float](), dict[int, int]()

    def visit(node: int) -> float:
        children = tree.node(node).children
        if not children:
            place[node] = float(len(leaves))
            leaves[node] = int(tree.node(node).documents[0])
        else:
            for child in children:
                depth[child] = depth[node] + 1
                edges.append((node, child))
            place[node] = float(np.mean([visit(child) for child in children]))
        return place[node]

    visit(root)
    return Theme(_telling(below, texts, common), tuple(edges), depth, place, leaves)


def _telling(below: Sequence[int], texts: Sequence[str], common: Counter[str]) -> tuple[str, ...]:
    """The three words that set these documents apart: frequent here, rare elsewhere."""
    here = Counter(word for row in below for word in set(_words(texts[row])))
    rare = {
        word: count for word, count in here.items() if count > 1 and common[word] <= max(_COMMON * len(texts), count)
    }
    worth = {word: count * np.log(len(texts) / common[word]) for word, count in rare.items()}
    return tuple(sorted(worth, key=lambda word: (-worth[word], word))[:3])


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{3,}", text.lower())
