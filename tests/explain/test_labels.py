"""Which terms tell a concept from its siblings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from gossamer.explain.labels import (
    Holders,
    Scores,
    alternatives,
    breadth_of,
    distinctive_terms,
    in_label,
    is_mixture,
    usual_form,
)
from gossamer.explain.terms import Counts, Terms, terms_of


def counts(*texts: str) -> Counts:
    return Counts.over([terms_of(text) for text in texts])


CORPUS = counts(*["bread today", "bread oven today", "moon today", "comet today", "tyre today"] * 20)


def label(terms: Scores, passages: Sequence[Terms]) -> list[str]:
    """The terms of the best label."""
    chosen = in_label([score for _, score in terms], Holders([key for key, _ in terms], passages))
    return [terms[at][0] for at in chosen]


def distinctive(members: Counts, siblings: Counts, corpus: Counts = CORPUS) -> list[str]:
    return [key for key, _ in distinctive_terms(members, siblings, corpus)]


def test_what_sets_apart_comes_first() -> None:
    members = counts("bread oven today", "bread oven today", "bread oven")
    found = distinctive(members, counts("bread today", "bread today", "bread"))
    assert found[0].split()[-1] == "oven"
    assert "today" not in found


def test_what_the_siblings_hold_more_often_is_theirs() -> None:
    members = counts("moon bread", "moon bread", "moon", "moon", "moon", "moon")
    assert distinctive(members, counts("bread", "bread", "bread")) == ["moon"]


def test_however_rare_it_is_elsewhere() -> None:
    members = counts("moon. zither", "moon. zither", "moon", "moon")
    assert "zither" not in " ".join(distinctive(members, counts(*["zither"] * 9)))


def test_what_one_member_alone_holds_is_no_trait() -> None:
    assert distinctive(counts("moon", "comet"), counts("bread", "tyre")) == []
    assert distinctive(counts("moon"), counts("bread", "tyre")) == ["moon"]


def test_a_pair_stands_for_its_words() -> None:
    members = counts(*["machine learning"] * 5)
    assert distinctive(members, counts("bread", "oven")) == ["machine learning"]


def test_a_pair_cut_out_of_a_longer_phrase_does_not() -> None:
    members = counts("control black money", "control black money", "black money", "black money", "black money launder")
    assert "control black" not in distinctive(members, counts("bread", "oven"))


def test_forms_of_one_word_are_said_once() -> None:
    members = counts("program programming", "programming program", "programs programming")
    assert len(label(distinctive_terms(members, counts("bread"), CORPUS), [])) == 1


def test_the_form_written_most_often_is_shown() -> None:
    passages = [terms_of(text) for text in ("Tyres", "tyres", "tyre", "tyres")]
    assert usual_form("tyre", passages) == "tyres"
    assert usual_form("tyre", passages[:2]) == "tyres"  # of equals the one in lower case
    assert usual_form("nowhere", passages) == "nowhere"


def test_without_siblings_what_is_frequent_and_says_something() -> None:
    assert distinctive(CORPUS, Counts.over(()))[0] == "bread"


def test_scripts_without_spaces() -> None:
    members = counts("機械学習の本", "機械学習とは", "深い機械学習")
    assert distinctive(members, counts("東京の天気", "京都の天気"))[0] == "機械学習"


def test_possible_labels_give_up_their_last_terms() -> None:
    keys = ["moon", "comet", "orbit", "star", "dust"]
    passages = [{key: key} for key in keys]
    terms = list(zip(keys, [3.0, 2.0, 1.0, 0.9, 0.8], strict=True))
    found = [" ".join(keys[at] for at in choice) for choice in alternatives(terms, Holders(keys, passages))]
    assert found == ["moon comet orbit star", "moon comet orbit dust", "moon comet orbit", "moon comet", "moon"]
    assert alternatives([], Holders([], passages)) == ()


def test_the_terms_of_a_label_are_held_by_different_members() -> None:
    terms = [("moon", 3.0), ("comet", 2.0), ("orbit", 1.9)]
    together = [{"moon": "moon", "comet": "comet"}] * 6 + [{"orbit": "orbit"}] * 4
    assert label(terms, together) == ["moon", "orbit", "comet"]
    holders = Holders(["moon", "comet", "orbit"], together)
    assert holders.covered([0]) == holders.covered([0, 1]) == 0.6
    assert holders.covered([0, 2]) == 1.0


def test_breadth_is_that_of_all_members_or_less() -> None:
    passages = [{"moon": "moon"}, {"moon": "moon", "flea": "flea"}, {"moon": "moon"}, {"flea": "flea"}]
    assert breadth_of(passages, [1, 1, 2, 2])("moon") == pytest.approx(math.exp(0.6365) / 2.0, abs=1e-3)
    assert breadth_of(passages, [1, 2, 1, 2])("flea") == pytest.approx(0.5)
    assert breadth_of(passages, [1, 2, 3, 1])("flea") == pytest.approx(2.0 / math.exp(1.0397), abs=1e-3)


def test_what_is_in_one_part_alone_comes_later() -> None:
    members = counts(*["moon"] * 6, *["comet"] * 5, *["bread"] * 4)
    beside = counts(*["tyre"] * 10)
    narrow = {"moon": 0.2}
    plain = distinctive_terms(members, beside, CORPUS)
    broad = distinctive_terms(members, beside, CORPUS, lambda key: narrow.get(key, 1.0))
    assert plain[0][0] == "moon"
    assert broad[0][0] == "comet"


def test_a_mixture_is_what_no_term_covers() -> None:
    passages = [{"moon": "moon"}] * 2 + [{word: word} for word in "abcdefgh"]
    holders, parts = Holders(["moon", "a", "b"], passages), [1, 1, *range(2, 10)]
    assert is_mixture("moon", [0], holders, passages, parts)
    assert not is_mixture("moon", [0], holders, passages, [])
    assert not is_mixture("moon", [0, 1, 2], holders, passages, parts)
