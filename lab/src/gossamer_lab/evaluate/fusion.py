"""Ideas for a ranking better than the default's, each chosen by all collections but one and measured on that one.

An idea is a function with a setting. For each collection, the setting is the one with the best mean gain over the
default on the other collections; so no figure is of a setting that its own queries chose. All documents are scored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from gossamer_lab.engine import Doubles, Floats, Longs, enclosing_concepts
from gossamer_lab.evaluate.index import searched
from gossamer_lab.evaluate.measures import MAIN, depth_for, score
from gossamer_lab.evaluate.run import BASELINE, measure
from gossamer_lab.evaluate.significance import means_drawn
from gossamer_lab.job import Job
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import best, method_of, unit_rows
from gossamer_lab.tables import Cell, Report, Row, Table

COLLECTIONS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "qqp": (40_000, 2_000), "msmarco": (None, None), "msmarco-rest": (None, 1_500), "scifact": (None, None),
    "cranfield": (None, None), "cacm": (None, None),
}  # fmt: skip
"""Documents and queries of each; None for all."""

_BLOCK: Final = 250
_SMALL, _LARGE = 8, 64
"""Documents of a concept, at least."""


class Task:
    """A collection with the parts of the default's scores."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        space = prepared.vectors("default")
        self.X, self.Y = unit_rows(space.X), unit_rows(space.Y)
        self.words = prepared.lexical()
        self.cosines = np.empty((0, 0), np.float32)
        self.queries = slice(0, 0)

    def blocks(self) -> Sequence[slice]:
        """Queries that are scored together."""
        return [slice(start, min(start + _BLOCK, len(self.Y))) for start in range(0, len(self.Y), _BLOCK)]

    def at(self, queries: slice) -> None:
        """Go to a block of queries."""
        self.queries = queries
        self.cosines = self.Y[queries] @ self.X.T

    def shares(self) -> Floats:
        """BM25 as a share of the best, of every document (columns) for each query (rows)."""
        found = np.zeros_like(self.cosines)
        for place, query in enumerate(range(self.queries.start, self.queries.stop)):
            found[place, self.words.rows[query]] = self.words.shares[query]
        return found

    def weights(self) -> Floats:
        """The default's weight of words for each query."""
        return np.array(self.words.weights[self.queries], np.float32)[:, None]

    def stands_out(self) -> Floats:
        """By how much the best document by words stands out from the ten best, for each query."""
        tops = [np.sort(shares)[-10:].sum() / 10 for shares in self.words.shares[self.queries]]
        return 1.0 - np.array(tops, np.float32)[:, None]

    @cached_property
    def concepts(self) -> dict[int, Longs]:
        """By size: for each document the smallest concept with at least so many documents, as a number from 0 on."""
        index, rows = self.prepared.tree("default").index, np.arange(len(self.X))
        return {size: enclosing_concepts(index, rows, size) for size in (_SMALL, _LARGE)}

    def concept_cosines(self, size: int) -> Floats:
        """The cosine of each query and the mean of each document's concept."""
        labels = self.concepts[size]
        means = np.zeros((int(labels.max()) + 1, self.X.shape[1]), np.float32)
        np.add.at(means, labels, self.X)
        found: Floats = (self.Y[self.queries] @ unit_rows(means).T)[:, labels]
        return found

    def concept_shares(self, size: int, shares: Floats) -> Floats:
        """The mean BM25 of each document's concept."""
        labels = self.concepts[size]
        members = np.bincount(labels)
        found: Floats = np.stack([(np.bincount(labels, row) / members)[labels] for row in shares]).astype(np.float32)
        return found


Ranker = Callable[[Task, Floats, float], Floats]
"""A block of queries, the BM25 of all documents as shares, and a setting → scores."""


@dataclass(frozen=True)
class Idea:
    """A way to rank, and the settings to choose from."""

    about: str
    settings: tuple[float, ...]
    scores: Ranker


def _default(task: Task, shares: Floats, _: float = 0.0) -> Floats:
    return task.cosines + task.weights() * shares


def _by_stretch(task: Task, shares: Floats, weight: float) -> Floats:
    spread = task.cosines.std(axis=1, keepdims=True)
    scores: Floats = task.cosines + weight * spread * shares
    return scores


def _proportional(task: Task, shares: Floats, weight: float) -> Floats:
    return task.cosines + weight * task.stands_out() * shares


def _unsure(task: Task, shares: Floats, weight: float) -> Floats:
    scores: Floats = task.cosines + weight * (1.0 - task.cosines.max(axis=1, keepdims=True)) * shares
    return scores


def _reciprocal(task: Task, shares: Floats, constant: float) -> Floats:
    def inverse_rank(scores: Floats) -> Floats:
        ranks = np.empty_like(scores)
        np.put_along_axis(ranks, np.argsort(-scores, axis=1, kind="stable"), np.arange(scores.shape[1])[None], axis=1)
        return 1.0 / (constant + 1.0 + ranks)

    return inverse_rank(task.cosines) + inverse_rank(shares)


def _smoothed(size: int) -> Ranker:
    return lambda task, shares, part: _default(task, shares) + part * task.concept_cosines(size)


def _smoothed_where_broad(task: Task, shares: Floats, part: float) -> Floats:
    broad = 1.0 - task.cosines.max(axis=1, keepdims=True)
    scores: Floats = _default(task, shares) + part * broad * task.concept_cosines(_LARGE)
    return scores


def _words_of_concept(size: int) -> Ranker:
    return lambda task, shares, part: _default(task, shares) + part * task.weights() * task.concept_shares(size, shares)


def _one_of_each_concept(task: Task, shares: Floats, penalty: float) -> Floats:
    scores, labels = _default(task, shares), task.concepts[_SMALL]
    for row in scores:
        highest = np.full(int(labels.max()) + 1, -np.inf, np.float32)
        np.maximum.at(highest, labels, row)
        row[row < highest[labels]] -= penalty
    return scores


def _feedback(count: int) -> Ranker:
    def rank(task: Task, shares: Floats, part: float) -> Floats:
        words = task.weights() * shares
        first = best(task.cosines + words, count)
        moved = unit_rows(task.Y[task.queries] + part * task.X[first].mean(axis=1))
        found: Floats = moved @ task.X.T + words
        return found

    return rank


IDEAS: Final = (
    Idea("one weight for all queries", (0.1, 0.15, 0.2, 0.25, 0.33, 0.4, 0.5), lambda t, s, w: t.cosines + w * s),
    Idea("0.15, as before", (0.15,), lambda t, s, w: t.cosines + w * s),
    Idea("weight in proportion to how far the best stands out", (0.6, 0.8, 1.1, 1.6, 2.2), _proportional),
    Idea("weight by the spread of the cosines", (1.0, 2.0, 3.0, 4.5, 6.5), _by_stretch),
    Idea("weight by how far the nearest document is", (0.3, 0.4, 0.56, 0.8, 1.1), _unsure),
    Idea("reciprocal rank fusion", (0.0, 10.0, 60.0), _reciprocal),
    Idea(f"tree: cosine of the concept, of {_SMALL} documents or more", (0.03, 0.1, 0.3), _smoothed(_SMALL)),
    Idea(f"tree: cosine of the concept, of {_LARGE} or more", (0.03, 0.1, 0.3), _smoothed(_LARGE)),
    Idea("tree: the same where the query is broad", (0.1, 0.3, 0.6), _smoothed_where_broad),
    Idea(f"tree: words of the concept, of {_SMALL} or more", (0.1, 0.3), _words_of_concept(_SMALL)),
    Idea(f"tree: words of the concept, of {_LARGE} or more", (0.1, 0.3), _words_of_concept(_LARGE)),
    Idea("tree: others of a concept after its best document", (0.02, 0.05, 0.1), _one_of_each_concept),
    Idea("feedback: query moved to the best answer", (0.1, 0.2, 0.4), _feedback(1)),
    Idea("feedback: query moved to the three best", (0.1, 0.2, 0.4), _feedback(3)),
)


def report(job: Job, *, collections: Mapping[str, tuple[int | None, int | None]] = COLLECTIONS) -> Report:
    """The real index on each collection, and the ideas; a quick run takes 5,000 documents and 200 queries at most."""
    found: dict[str, dict[tuple[int, float], Doubles]] = {}
    rows: list[Row] = []
    for name, (documents, queries) in collections.items():
        if job.quick:
            documents, queries = 5_000 if documents or name.startswith("msmarco") else None, 200
        task = job.prepared(job.embedded(name, documents=documents, queries=queries))
        base = measure(task, method_of(BASELINE), job.rankings).scores[MAIN]
        job.say(f"{name}: the index", 0, 0)
        rows.append(searched(job, name, task, base))
        found[name] = _measured(job, Task(task))
    tables = [
        Table("index", "Index.search as it comes, over the dot product of whole texts", rows, [_INDEX_NOTE], _DIGITS),
        _table(found),
    ]
    return job.report("fusion", ", ".join(found), tables)


_DIGITS: Final = {"dot product": 2, "dense": 2, "hybrid": 2}
_INDEX_NOTE: Final = (
    f"{MAIN} less that of the dot product, with 95 % bootstrap intervals. Long texts are several passages for the "
    "index; the dot product is that of vectors of whole texts, of which the model reads the first 256 tokens."
)


def _measured(job: Job, task: Task) -> dict[tuple[int, float], Doubles]:
    """nDCG@10 of every query, by idea and setting; that of the default is at (−1, 0)."""
    data = task.prepared.data.collection
    depth = depth_for(data)
    ranked: dict[tuple[int, float], list[Longs]] = {}
    for queries in task.blocks():
        job.say(f"{data.name}: ideas", queries.start, len(task.Y))
        task.at(queries)
        shares = task.shares()
        ranked.setdefault((-1, 0.0), []).append(best(_default(task, shares), depth))
        for number, idea in enumerate(IDEAS):
            for setting in idea.settings:
                ranked.setdefault((number, setting), []).append(best(idea.scores(task, shares, setting), depth))
    return {key: score(data, np.concatenate(each))[MAIN] for key, each in ranked.items()}


def _table(found: Mapping[str, Mapping[tuple[int, float], Doubles]]) -> Table:
    """What each idea gains over the default on each collection, with the setting that the others chose."""
    rows: list[Row] = []
    for number, idea in enumerate(IDEAS):
        gains = {
            name: {setting: values[number, setting] - values[-1, 0.0] for setting in idea.settings}
            for name, values in found.items()
        }
        row: dict[str, Cell] = {"idea": idea.about}
        drawn = []
        for name, by_setting in gains.items():
            others = [each for other, each in gains.items() if other != name] or [by_setting]
            means = [np.mean([each[setting].mean() for each in others]) for setting in idea.settings]
            chosen = idea.settings[int(np.argmax(means))]
            row[name] = float(by_setting[chosen].mean())
            drawn.append(means_drawn(by_setting[chosen]))
        low, high = np.percentile(np.mean(drawn, axis=0), [2.5, 97.5])
        row["mean"] = float(np.mean([float(row[name]) for name in gains]))  # type: ignore[arg-type]
        row["95 %"] = f"{low:+.2f} to {high:+.2f}".replace("-", "−")
        rows.append(row)
    notes = [
        f"{MAIN} less that of the default, every document scored, whole texts. The setting of each idea is the one "
        "with the best mean on the other collections. The interval is that of the mean, by bootstrap over queries."
    ]
    return Table("ideas", "Ideas, each with the setting that the other collections chose", rows, notes,
                 {**dict.fromkeys(found, 2), "mean": 2})  # fmt: skip
