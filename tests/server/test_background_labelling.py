"""Concepts are labelled before anyone asks for them, and nothing depends on it."""

from __future__ import annotations

import random
import time

import pytest

from bag import encode, sentence
from gossamer import Index, LabelRequest
from gossamer.errors import UnknownIdError
from gossamer.server.background_labelling import BackgroundLabelling
from gossamer.server.catalog import Catalog


def _texts(count: int) -> list[str]:
    rng = random.Random(0)
    return [sentence(rng) for _ in range(count)]


def test_every_concept_is_named_once_and_then_it_ends() -> None:
    asked: list[int] = []

    def name(request: LabelRequest) -> str:
        asked.append(request.id)
        return f"concept {request.id}"

    with Index(encoder=encode, labeller=name) as ix:
        ix.add(_texts(60))
        labelling = BackgroundLabelling(Catalog({"main": ix}))
        labelling.start()
        assert labelling.join(20)
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
    stopped, closed = BackgroundLabelling(Catalog({"main": ix})), BackgroundLabelling(Catalog({"main": ix}))
    stopped.start()
    stopped.stop()
    assert stopped.join(20)
    closed.start()
    ix.close()
    assert closed.join(20)


def test_an_empty_index_has_nothing_to_name() -> None:
    with Index(encoder=encode) as ix:
        labelling = BackgroundLabelling(Catalog({"main": ix}))
        labelling.start()
        assert labelling.join(20)


def test_it_goes_on_where_a_change_does_away_with_concepts(monkeypatch: pytest.MonkeyPatch) -> None:
    named: set[int] = set()

    def name(request: LabelRequest) -> str:
        if not named:
            gone.extend(whole[7:25:3])
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
        labelling = BackgroundLabelling(Catalog({"main": ix}), batch=8)
        labelling.start()
        assert labelling.join(20)
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

        def wait(seconds: float) -> bool:
            rests.append(seconds)
            return False

        labelling = BackgroundLabelling(Catalog({"main": ix}), batch=32, wait=wait)
        labelling.start()
        assert labelling.join(20)
        inner = sum(bool(concept.children) for concept in ix.concepts(None))
    assert sum(asked) == inner
    assert max(asked) <= 32 < inner
    assert len(rests) == len(asked)
    assert all(seconds > 0 for seconds in rests)
