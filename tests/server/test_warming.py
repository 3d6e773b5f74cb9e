"""Concepts are named ahead of questions, and nothing depends on it."""

from __future__ import annotations

import random
import time

from bag import encode, sentence
from gossamer import Index, LabelRequest
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
