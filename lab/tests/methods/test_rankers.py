"""Every method on a small collection, runs that compare them, and kept rankings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bag
from gossamer import Index
from gossamer.array_types import Floats
from gossamer.errors import InputError
from gossamer_lab.data.collection import Collection
from gossamer_lab.data.datasets import beir
from gossamer_lab.data.embedded import Embedded
from gossamer_lab.engine import Longs
from gossamer_lab.evaluate.compare import METHODS
from gossamer_lab.evaluate.run import measure, run
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import Found, best, has_hnswlib, method, method_of, methods
from gossamer_lab.methods.rankings import Rankings
from gossamer_lab.methods.settings import Settings, exact, guided
from gossamer_lab.methods.spaces import SPACES, space_of


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def data(folder: Path) -> Embedded:
    collection = beir(folder)
    return Embedded(collection, "bag", bag.encode(list(collection.texts)), bag.encode(list(collection.queries)))


@pytest.fixture(scope="module")
def task(data: Embedded, cache: Path) -> Prepared:
    return Prepared(data, cache=cache)


def every_method() -> list[str]:
    spaces = {name: ("words",) if name == "bm25" else tuple(SPACES) for name in methods()}
    return [f"{name}@{space}" for name, each in spaces.items() for space in each if space != "paper"]


@pytest.mark.parametrize("name", every_method())
def test_every_method_ranks(name: str, task: Prepared) -> None:
    if name.startswith("hnsw@") and not has_hnswlib():
        pytest.skip("hnswlib is not installed: Gossamer is not compared with it")
    found = method_of(name).rank(task, 10)
    assert found.rows.shape == (5, 10)
    assert found.rows.dtype == np.int64
    for row in found.rows:
        there = row[row >= 0]
        assert len(set(there.tolist())) == len(there)
        assert there.max() < 120


def test_exhaustive_methods_agree_where_they_must(task: Prepared) -> None:
    """On vectors of one length dot product, cosine and distance rank alike; so do path gain and distance."""
    unit = Prepared(replace(task.data, E=_unit(task.data.E), Q=_unit(task.data.Q)), cache=task.cache)
    for one, other in (("dot@raw", "cosine@raw"), ("l2@pca", "gain@pca"), ("gain@default", "l2@default")):
        rows = [method_of(name).rank(unit, 120).rows for name in (one, other)]
        scores = [np.sort(_similarity(unit, one.split("@")[1], each), axis=1) for each in rows]
        assert np.allclose(scores[0], scores[1], atol=1e-5), one


def _unit(X: Floats) -> Floats:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True), np.float32)


def _similarity(task: Prepared, space: str, rows: Longs) -> Floats:
    vectors = task.vectors(space)
    return np.stack([-np.square(vectors.X[row] - y).sum(axis=1) for row, y in zip(rows, vectors.Y, strict=True)])


def test_hybrid_is_what_an_index_answers(data: Embedded, cache: Path) -> None:
    """The same arithmetic as Index.search over a corpus large enough to be whitened."""
    texts = [f"{text} {number}" for number in range(9) for text in data.collection.texts]
    ids = tuple(f"d{row:04}" for row in range(len(texts)))
    answers = {query: {ids[0]: 1} for query in data.collection.query_ids}
    queries = ("ovens", "bicycles and tyres", "sowing tomatoes", "guitars", "comets")  # found by their stems alone
    many = Collection("many", ids, tuple(texts), data.collection.query_ids, queries, answers)
    task = Prepared(Embedded(many, "bag", bag.encode(texts), bag.encode(list(queries))), cache=cache)
    assert task.tree("default").index.whitener is not None
    rows = method_of("hybrid@default").rank(task, 10).rows
    with Index(encoder=bag.encode, max_tokens=None) as index:
        index.add(texts, ids=list(ids))
        for query, ranked in zip(many.queries, rows, strict=True):
            hits = index.search(query, k=10, recall=1.0)
            ours = sorted(_fused(task, query, row) for row in ranked)
            assert ours == pytest.approx(sorted(hit.score for hit in hits), abs=1e-4)


def _fused(task: Prepared, query: str, row: int) -> float:
    place = task.data.collection.queries.index(query)
    vectors, words = task.vectors("default"), task.lexical()
    x, y = vectors.X[row], vectors.Y[place]
    shares = dict(zip(words.rows[place].tolist(), words.shares[place].tolist(), strict=True))
    cosine = float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
    return cosine + words.weights[place] * float(shares.get(row, 0.0))


def test_best_takes_the_first_of_equals() -> None:
    scores = np.array([[1, 3, 3, 2], [0, 0, 0, 0]], np.float32)
    assert best(scores, 2).tolist() == [[1, 2], [0, 1]]
    assert best(scores, 9).tolist() == [[1, 2, 3, 0], [0, 1, 2, 3]]


def test_a_method_takes_a_few_lines(task: Prepared) -> None:
    @method("first", "the first documents", trees=False)
    def first(task: Prepared, space: str, k: int) -> Found:
        return Found(np.tile(np.arange(k), (len(task.data.Q), 1)), 0.0, 0.0)

    assert measure(task, method_of("first"), Rankings(task.cache)).scores.mean("Recall@5") < 50


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("magic@raw", "no ranker 'magic': choose one of dot"),
        ("dot@magic", "dot goes with raw, paper, pca, .*cobweb vectors, not with 'magic'"),
        ("bm25@raw", "bm25 goes with words vectors"),
    ],
)
def test_unknown_methods(name: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        method_of(name)
    with pytest.raises(InputError, match="no vectors called 'magic'"):
        space_of("magic")


def test_a_run_compares_and_repeats(task: Prepared, cache: Path) -> None:
    told: list[str] = []
    results = run(task, METHODS, Rankings(cache), orders=2, say=lambda what, done, total: told.append(what))
    assert [each.method.name for each in results] == list(METHODS)
    assert results[0].against is None
    assert all(each.against is not None for each in results[1:])
    assert all(len(each.orders) == (2 if each.method.trees else 0) for each in results)
    assert "guided@default, order 2" in told
    again = run(task, METHODS[:2], Rankings(cache), baseline="cosine@raw")
    assert again[1].against is None
    assert again[0].scores["nDCG@10"].tolist() == results[0].scores["nDCG@10"].tolist()


def test_rankings_are_kept(task: Prepared, tmp_path: Path) -> None:
    calls: list[int] = []
    dot = method_of("dot@raw")
    counted = replace(dot, rank=lambda task, k: calls.append(k) or dot.rank(task, k))  # type: ignore[func-returns-value]
    first = Rankings(tmp_path).rank(task, counted, 7)
    assert np.array_equal(Rankings(tmp_path).rank(task, counted, 7).rows, first.rows)
    assert calls == [7]
    Rankings(tmp_path, fresh=True).rank(task, counted, 7)
    Rankings(tmp_path).rank(task, counted, 8)
    assert calls == [7, 7, 8]
    for file in (tmp_path / "rankings").iterdir():
        file.write_bytes(b"PK damaged")
    Rankings(tmp_path).rank(task, counted, 7)
    assert calls == [7, 7, 8, 7]


def test_an_interrupted_ranking_leaves_nothing(task: Prepared, tmp_path: Path) -> None:
    def stopped(task: Prepared, k: int) -> Found:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Rankings(tmp_path).rank(task, replace(method_of("dot@raw"), rank=stopped), 5)
    assert list((tmp_path / "rankings").iterdir()) == []


def test_another_order_is_another_tree_over_the_same_documents(task: Prepared) -> None:
    other = task.reordered(3)
    assert not np.array_equal(other.arrival(), task.arrival())
    one = method_of("gain@pca").rank(task, 120).rows
    two = method_of("gain@pca").rank(other, 120).rows
    found = method_of("best-first@pca").rank(
        Prepared(replace(task.data, Q=task.data.E[:5]), cache=task.cache, order=3), 3
    )
    assert np.allclose(task.data.E[found.rows[:, 0]], task.data.E[:5], atol=1e-6)  # a document finds itself
    assert [set(row) for row in one.tolist()] == [set(row) for row in two.tolist()]
    assert np.allclose(_similarity(task, "pca", one), _similarity(task, "pca", two), atol=1e-4)


def test_settings_are_methods(task: Prepared) -> None:
    as_usual = exact(Settings())
    assert as_usual.about == "as it is"
    assert exact(Settings(strength=0.5, weight=0.1)).about == "strength=0.5, weight=0.1"
    for settings in (Settings(), Settings(context=0.2), Settings(weight=0.2), Settings(sphere=False)):
        rows = exact(settings).rank(task, 10).rows
        assert rows.shape == (5, 10)
        assert len({exact(settings).name, guided(settings).name}) == 2
    assert guided(Settings()).rank(task, 10).rows.shape == (5, 10)
