"""Labels chosen by vectors of terms: which terms tell a concept from its siblings, and what is done without them."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from bag import encode
from explain.corpus import documents
from gossamer import Index
from gossamer.array_types import Floats
from gossamer.encoders import CallableEncoder
from gossamer.explain.labels import Holders, in_label
from gossamer.explain.meaning import Meaning, Separation, units
from gossamer.explain.terms import terms_of


def area(inside: Floats, outside: Floats) -> float:
    """The probability that one of `inside` is above one of `outside`, by comparing all pairs."""
    return float(np.mean(inside[:, None] > outside[None, :]))


def test_the_area_is_that_of_all_pairs_where_cosines_are_normal() -> None:
    rng = np.random.default_rng(3)
    members, others = (
        units(rng.normal(shift, 1.0, (4000, 8)).astype(np.float32)) for shift in ((0.5,) + (0.0,) * 7, (0.0,) * 8)
    )
    terms = units(rng.normal(size=(3, 8)).astype(np.float32) + np.eye(3, 8, dtype=np.float32))
    found = Separation.of(terms, members, others)
    for chosen, more in (((), 0), ((), 2), ((0,), 1), ((0, 1), 2)):
        label = terms[[*chosen, more]].sum(axis=0)
        assert found.areas(chosen, [more])[0] == pytest.approx(area(members @ label, others @ label), abs=0.02)


def test_a_term_that_tells_members_apart_is_preferred() -> None:
    passages = [terms_of("bread oven"), terms_of("bread oven"), terms_of("yeast"), terms_of("crumb")]
    holders = Holders(["bread", "yeast", "crumb"], passages)
    scores = [1.0, 0.6, 0.55]
    assert in_label(scores, holders)[:2] == (0, 1)
    telling = Separation(np.array([0.1, 0.0, 0.3]), 0.01 * np.eye(3))
    assert in_label(scores, holders, telling)[0] == 2
    same = Separation(np.zeros(3), np.eye(3))
    assert in_label(scores, holders, same) == in_label(scores, holders)


def test_a_term_is_encoded_once_and_is_the_same_again() -> None:
    asked: list[str] = []

    def counted(texts: list[str]) -> Floats:
        asked.extend(texts)
        return encode(texts)

    meaning = Meaning("bag", counted)
    first = meaning.vectors(["moon", "comet", "moon"])
    again = meaning.vectors(["comet", "bread"])
    assert asked == ["moon", "comet", "bread"]
    assert first is not None
    assert again is not None
    assert (first[[0, 1]] == [first[2], again[0]]).all()


def test_vectors_of_another_model_are_noticed() -> None:
    texts = documents(8)[0]
    meaning, own = Meaning("bag", encode), units(encode(texts))
    assert meaning.made(texts, own, lambda E: E)
    assert not meaning.made(texts, own[::-1], lambda E: E)
    assert not meaning.made(texts, own[:, :5], lambda E: E)
    assert not meaning.made([" "] * 8, own, lambda E: E)


def labels_with(encoder: CallableEncoder, vectors: Floats | None = None) -> dict[int, str]:
    texts = documents(400)[0]
    with Index(encoder) as index:
        index.add(texts, [str(at) for at in range(400)], vectors=encode(texts) if vectors is None else vectors)
        return index.labels()


def test_a_quick_encoder_chooses_terms_and_the_order_of_calls_does_not_matter() -> None:
    by_words, by_meaning = (labels_with(CallableEncoder(encode, quick=quick)) for quick in (False, True))
    assert by_words.keys() == by_meaning.keys()
    assert by_words != by_meaning
    texts = documents(400)[0]
    with Index(CallableEncoder(encode, quick=True)) as index:
        index.add(texts, [str(at) for at in range(400)])
        index.topics(5)
        index.search("bread oven")
        index.concepts(depth=1)
        assert index.labels() == by_meaning


def test_an_encoder_that_fails_or_did_not_make_the_vectors_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fails(texts: list[str]) -> Floats:
        raise RuntimeError("no model here")

    by_words = labels_with(CallableEncoder(encode))
    with caplog.at_level(logging.WARNING, "gossamer.explain"):
        assert labels_with(CallableEncoder(fails, quick=True)) == by_words
    assert "no model here" in caplog.text
    other = encode(documents(400)[0])[:, ::-1]
    assert labels_with(CallableEncoder(encode, quick=True), other) == labels_with(CallableEncoder(encode), other)
