"""Paths, excerpts and progress as they are shown."""

from __future__ import annotations

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from gossamer.cli.formatting import excerpt, highlighted, path_shown
from gossamer.cli.screen import Screen
from gossamer.plain_text import one_line, printable, shortened
from gossamer.results import Concept


def marks(shown: Text) -> list[str]:
    return [shown.plain[span.start : span.end] for span in shown.spans]


def spans(pattern: str, text: str) -> list[tuple[int, int]]:
    return [found.span() for found in re.finditer(pattern, text)]


def test_spans_are_marked_and_keep_their_places() -> None:
    text = "a fox\r\nand \x1b[2J a 🦊 fox"
    shown = highlighted(text, spans("fox|🦊", text))
    assert shown.plain == "a fox \nand �[2J a 🦊 fox"
    assert marks(shown) == ["fox", "🦊", "fox"]


@given(st.text(" \n\r\tab🦊\x1b", max_size=60), st.data())
def test_spans_move_with_white_space(text: str, data: st.DataObject) -> None:
    words = spans(r"[ab🦊]+", text)
    chosen = [word for word in words if data.draw(st.booleans())]
    shown = excerpt(text, chosen, 100)
    assert shown.plain == one_line(text)
    assert marks(shown) == [text[start:stop] for start, stop in chosen]


def test_an_excerpt_shows_where_the_matches_are() -> None:
    text = "word " * 200 + "needle\n here " + "word " * 200
    shown = excerpt(text, spans("needle", text), 120)
    assert "needle here" in shown.plain
    assert marks(shown) == ["needle"]
    assert len(shown) <= 122
    assert shown.plain.startswith("…")
    assert shown.plain.endswith("…")
    assert excerpt(text, [], 50).plain.startswith("word word")
    assert excerpt("short\n text", [], 50).plain == "short text"
    end = "word " * 200 + "needle"
    assert excerpt(end, spans("needle", end), 50).plain.endswith("needle")


def test_long_words_are_cut_somewhere() -> None:
    assert shortened("a" * 50, 10) == "a" * 9 + "…"
    assert shortened("some words here", 11) == "some words…"
    assert shortened("fits", 4) == "fits"


def test_terminal_commands_are_taken_out() -> None:
    assert printable("a\x1b[2Jb\x9bc\r\nd\te") == "a�[2Jb�c \nd\te"


def in_words(path: list[Concept], most: int) -> str:
    return path_shown(path, most).plain


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
    assert in_words(path, 200) == "animals (400) › foxes (20)"
    assert in_words(path[:1], 200) == "all 1,000"
    assert in_words([], 200) == ""
    many = [step(i, 1000 - i, f"a concept with a long name, number {i}") for i in range(15)]
    for most in (40, 80, 150, 300):
        assert len(in_words(many, most)) <= most
    assert in_words(many, 150).startswith("a concept")


def test_a_path_shows_the_steps_around_its_basic_level() -> None:
    labels = ["x", "bikes, tyres", "bikes, chains", "bikes, chains, oil", "chains, oil, rust", "the leaf"]
    path = [step(at, 100 - at, label, basic=at == 2) for at, label in enumerate(labels)]
    assert in_words(path, 300) == "bikes, tyres (99) › bikes, chains (98) › bikes, chains, oil (97)"
    for most in (30, 40, 60, 90):
        assert "(98)" in in_words(path, most)
    shown = path_shown(path, 300)
    (marked,) = [span for span in shown.spans if "bold" in str(span.style)]
    assert shown.plain[marked.start : marked.end] == "bikes, chains (98)"
    alone = [step(0, 9, "x"), step(1, 5, "bikes"), step(2, 3, "bikes, bikes")]
    assert in_words(alone, 100) == "bikes (5)"


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
