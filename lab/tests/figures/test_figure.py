"""Figures: real images, the same bytes each time, texts drawn as they are."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from gossamer.index import Index
from gossamer.pictures.branch import Branch, mark, read_branch
from gossamer.plain_text import one_line
from gossamer_lab.figures.figure import lay_out, quiet, to_figure
from gossamer_lab.figures.fonts import Fonts

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def small(index: Index) -> Branch:
    found = read_branch(index, most=40)
    assert found is not None
    return mark(found, index.search("wolf bear", k=2))


def test_png(small: Branch) -> None:
    data = to_figure(small, "png")
    assert data.startswith(b"\x89PNG\r\n")
    assert len(data) > 10_000


def test_svg_is_xml_without_scripts_and_always_the_same(small: Branch) -> None:
    data = to_figure(small, "svg")
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(data).iter()}
    assert "path" in tags
    assert "script" not in tags
    assert b"<script" not in data
    assert b"-->" not in data.replace(b" -->", b"")  # texts also stand in comments, which they must not end
    assert data == to_figure(small, "svg")


def test_hostile_texts_are_drawn_as_they_are(index: Index, texts: dict[str, str]) -> None:
    """Dollar signs are no mathematics, control characters and unknown scripts no reason to stop."""
    for id in ("maths", "control", "東京", "long", "script", "comment"):
        leaf = index.search(texts[id], k=1, hybrid=False)[0].path[-1]
        alone = read_branch(index, concept=leaf.id)
        assert alone is not None
        missing = Fonts().missing(one_line(texts[id]))
        if missing:
            with pytest.warns(UserWarning, match=f"no font here has .*{missing[0]}.* install"):
                assert to_figure(alone, "svg")
        else:
            assert to_figure(alone, "svg")


def test_no_box_lies_on_another(small: Branch) -> None:
    with quiet():
        boxes = sorted(lay_out(small, Fonts()).values(), key=lambda box: (box.x, box.y))
    for above, below in pairwise(boxes):
        if above.x == below.x:
            assert above.y + above.height / 2 <= below.y - below.height / 2 + 1e-9


def test_wrapping_keeps_within_the_line() -> None:
    fonts = Fonts()
    for text in ("a few plain words that need more than one line", "x" * 200, "東京都の天気は晴れ" * 9, "", "one"):
        for most in (1, 2, 5):
            with quiet():
                lines = fonts.wrapped(text, "plain", 80.0, most)
                widest = max(fonts.width(line, "plain") for line in lines)
            assert 1 <= len(lines) <= most
            assert widest <= 80.0
    assert fonts.wrapped("one two", "plain", 500.0, 3) == ["one two"]
    assert "".join(fonts.wrapped("x" * 40, "plain", 80.0, 99)) == "x" * 40
    assert fonts.wrapped("many words here " * 9, "plain", 80.0, 2)[-1].endswith("…")


def test_characters_without_a_font_are_known() -> None:
    fonts = Fonts()
    assert fonts.missing("plain text, größer, 10 €\n") == ""
    assert fonts.missing("\U0001f9ff no font of a small machine has this nazar amulet") in ("", "\U0001f9ff")
