"""Every method on a small collection, kept rankings, and vectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bag
from gossamer import Index
from gossamer.array_types import Floats
from gossamer.errors import InputError
from gossamer_lab.evaluate import methods as registry
from gossamer_lab.evaluate.collection import Collection, Rows
from gossamer_lab.evaluate.datasets import beir
from gossamer_lab.evaluate.dials import Dials, exact, guided
from gossamer_lab.evaluate.embed import Embedded, embed, from_files, ready_models
from gossamer_lab.evaluate.methods import Found, best, method, method_of, methods
from gossamer_lab.evaluate.prepared import Prepared
from gossamer_lab.evaluate.run import DEFAULT, measure, run
from gossamer_lab.evaluate.runs import Runs
from gossamer_lab.evaluate.spaces import SPACES, space_of

pytest.importorskip("ir_measures", reason="needs the extra eval")
pytest.importorskip("faiss", reason="needs the extra eval")
pytest.importorskip("hnswlib", reason="needs the extra eval")


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


def _similarity(task: Prepared, space: str, rows: Rows) -> Floats:
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
    return cosine + 0.15 * float(shares.get(row, 0.0))


def test_best_takes_the_first_of_equals() -> None:
    scores = np.array([[1, 3, 3, 2], [0, 0, 0, 0]], np.float32)
    assert best(scores, 2).tolist() == [[1, 2], [0, 1]]
    assert best(scores, 9).tolist() == [[1, 2, 3, 0], [0, 1, 2, 3]]


def test_a_method_takes_a_few_lines(task: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_RANKERS", dict(registry._RANKERS))

    @method("first", "the first documents", trees=False)
    def first(task: Prepared, space: str, k: int) -> Found:
        return Found(np.tile(np.arange(k), (len(task.data.Q), 1)), 0.0, 0.0)

    assert measure(task, method_of("first"), Runs(task.cache)).scores.mean("Recall@5") < 50


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("magic@raw", "no ranker 'magic': choose one of dot"),
        ("dot@magic", "dot goes with raw, paper, pca, default vectors, not with 'magic'"),
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
    results = run(task, DEFAULT, Runs(cache), orders=2, say=lambda what, done, total: told.append(what))
    assert [each.method.name for each in results] == list(DEFAULT)
    assert results[0].against is None
    assert all(each.against is not None for each in results[1:])
    assert all(len(each.orders) == (2 if each.method.trees else 0) for each in results)
    assert "guided@default, order 2" in told
    again = run(task, DEFAULT[:2], Runs(cache), baseline="cosine@raw")
    assert again[1].against is None
    assert again[0].scores["nDCG@10"].tolist() == results[0].scores["nDCG@10"].tolist()


def test_rankings_are_kept(task: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    dot = method_of("dot@raw")
    counted = replace(dot, rank=lambda task, k: calls.append(k) or dot.rank(task, k))  # type: ignore[func-returns-value]
    first = Runs(tmp_path).rank(task, counted, 7)
    assert np.array_equal(Runs(tmp_path).rank(task, counted, 7).rows, first.rows)
    assert calls == [7]
    Runs(tmp_path, fresh=True).rank(task, counted, 7)
    Runs(tmp_path).rank(task, counted, 8)
    assert calls == [7, 7, 8]
    for file in (tmp_path / "rankings").iterdir():
        file.write_bytes(b"PK damaged")
    Runs(tmp_path).rank(task, counted, 7)
    assert calls == [7, 7, 8, 7]


def test_an_interrupted_ranking_leaves_nothing(task: Prepared, tmp_path: Path) -> None:
    def stopped(task: Prepared, k: int) -> Found:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Runs(tmp_path).rank(task, replace(method_of("dot@raw"), rank=stopped), 5)
    assert list((tmp_path / "rankings").iterdir()) == []


def test_another_order_is_another_tree_over_the_same_documents(task: Prepared) -> None:
    other = task.reordered(3)
    assert not np.array_equal(other.tree("pca").rows, task.tree("pca").rows)
    one = method_of("gain@pca").rank(task, 120).rows
    two = method_of("gain@pca").rank(other, 120).rows
    found = method_of("best-first@pca").rank(
        Prepared(replace(task.data, Q=task.data.E[:5]), cache=task.cache, order=3), 3
    )
    assert np.allclose(task.data.E[found.rows[:, 0]], task.data.E[:5], atol=1e-6)  # a document finds itself
    assert [set(row) for row in one.tolist()] == [set(row) for row in two.tolist()]
    assert np.allclose(_similarity(task, "pca", one), _similarity(task, "pca", two), atol=1e-4)


def test_dials_as_methods(task: Prepared) -> None:
    as_usual = exact(Dials())
    assert as_usual.about == "as it is"
    assert exact(Dials(strength=0.5, weight=0.1)).about == "strength=0.5, weight=0.1"
    for dials in (Dials(), Dials(context=0.2), Dials(weight=0.2), Dials(density=0.1), Dials(sphere=False)):
        rows = exact(dials).rank(task, 10).rows
        assert rows.shape == (5, 10)
        assert len({exact(dials).name, guided(dials).name}) == 2
    assert guided(Dials()).rank(task, 10).rows.shape == (5, 10)


def test_encoders_and_their_cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gossamer.encoders import CallableEncoder
    from gossamer_lab.evaluate import embed as module

    asked: list[int] = []

    def counted(texts: list[str]) -> Floats:
        asked.append(len(texts))
        return bag.encode(texts)

    monkeypatch.setattr(module, "load_encoder", lambda name: CallableEncoder(counted, name="bag-v1"))
    collection = beir(folder)
    first = embed(collection, "bag", cache=tmp_path)
    assert sum(asked) == 125
    again = embed(collection, "bag", cache=tmp_path)
    assert sum(asked) == 125
    assert np.array_equal(first.E, again.E)
    assert first.fingerprint == again.fingerprint


def test_a_fitted_encoder(folder: Path, tmp_path: Path) -> None:
    data = embed(beir(folder), "lsa", cache=tmp_path)
    assert len(data.E) == 120
    assert data.asked([1, 3]).collection.query_ids == (data.collection.query_ids[1], data.collection.query_ids[3])


def test_ready_vectors(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "embeddings").mkdir()
    collection = beir(folder)
    E, Q = bag.encode(list(collection.texts)), bag.encode(list(collection.queries))
    np.save(tmp_path / "embeddings" / "kitchen-mine-corpus.npy", E.astype(np.float16))
    np.save(tmp_path / "embeddings" / "kitchen-mine-queries.npy", Q)
    assert ready_models("kitchen", tmp_path) == ["mine"]
    part = collection.of(np.arange(60, 120))
    found = embed(part, "mine", folder=tmp_path)
    assert np.allclose(found.E, E[60:], atol=1e-3)
    np.save(tmp_path / "embeddings" / "kitchen-mine-corpus.npy", E[:70])
    with pytest.raises(InputError, match="holds 70 vectors, and row 119 is needed"):
        embed(part, "mine", folder=tmp_path)
    with pytest.raises(InputError, match="70 vectors for 120 documents"):
        from_files(
            collection, *(tmp_path / "embeddings" / f"kitchen-mine-{what}.npy" for what in ("corpus", "queries"))
        )
