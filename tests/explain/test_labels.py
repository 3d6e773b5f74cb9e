"""Which terms tell a concept from its siblings."""

from __future__ import annotations

from gossamer.explain.labels import distinctive_terms, in_label, unlike, usual_form
from gossamer.explain.terms import Counts, terms_of


def counts(*texts: str) -> Counts:
    return Counts.over([terms_of(text) for text in texts])


CORPUS = counts(*["bread today", "bread oven today", "moon today", "comet today", "tyre today"] * 20)


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
    assert len(in_label(distinctive_terms(members, counts("bread"), CORPUS))) == 1


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


def test_a_label_gives_up_its_last_terms_until_no_other_has_them() -> None:
    terms = [("moon", 3.0), ("comet", 2.0), ("orbit", 1.0), ("star", 0.9)]
    assert unlike(terms, set()) == terms
    assert in_label(unlike(terms, {frozenset({"comet", "moon", "orbit"})})) == ["moon", "comet", "star"]
    taken = {frozenset({"moon", "comet", "orbit"}), frozenset({"moon", "comet", "star"}), frozenset({"moon", "comet"})}
    assert in_label(unlike(terms, taken)) == ["moon"]
    assert in_label(unlike([("moon", 1.0)], {frozenset({"moon"})})) == []
