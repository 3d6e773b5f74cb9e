"""Figure 1, the decoder-only case; and the tightest parts of a tree, with the words they share, for a picture."""

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
from gossamer_lab.paper.architectures import TITLES
from gossamer_lab.paper.setting import Missing, Name, Setting, about
from gossamer_lab.pictures import Branch
from gossamer_lab.tables import Row, Table

_SHOWN: Final = 5
"""Answers of each query that are counted."""
_HUBS: Final = 10
"""Documents whose share of all answers is shown."""
_COMPARED: Final = (
    "dot@raw", "cosine@raw", "l2@raw", "dot@paper", "l2@paper", "best-first@paper", "best-first@living", "gain@default",
)  # fmt: skip
_COMMON: Final = 0.01
"""A word in a larger share of the documents describes no branch."""
_FAILS: Final = "dot@raw"
_FINDS: Final = "best-first@paper"
_EXACT: Final = "l2@paper"


def decoder_case(setting: Setting, *, texts: bool = False) -> list[Table]:
    """With decoder-only vectors a few documents answer everything; whitening undoes it, with a tree or without one.

    The paper's case is one of MS MARCO. The texts of the collection are shown only if asked for: not everybody may
    pass them on.
    """
    tables = []
    names: tuple[Name, ...] = ("msmarco", "qqp")
    for name in names:
        model = setting.by_kind.get("decoder")
        task = setting.task_or_reason(name, model, setting.sizes.documents, setting.sizes.queries)
        if isinstance(task, Missing):
            rows: list[Row] = [{"not run, because": task.reason}]
            tables.append(Table(f"decoder-hubs-{name}", f"A decoder on {TITLES[name]}: who answers", rows))
            continue
        tables += _on(setting, name, task, texts)
    return tables


def _on(setting: Setting, name: Name, task: Prepared, texts: bool) -> list[Table]:
    """Who answers on one collection, and one query."""
    rankings: dict[str, Longs] = {}
    rows: list[Row] = []
    for compared in _COMPARED:
        setting.job.say(f"decoder-only, {compared}", len(rows), len(_COMPARED))
        method = method_of(setting.method(compared))
        rankings[compared] = setting.job.rankings.rank(task, method, 10).rows
        often = _answers(rankings[compared])
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
    title = f"{about(task.data.model)} on {TITLES[name]}, {len(task.data.E):,} documents: who answers"
    case = _case(name, task, rankings, texts)
    return [Table(f"decoder-hubs-{name}", title, rows, notes), *([] if case is None else [case])]


def _answers(found: Longs) -> Counter[int]:
    """How many queries each document answers."""
    return Counter(found[:, :_SHOWN].ravel().tolist())


def _case(name: Name, task: Prepared, rankings: dict[str, Longs], texts: bool) -> Table | None:
    """The first query whose answer the tree ranks first and the dot product does not find at all."""
    collection = task.data.collection
    right = [collection.row_of[next(iter(collection.answers[query]))] for query in collection.query_ids]
    fits = (
        (query, answer)
        for query, answer in enumerate(right)
        if rankings[_FINDS][query, 0] == answer and answer not in rankings[_FAILS][query]
    )
    query, answer = next(fits, (-1, -1))
    if query < 0:
        return None
    asked = f"“{collection.queries[query]}”" if texts else collection.query_ids[query]
    rows: list[Row] = []
    for rank in range(_SHOWN):
        row: dict[str, str | int] = {"rank": rank + 1}
        for method in (_FAILS, _FINDS, _EXACT):
            place = int(rankings[method][query, rank])
            shown = collection.texts[place] if texts else collection.ids[place]
            row[method] = f"{shown}{' ← the answer' if place == answer else ''}"
            row[f"{method}: queries answered so"] = _answers(rankings[method])[place]
        rows.append(row)
    scores = task.data.E @ task.data.Q[query]
    rank = int((scores > scores[answer]).sum()) + 1
    notes = [f"The dot product has the answer at place {rank:,} of {len(scores):,}."]
    title = f"Figure 1, {TITLES[name]}, query {asked}: the five best by dot product, by the tree, and by distance alone"
    return Table(f"decoder-case-{name}", title, rows, notes)


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
