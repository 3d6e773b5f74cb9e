"""Answers chosen among candidates: recent ones, one of each group, ranked again, or ranked as in the paper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bag import encode, sentence
from gossamer import Index, VectorIndex
from gossamer.errors import ParameterError, UnknownFieldWarning
from gossamer.results import Hit

NOW = "2026-01-01"
KINDS = ["news", "blog", "paper", None]


def _metadata(rng: np.random.Generator) -> dict[str, Any]:
    kind = KINDS[rng.integers(len(KINDS))]
    made = date(2026, 1, 1) - timedelta(days=int(rng.integers(0, 900)))
    found: dict[str, Any] = {"made": made.isoformat()} if rng.random() < 0.8 else {}
    return found if kind is None else {**found, "about": {"kind": kind}}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    rng, words = np.random.default_rng(0), random.Random(0)
    texts = [sentence(words) for _ in range(200)]
    with Index(encode) as made:
        made.add(texts, [f"d{at:03}" for at in range(200)], [_metadata(rng) for _ in range(200)])
        yield made


QUERIES = st.sampled_from(["sun and moon", "the wolf ate bread", "katu gold", "milk"])


@settings(max_examples=20, deadline=None)
@given(
    query=QUERIES, k=st.integers(1, 30), days=st.sampled_from([1, 30, 400]), weight=st.sampled_from([0.01, 0.1, 2.0]),
    grouped=st.booleans(),
)  # fmt: skip
def test_the_answers_are_those_of_ranking_everything(
    index: Index, query: str, k: int, days: int, weight: float, grouped: bool
) -> None:
    boost = {"field": "made", "half_life": f"{days}d", "weight": weight, "now": NOW}
    found = index.search(query, k, boost=boost, group_by="about.kind" if grouped else None)
    everything = index.search(query, len(index))
    scored = sorted(((hit.score + _boost(hit, days, weight), hit) for hit in everything), key=lambda each: -each[0])
    groups: set[str] = set()
    expected = []
    for score, hit in scored:
        group = hit.metadata.get("about", {}).get("kind") or hit.id
        if not grouped or group not in groups:
            groups.add(group)
            expected.append(score)
    assert [hit.score for hit in found] == pytest.approx(expected[:k], abs=1e-12)
    for hit in found:
        assert hit.boost == pytest.approx(_boost(hit, days, weight), abs=1e-12)
        assert hit.score == pytest.approx(hit.dense + hit.lexical + hit.boost, abs=1e-12)


def _boost(hit: Hit, days: int, weight: float) -> float:
    if "made" not in hit.metadata:
        return 0.0
    age = date(2026, 1, 1) - date.fromisoformat(hit.metadata["made"])
    return float(weight * 2.0 ** -(age.days / days))


def test_a_field_that_all_documents_share_gives_one_answer(index: Index) -> None:
    with Index(encode) as small:
        small.add([f"the moon {at}" for at in range(120)], metadata=[{"source": "sky"}] * 120)
        assert len(small.search("moon", 5, group_by="source")) == 1


def test_half_lives_and_dates_of_every_kind() -> None:
    with Index(encode) as small:
        newest = ["2001-01-01", "2025-12-31T12:00:00+00:00"]
        dates: list[dict[str, Any]] = [
            {"at": "2025-12-31T12:00:00Z"},
            {"at": 1767182400},
            {"at": newest},
            {"at": "soon"},
            {},
        ]
        small.add(["the moon"] * 5, ["text", "seconds", "list", "words", "none"], dates)
        for half_life in ("12h", "0.5d", timedelta(hours=12)):
            boost = {"field": "at", "half_life": half_life, "now": datetime(2026, 1, 1, tzinfo=UTC)}
            found = {hit.id: hit.boost for hit in small.search("moon", boost=boost)}
            assert found == pytest.approx({"text": 0.05, "seconds": 0.05, "list": 0.05, "words": 0.0, "none": 0.0})
        later = small.search("moon", boost={"field": "at", "half_life": "1y", "now": date(1999, 1, 1)})
        assert max(hit.boost for hit in later) == 0.1, "what is not yet counts as now"


def test_another_ranker_decides(index: Index) -> None:
    asked: list[tuple[str | None, int]] = []

    def by_length(query: str | None, hits: list[Hit]) -> list[int]:
        asked.append((query, len(hits)))
        return [len(hit.text) for hit in hits]

    found = index.search("sun and moon", 3, rerank=by_length)
    assert asked == [("sun and moon", 50)]
    candidates = index.search("sun and moon", 50)
    assert [hit.score for hit in found] == sorted((len(hit.text) for hit in candidates), reverse=True)[:3]
    several = index.search(["sun and moon", "milk"], 3, rerank=by_length)
    assert several[0] == found
    assert index.search("zzz", 3, where={"about.kind": "nothing"}, rerank=by_length) == []


def test_a_ranker_may_search_the_same_index(index: Index) -> None:
    found = index.search("moon", 2, rerank=lambda query, hits: [-len(index.search(hit.text, 1)) for hit in hits])
    assert len(found) == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"group_by": 3}, "name of a metadata field"),
        ({"group_by": ""}, "name of a metadata field"),
        ({"boost": "made"}, "half_life"),
        ({"boost": {"field": "made", "half_life": "30"}}, "30d"),
        ({"boost": {"field": "made", "half_life": "0d"}}, "above 0"),
        ({"boost": {"field": "made", "half_life": "1d", "weight": -1}}, "weight"),
        ({"boost": {"field": "made", "half_life": "1d", "speed": 1}}, "speed"),
        ({"boost": {"field": "made", "half_life": "1d", "now": "soon"}}, "now"),
        ({"rerank": 3}, "function"),
        ({"rerank": lambda query, hits: [0.0]}, "candidates"),
        ({"rerank": lambda query, hits: [float("nan")] * len(hits)}, "NaN"),
        ({"rerank": lambda query, hits: hits, "diversity": 0.2}, "diversity"),
        ({"recall": "x"}, "recall"),
        ({"recall": 0}, "recall"),
        ({"recall": 2}, "recall"),
        ({"recall": float("nan")}, "recall"),
        ({"method": "exhaustive"}, "path-sum"),
        ({"method": "path-sum", "hybrid": 0.5}, "hybrid"),
        ({"method": "path-sum", "recall": 0.5}, "recall"),
        ({"method": "path-sum", "explain": True}, "explain"),
        ({"method": "path-sum", "boost": {"field": "made", "half_life": "1d"}}, "boost"),
        ({"method": "best-first", "where": {"about.kind": "blog"}}, "where"),
    ],
)
def test_what_is_wrong_is_said(index: Index, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        index.search("moon", **wrong)


@pytest.mark.parametrize("wrong", [{"group_by": "abut.kind"}, {"boost": {"field": "mode", "half_life": "1d"}}])
def test_a_field_that_no_document_has(index: Index, wrong: dict[str, Any]) -> None:
    with pytest.warns(UnknownFieldWarning, match="did you mean"):
        index.search("moon", **wrong)


# -- the paper's methods ---------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("method", ["path-sum", "best-first"])
def test_the_methods_of_the_paper_rank_as_they_do_for_vectors(preset: Any, method: Any, tmp_path: Path) -> None:
    words = random.Random(1)
    texts = [f"{sentence(words)} {at}" for at in range(300)]
    with Index.create(tmp_path / "a.gsm", encode, preset=preset) as index:
        index.add(texts, [f"{at:03}" for at in range(300)])
    vectors = VectorIndex(encode(texts).shape[1], preset)
    vectors.add(encode(texts))
    with Index.open(tmp_path / "a.gsm", encode) as index:
        for query in ("sun and moon", "milk"):
            hits = index.search(query, 7, method=method)
            context = 1.0 if method == "path-sum" else None
            expected = vectors.search(encode([query]), 7, method, context=context)
            assert [int(hit.id) for hit in hits] == expected.ids[0].tolist()
            assert [hit.score for hit in hits] == expected.scores[0].tolist()
            assert all(hit.lexical == 0.0 for hit in hits)


def test_an_index_of_the_paper_goes_on_as_the_paper_does(tmp_path: Path) -> None:
    words = random.Random(2)
    with Index.create(tmp_path / "a.gsm", encode, preset="paper") as index:
        index.add([sentence(words) for _ in range(1100)], [str(at) for at in range(1100)])
        index.delete(["5"])
        index.rebuild()
        assert index.state.vectors is not None
        assert index.state.vectors.state.settings.structure == "cobweb"
        exact = index.search("sun and moon", 10, recall=1.0, hybrid=False)
        assert [hit.dense for hit in exact] == sorted((hit.dense for hit in exact), reverse=True)
        assert index.search("sun and moon", 10, hybrid=False) == exact
        assert index.explain("sun and moon", exact[0].id, hybrid=False).rank == 1
        index.check()
    with pytest.raises(ParameterError, match="paper"):
        Index(encode, preset="book")  # type: ignore[arg-type]


def test_where_and_groups_with_the_methods_of_the_paper(index: Index) -> None:
    found = index.search("moon", 20, method="path-sum", where={"about.kind": "blog"})
    assert found
    assert {hit.metadata["about"]["kind"] for hit in found} == {"blog"}
    grouped = index.search("moon", 50, method="path-sum", group_by="about.kind")
    kinds = [hit.metadata["about"]["kind"] for hit in grouped if "about" in hit.metadata]
    assert sorted(kinds) == ["blog", "news", "paper"]
