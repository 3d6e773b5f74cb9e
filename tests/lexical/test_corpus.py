"""Words of an index that is a part of a larger corpus."""

from __future__ import annotations

import numpy as np

from gossamer.array_types import DocumentNumber
from gossamer.lexical.scores import Corpus, LexicalScores
from gossamer.lexical.words import Words, WordsOf

TEXTS = ["sun moon", "moon moon star", "bread and milk", "milk star", "sun bread sun", "river", "river moon", "gold"]


def words_of(texts: list[str], first: int = 1) -> Words:
    rows = [WordsOf(DocumentNumber(first + at), text, "") for at, text in enumerate(texts)]
    return Words.empty("none").changed((), rows)


def test_parts_score_as_the_whole() -> None:
    whole, parts = words_of(TEXTS), [words_of(TEXTS[:5]), words_of(TEXTS[5:], 6)]
    for query in (["moon"], ["sun", "milk", "nothing"], ["river", "moon", "star"]):
        expected = LexicalScores(whole, query, "auto")
        counted = sum((Corpus.of(part, query, ()) for part in parts), Corpus())
        rough = [LexicalScores(part, query, "auto", counted) for part in parts]
        best = [Corpus(best=tuple(each.bm25_of(each.best(10)).tolist())) for each in rough]
        corpus = Corpus(counted.documents, counted.total, counted.holders, best=sum(best, Corpus()).best)
        found = [LexicalScores(part, query, "auto", corpus) for part in parts]
        scores = np.concatenate([each.of(part.present()) for each, part in zip(found, parts, strict=True)])
        np.testing.assert_allclose(scores, expected.of(whole.present()), rtol=1e-12)
        assert all(each.weight == expected.weight for each in found)


def test_a_part_that_was_not_counted_goes_by_itself() -> None:
    part = words_of(TEXTS)
    for corpus in (Corpus(), Corpus(3, 9.0, {"moon": 1})):
        found = LexicalScores(part, ["moon", "gold"], "auto", corpus)
        np.testing.assert_array_equal(
            found.of(part.present()), LexicalScores(part, ["moon", "gold"], "auto").of(part.present())
        )


def test_a_word_that_came_after_the_others_were_counted_scores() -> None:
    part = words_of(TEXTS)
    corpus = Corpus(100, 300.0, {"moon": 40}, best=(1.0,))
    scores = LexicalScores(part, ["moon", "gold"], "auto", corpus).of(part.present())
    assert np.isfinite(scores).all()
    assert scores[-1] > 0.0
