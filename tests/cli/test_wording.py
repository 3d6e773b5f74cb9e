"""Paths, excerpts and progress as they are shown."""

from __future__ import annotations

import io

from rich.console import Console

from gossamer.cli.screen import Screen
from gossamer.cli.wording import excerpt, listed, matches, path_in_words, path_shown, plain, stem, telling
from gossamer.rendering import shortened
from gossamer.results import Concept


def test_stems_bring_forms_of_a_word_together() -> None:
    for words in (
        ("parse", "parsing", "parser", "parses", "parsed"),
        ("copy", "copies"),
        ("run", "running"),
        ("file", "files"),
    ):
        assert len({stem(word) for word in words}) == 1, words
    assert stem("is") == "is"
    assert stem("Über") == "über"


def test_words_that_say_nothing_are_not_marked() -> None:
    assert telling("how to parse the file") == {stem("parse"), stem("file")}
    assert telling("to be or not to be") == {"to", "be", "or", "not"}
    assert matches("Parsing a FILE, not profile", telling("parse file")) == [(0, 7), (10, 14)]


def test_an_excerpt_shows_where_the_words_are() -> None:
    text = "word " * 200 + "needle here " + "word " * 200
    shown = excerpt(text, {"needl"}, 120)
    assert "needle here" in shown
    assert len(shown) <= 122
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert excerpt(text, {"absent"}, 50).startswith("word word")
    assert excerpt("short\n text", {"x"}, 50) == "short text"
    assert excerpt("word " * 200 + "needle", {"needl"}, 50).endswith("needle")


def test_long_words_are_cut_somewhere() -> None:
    assert shortened("a" * 50, 10) == "a" * 9 + "…"
    assert shortened("some words here", 11) == "some words…"
    assert shortened("fits", 4) == "fits"


def test_terminal_commands_are_taken_out() -> None:
    assert plain("a\x1b[2Jb\x9bc\r\nd\te") == "a�[2Jb�c\nd\te"


def step(depth: int, size: int, label: str, *, basic: bool = False) -> Concept:
    return Concept(depth, size, depth, label, None, (), ("a",), (), 0.0, 0.0, (), basic)


def test_a_path_leaves_out_what_says_nothing_new() -> None:
    path = [
        step(0, 1000, "x"),
        step(1, 400, "animals"),
        step(2, 90, "animals"),
        step(3, 20, "foxes"),
        step(4, 1, "a fox"),
    ]
    assert path_in_words(path, 200) == "all 1,000 › animals (400) › foxes (20)"
    assert path_in_words(path[:1], 200) == "all 1,000"
    assert path_in_words([], 200) == ""
    many = [step(i, 1000 - i, f"a concept with a long name, number {i}") for i in range(15)]
    for most in (40, 80, 150, 300):
        assert len(path_in_words(many, most)) <= most
    assert path_in_words(many, 150).startswith("all 1,000 › a concept")


def test_a_path_shows_its_basic_level_and_says_nothing_twice() -> None:
    labels = ["x", "bikes, tyres", "bikes, chains", "bikes, chains, oil", "chains, oil, rust", "the leaf"]
    path = [step(at, 100 - at, label, basic=at == 2) for at, label in enumerate(labels)]
    assert path_in_words(path, 300) == "all 100 › bikes, tyres (99) › chains (98) › oil (97) › rust (96)"
    for most in (30, 40, 60, 90):
        assert "(98)" in path_in_words(path, most)
    shown = path_shown(path, 300)
    (marked,) = [span for span in shown.spans if "bold" in str(span.style)]
    assert shown.plain[marked.start : marked.end] == "chains (98)"
    alone = [step(0, 9, "x"), step(1, 5, "bikes"), step(2, 3, "bikes, bikes")]
    assert path_in_words(alone, 100) == "all 9 › bikes (5)"


def test_lists_are_cut() -> None:
    assert listed("abc") == "a, b, c"
    assert listed("abcdefgh") == "a, b, c, d, e and 3 more"


def test_progress_shows_rate_and_time_left_to_people_only() -> None:
    def shown(*, terminal: bool, json: bool = False) -> str:
        screen, out = Screen(json=json), io.StringIO()
        screen.err = Console(file=out, force_terminal=terminal, width=100)
        with screen.bar("indexing", "documents") as bar:
            bar(500, 1000)
        with screen.working("thinking"):
            pass
        return out.getvalue()

    assert "indexing" in shown(terminal=True)
    assert "500 documents" in shown(terminal=True)
    assert "/s" in shown(terminal=True)
    assert "thinking" in shown(terminal=True)
    assert shown(terminal=False) == ""
    assert shown(terminal=True, json=True) == ""
