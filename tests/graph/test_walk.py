"""Walks against their oracle: which leaves are found, how many are scored, and when a walk ends."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from gossamer.array_types import NONE
from gossamer.graph.calibration import Effort
from gossamer.graph.codes import Scale
from gossamer.graph.walk import ENTRIES, Filter, Search, search_rows
from gossamer.graph.workspace import new_workspace
from gossamer.rank.guided import search_with_effort
from gossamer.tree.scoring import EVERYTHING, empty_ranking
from grown import QUERIES, Grown, Matrix, topics
from kernel_wrappers import encode_query, log_p, nearest_parts
from oracles import graph as oracle


@pytest.fixture(scope="module")
def grown() -> Grown:
    return Grown(topics(2000))


@pytest.fixture(scope="module")
def without_links() -> Grown:
    return Grown(topics(2000), linked=False)


def expected(grown: Grown, x: Matrix, search: Search, allowed: set[int] | None) -> tuple[list[int], int]:
    """Documents, best first, and nodes scored, by the oracle of the walk and exact scores of what it finds."""
    t, (codes, links, entry) = grown.t, grown.graph.arrays
    workspace, parts = new_workspace(t, 16), np.empty(ENTRIES, np.int32)
    scale = Scale(*encode_query(x, codes, workspace.query))
    scored = nearest_parts(entry, scale, search.most_nodes, workspace, parts)
    query = workspace.query.astype(np.int64)
    distances = scale.norm + codes.leaf_norm - scale.factor * (codes.leaf @ query)
    starts = list(dict.fromkeys(entry.leaves[part] for part in parts.tolist() if part != NONE))
    scored += sum(part != NONE for part in parts.tolist())
    walked = oracle.walk(
        [int(row) for row in starts],
        {
            row: list(zip(links.length[row].tolist(), links.to[row, :degree].tolist(), strict=False))
            for row, degree in enumerate(links.degree.tolist())
        },
        lambda row: float(distances[row]),
        oracle.Terms(max(search.k, 10), search.slack, codes.step, links.unit, search.width, search.most_nodes - scored),
        allowed,
    )
    found = (walked.kept if allowed is None else walked.allowed)[: search.rescored]
    leaves = {row: int(t.owner[row]) for row in found}
    documents = sorted((-log_p(t, leaf, x), int(t.first_document[leaf])) for leaf in leaves.values())
    return [document for _, document in documents[: search.k]], scored + walked.scored + 1


@pytest.mark.parametrize("slack", [0.97, 1.0, 1.05, 1.3, np.inf])
@pytest.mark.parametrize(("k", "width", "most"), [(1, 64, 10**9), (10, 200, 10**9), (25, 30, 10**9), (10, 64, 150)])
@pytest.mark.parametrize("filtered", [False, True])
def test_a_walk_is_that_of_the_oracle(
    grown: Grown, slack: float, k: int, width: int, most: int, filtered: bool
) -> None:
    t = grown.t
    search = Search(k, 0.0, slack, most, width, width)
    documents = np.arange(0, 2000, 3)
    rows = t.row[t.leaf[documents]]
    flags = np.zeros(len(t.vectors), np.uint8), np.zeros(len(t.leaf), np.uint8)
    flags[0][rows], flags[1][documents] = 1, 1
    allowed = Filter(*flags) if filtered else Filter(EVERYTHING, EVERYTHING)
    ranked, Q = empty_ranking(12, k), QUERIES[:12]
    search_rows(t, grown.graph.arrays, Q, search, allowed, new_workspace(t, 256), ranked)
    for x, found, visited in zip(Q, ranked.documents.tolist(), ranked.visited.tolist(), strict=True):
        best, scored = expected(grown, x, search, set(rows.tolist()) if filtered else None)
        assert [document for document in found if document != NONE] == best
        assert visited == scored


@pytest.mark.parametrize("most", [1, 60, 400])
def test_a_descent_is_that_of_the_oracle(without_links: Grown, most: int) -> None:
    tree, t, codes = without_links.tree, without_links.t, without_links.graph.arrays.codes
    ranked = search_with_effort(t, without_links.graph, QUERIES[:30], 5, Effort(most_nodes=most, width=200))
    for x, found, visited in zip(QUERIES[:30], ranked.documents.tolist(), ranked.visited.tolist(), strict=True):
        query = np.zeros(codes.leaf.shape[1], np.int16)
        scale = Scale(*encode_query(x, codes, query))
        to_leaf = scale.norm + codes.leaf_norm - scale.factor * (codes.leaf @ query.astype(np.int64))
        to_mean = scale.norm + codes.inner_norm - scale.factor * (codes.inner @ query.astype(np.int64))
        leaves, scored = oracle.descend(
            tree,
            partial(_estimate, without_links, np.maximum(to_mean, 0.0)),
            lambda leaf, to_leaf=to_leaf: float(to_leaf[t.row[leaf]]),  # type: ignore[misc]
            most,
        )
        kept = sorted(leaves, key=lambda leaf: leaves[leaf])[:110]
        best = sorted(kept, key=lambda leaf: -log_p(t, leaf, x))[:5]
        assert [document for document in found if document != NONE] == [int(t.first_document[leaf]) for leaf in best]
        assert visited == scored + 1


def _estimate(grown: Grown, to_mean: npt.NDArray[np.float64], node: int) -> float:
    return oracle.best_leaf_estimate(grown.tree, node, float(to_mean[grown.t.row[node]]))


def test_hard_queries_are_given_more_than_easy_ones(grown: Grown) -> None:
    hard = np.random.default_rng(3).normal(size=(100, 24)).astype(np.float32) * QUERIES.std()
    visited = [grown.search(Q, Effort(1.1)).visited.mean() for Q in (topics(100), hard)]
    assert visited[1] > 1.3 * visited[0]


def test_links_too_long_to_help_are_not_followed(grown: Grown) -> None:
    """With all of them taken for short, more is looked at and hardly more found."""
    arrays = grown.graph.arrays
    short = arrays._replace(links=arrays.links._replace(length=np.zeros_like(arrays.links.length)))
    search, ours, theirs = Search(10, 0.0, 1.1, 1 << 30, 1024, 120), empty_ranking(200, 10), empty_ranking(200, 10)
    for each, ranked in ((arrays, ours), (short, theirs)):
        workspace, everything = new_workspace(grown.t, 1024), Filter(EVERYTHING, EVERYTHING)
        search_rows(grown.t, each, QUERIES, search, everything, workspace, ranked)
    assert ours.visited.mean() < 0.93 * theirs.visited.mean()
    assert (ours.documents == theirs.documents).mean() > 0.97


def test_marks_that_begin_again_mean_nothing_old(grown: Grown) -> None:
    """There are 255 of them; here every leaf has the first, and it is the first one's turn again."""
    workspace, search = new_workspace(grown.t, 512), Search(10, 0.0, 1.1, 1 << 30, 512, 120)
    found = [empty_ranking(1, 10) for _ in range(2)]
    for number, ranked in enumerate(found):
        if number:
            workspace.marks[:], workspace.stamp[0] = 1, 254
        everything = Filter(EVERYTHING, EVERYTHING)
        search_rows(grown.t, grown.graph.arrays, QUERIES[:1], search, everything, workspace, ranked)
    assert workspace.mark[0] == 1
    assert np.array_equal(found[0].documents, found[1].documents)
    assert np.array_equal(found[0].visited, found[1].visited)
