"""The paper's figures: parts of a tree with the words they share, and the decoder-only case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from gossamer import CobwebTree
from gossamer_lab.engine import Longs
from gossamer_lab.evaluate.run import measure
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import method_of
from gossamer_lab.paper.setting import Setting
from gossamer_lab.pictures import Branch
from gossamer_lab.tables import Row, Table

_SHOWN: Final = 5
"""Answers of each query that are counted."""
_HUBS: Final = 10
"""Documents whose share of all answers is shown."""
_COMPARED: Final = ("dot@raw", "cosine@raw", "l2@raw", "dot@pca", "l2@pca", "best-first@pca", "gain@default")
_COMMON: Final = 0.01
"""A word in a larger share of the documents describes no branch."""
_FAILS: Final = "dot@raw"
_FINDS: Final = "best-first@pca"


def decoder_case(setting: Setting, *, texts: bool = False) -> list[Table]:
    """With decoder-only vectors a few documents answer everything; whitening undoes it, with a tree or without one.

    The texts of the collection are shown only if asked for: not everybody may pass them on.
    """
    task = setting.task("qqp", "smollm2", setting.sizes.documents, setting.sizes.queries)
    rankings: dict[str, Longs] = {}
    rows: list[Row] = []
    for name in _COMPARED:
        setting.job.say(f"decoder-only, {name}", len(rows), len(_COMPARED))
        method = method_of(name)
        rankings[name] = setting.job.rankings.rank(task, method, 10).rows
        often = _answers(rankings[name])
        rows.append(
            {
                "method": method.ranker,
                "vectors": method.space,
                "Recall@5": measure(task, method, setting.job.rankings).scores.mean("Recall@5"),
                f"held by {_HUBS} documents": 100.0 * sum(n for _, n in often.most_common(_HUBS)) / often.total(),
                "different documents": len(often),
            }
        )
    asked = len(task.data.Q)
    notes = [f"Of the {_SHOWN} answers to each of {asked:,} queries, in percent; {_SHOWN * asked:,} answers in all."]
    hubs = Table("decoder-hubs", f"SmolLM2 on QQP, {len(task.data.E):,} documents: who answers", rows, notes)
    return [hubs, _case(task, rankings, texts)]


def _answers(found: Longs) -> Counter[int]:
    """How many queries each document answers."""
    return Counter(found[:, :_SHOWN].ravel().tolist())


def _case(task: Prepared, rankings: dict[str, Longs], texts: bool) -> Table:
    """The first query whose answer the tree ranks first and the dot product does not find at all."""
    collection = task.data.collection
    right = [collection.row_of[next(iter(collection.answers[query]))] for query in collection.query_ids]
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
            row[f"{name}: queries answered so"] = _answers(rankings[name])[place]
        rows.append(row)
    scores = task.data.E @ task.data.Q[query]
    rank = int((scores > scores[answer]).sum()) + 1
    notes = [f"The dot product has the answer at place {rank:,} of {len(scores):,}."]
    return Table("decoder-case", f"Query {asked}: the five best by dot product and by the tree", rows, notes)


# -- parts of a tree -------------------------------------------------------------------------------


def branches(task: Prepared, *, count: int = 5, least: int = 9, most: int = 22) -> list[Branch]:
    """The concepts of `least` to `most` documents with the smallest variance, none inside another."""
    index = task.tree("default").index
    tree = index.tree
    suitable = [node for node in _nodes(tree) if least <= tree.node(node).count <= most]
    chosen: list[int] = []
    for node in sorted(suitable, key=lambda node: (float(tree.node(node).variance.mean()), node)):
        if len(chosen) < count and not any(_nested(tree, node, other) for other in chosen):
            chosen.append(node)
    texts = task.data.collection.texts
    common = Counter(word for text in texts for word in set(_words(text)))
    found = []
    for node in chosen:
        below = [int(document) for document in index.documents_below(node)]
        found.append(_branch(tree, node, _telling(below, texts, common)))
    return found


def _nodes(tree: CobwebTree) -> list[int]:
    waiting, found = [tree.root], []
    while waiting:
        found.append(waiting.pop())
        waiting.extend(tree.node(found[-1]).children)
    return found


def _nested(tree: CobwebTree, node: int, other: int) -> bool:
    return node in _path(tree, other) or other in _path(tree, node)


def _path(tree: CobwebTree, node: int) -> list[int]:
    path = [node]
    while (parent := tree.node(path[-1]).parent) is not None:
        path.append(parent)
    return path


def _branch(tree: CobwebTree, root: int, words: tuple[str, ...]) -> Branch:
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
    return Branch(words, tuple(edges), depth, place, leaves)


def _telling(below: Sequence[int], texts: Sequence[str], common: Counter[str]) -> tuple[str, ...]:
    """The three words that set these documents apart: frequent among them, rare elsewhere."""
    here = Counter(word for row in below for word in set(_words(texts[row])))
    rare = {
        word: count for word, count in here.items() if count > 1 and common[word] <= max(_COMMON * len(texts), count)
    }
    worth = {word: count * np.log(len(texts) / common[word]) for word, count in rare.items()}
    return tuple(sorted(worth, key=lambda word: (-worth[word], word))[:3])


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{3,}", text.lower())
