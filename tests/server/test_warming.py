"""Concepts are named ahead of questions, and nothing depends on it."""

from __future__ import annotations

import random
import time

import pytest

from bag import encode, sentence
from gossamer import Index, LabelRequest
from gossamer.errors import UnknownIdError
from gossamer.server import warming as module
from gossamer.server.catalog import Catalog
from gossamer.server.warming import Warming


def _texts(count: int) -> list[str]:
    rng = random.Random(0)
    return [sentence(rng) for _ in range(count)]


def _ended(warming: Warming) -> bool:
    warming._thread.join(timeout=20)
    return not warming._thread.is_alive()


def test_every_concept_is_named_once_and_then_it_ends() -> None:
    asked: list[int] = []

    def name(request: LabelRequest) -> str:
        asked.append(request.id)
        return f"concept {request.id}"

    with Index(encoder=encode, labeller=name) as ix:
        ix.add(_texts(60))
        warming = Warming(Catalog({"main": ix}))
        warming.start()
        assert _ended(warming)
        named = len(asked)
        assert named > 5
        ix.concepts(depth=None)
        assert len(asked) == named


def test_it_stops_when_told_and_when_the_index_is_closed() -> None:
    def slow(request: LabelRequest) -> str:
        time.sleep(0.01)
        return request.suggestion

    ix = Index(encoder=encode, labeller=slow)
    ix.add(_texts(200))
    stopped, closed = Warming(Catalog({"main": ix})), Warming(Catalog({"main": ix}))
    stopped.start()
    stopped.stop()
    assert _ended(stopped)
    closed.start()
    ix.close()
    assert _ended(closed)


def test_an_empty_index_has_nothing_to_name() -> None:
    with Index(encoder=encode) as ix:
        warming = Warming(Catalog({"main": ix}))
        warming.start()
        assert _ended(warming)


def test_it_goes_on_where_a_change_does_away_with_concepts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 8)
    named: set[int] = set()

    def name(request: LabelRequest) -> str:
        if not named:
            gone.extend(whole[7:60:9])
        named.add(request.id)
        return request.suggestion

    with Index(encoder=encode, labeller=name) as ix:
        ix.add(_texts(200))
        outline = ix.outline()
        whole = [id for id, children in zip(outline.ids, outline.children, strict=True) if children]
        gone: list[int] = []
        real = ix.labels

        def labels(ids: list[int]) -> dict[int, str]:
            if any(id in gone for id in ids):
                raise UnknownIdError("gone")
            return real(ids)

        monkeypatch.setattr(ix, "labels", labels)
        warming = Warming(Catalog({"main": ix}))
        warming.start()
        assert _ended(warming)
        assert len(gone) == 6
        assert named >= set(whole) - set(gone)


def test_it_names_a_few_at_a_time_and_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    rests: list[float] = []
    with Index(encoder=encode) as ix:
        ix.add(_texts(300))
        real = ix.labels

        def labels(ids: list[int]) -> dict[int, str]:
            asked.append(len(ids))
            return real(ids)

        monkeypatch.setattr(ix, "labels", labels)
        warming = Warming(Catalog({"main": ix}))
        monkeypatch.setattr(warming._stop, "wait", lambda seconds: rests.append(seconds))
        warming.start()
        assert _ended(warming)
        inner = sum(bool(concept.children) for concept in ix.concepts(None))
    assert sum(asked) == inner
    assert max(asked) <= module._BATCH < inner
    assert len(rests) == len(asked)
    assert all(seconds > 0 for seconds in rests)
