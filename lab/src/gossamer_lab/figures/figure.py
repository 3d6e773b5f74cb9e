"""A branch of the tree as a figure for print, PNG or SVG: concepts from left to right, documents at the right edge.

    branch = read_branch(index, concept=42, most=45)
    Path("figure.svg").write_bytes(to_figure(branch, "svg"))

Positions and sizes are in points, from the text widths of the fonts in use; the page is as large as its content.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, Literal, TypeAlias

from gossamer.pictures.branch import Branch
from gossamer.plain_text import one_line
from gossamer_lab.figures.fonts import Fonts

Kind: TypeAlias = Literal["png", "svg"]

THEMES: Final = (
    "#c1503c", "#2f7f93", "#b98a1f", "#5b7f3a", "#7a5a9e", "#c9729f", "#4467a8", "#8a6a4f", "#3d8f74", "#a34a7c",
)  # fmt: skip
"""One for each theme, and over again."""
_FEW: Final = 6
"""Themes that a figure has at least, where it has so many concepts."""
_TOP: Final = "#6b6b6b"
_MARK: Final = "#ffcf4d"
_INK: Final = {"strong": "#1c1c1c", "plain": "#1c1c1c", "small": "#555555"}

_INNER, _OUTER, _GAP = 132.0, 300.0, 34.0
"""Widths of the boxes of concepts and of the boxes at the edge, and between columns, in points."""
_PAD, _BETWEEN, _MARGIN = 5.0, 5.0, 14.0
_DPI: Final = 200


@dataclass(frozen=True)
class _Box:
    """One concept, laid out."""

    branch: Branch
    lines: tuple[tuple[str, str], ...]
    """(style, text) of each line."""
    x: float
    y: float
    """Of its middle, downwards."""
    width: float
    height: float
    colour: str
    edge: bool
    """Whether it stands at the right edge."""


def to_figure(branch: Branch, kind: Kind) -> bytes:
    """The figure as the bytes of a file. One warning names the characters that no font of this machine has."""
    with quiet():
        fonts = Fonts()
        boxes = lay_out(branch, fonts)
        drawn = _drawn(boxes, fonts, kind)
    lines = (text for box in boxes.values() for _, text in box.lines)
    if missing := fonts.missing("".join(lines)):
        warnings.warn(
            f"no font here has {missing[:20]}, which are drawn as boxes: install one that does, such as Noto Sans CJK "
            "(Debian: apt-get install fonts-noto-cjk), and delete matplotlib's font cache",
            stacklevel=2,
        )
    return drawn


@contextmanager
def quiet() -> Iterator[None]:
    """Matplotlib warns of each character that it draws as a box; `to_figure` does so once for all."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph")
        yield


# -- laying out ----------------------------------------------------------------------------------------


def lay_out(branch: Branch, fonts: Fonts) -> dict[int, _Box]:
    """The boxes by concept: those at the edge one below the other, the others half way between their children."""
    walked = list(branch.walk())
    deepest = max(each.concept.depth for each in walked) - branch.concept.depth
    colours = _colours(branch)
    boxes: dict[int, _Box] = {}
    bottom = 0.0
    for each in walked:
        if not each.below:
            lines = _edge_lines(each, fonts)
            height = fonts.height(lines) + 2 * _PAD
            x = deepest * (_INNER + _GAP)
            colour = colours[each.concept.id]
            boxes[each.concept.id] = _Box(each, lines, x, bottom + height / 2, _OUTER, height, colour, edge=True)
            bottom += height + _BETWEEN
    for each in reversed(walked):
        if each.below:
            lines = _inner_lines(each, fonts)
            ys = [boxes[child.concept.id].y for child in each.below]
            x = (each.concept.depth - branch.concept.depth) * (_INNER + _GAP)
            middle, height = (min(ys) + max(ys)) / 2, fonts.height(lines) + 2 * _PAD
            colour = colours[each.concept.id]
            boxes[each.concept.id] = _Box(each, lines, x, middle, _INNER, height, colour, edge=False)
    return boxes


def _colours(branch: Branch) -> dict[int, str]:
    """A colour for each theme and all below it; what lies above the themes has none."""
    colours = {each.concept.id: _TOP for each in branch.walk()}
    for number, theme in enumerate(_themes(branch)):
        for each in theme.walk():
            colours[each.concept.id] = THEMES[number % len(THEMES)]
    return colours


def _themes(branch: Branch) -> list[Branch]:
    """The concepts below the first one; where they are few, the largest is taken apart, and so on."""
    themes = list(branch.below)
    while len(themes) < _FEW:
        open_ones = [theme for theme in themes if theme.below]
        if not open_ones:
            break
        largest = max(open_ones, key=lambda theme: theme.concept.size)
        place = themes.index(largest)
        themes[place : place + 1] = largest.below
    return themes


def _inner_lines(branch: Branch, fonts: Fonts) -> tuple[tuple[str, str], ...]:
    name = [("strong", line) for line in fonts.wrapped(one_line(branch.name), "strong", _INNER - 2 * _PAD - 4, 3)]
    return (*name, ("small", f"{branch.concept.size:,}"))


def _edge_lines(branch: Branch, fonts: Fonts) -> tuple[tuple[str, str], ...]:
    """A document as it is; a concept with its name, and the answers in it or what is typical of it."""
    concept, room = branch.concept, _OUTER - 2 * _PAD - 4
    if not concept.children:
        text = concept.exemplars[0].text if concept.exemplars else concept.label
        return tuple(("plain", line) for line in fonts.wrapped(one_line(text), "plain", room, 3))
    number = fonts.width(_count(branch), "small") + 2 * _PAD
    lines = [("strong", line) for line in fonts.wrapped(one_line(branch.name), "strong", room - number, 2)]
    said = [f"{answer.rank}. {answer.text}" for answer in branch.answers[:2]]
    for text in said or [exemplar.text for exemplar in concept.exemplars[:1]]:
        lines += [("plain", line) for line in fonts.wrapped(one_line(text), "plain", room, 2)]
    return tuple(lines)


def _count(branch: Branch) -> str:
    return f"{branch.concept.size:,}" if branch.concept.children else ""


# -- drawing -------------------------------------------------------------------------------------------


def _drawn(boxes: dict[int, _Box], fonts: Fonts, kind: Kind) -> bytes:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width = max(box.x + box.width for box in boxes.values())
    top = min(box.y - box.height / 2 for box in boxes.values())
    bottom = max(box.y + box.height / 2 for box in boxes.values())
    size = (width + 2 * _MARGIN, bottom - top + 2 * _MARGIN)
    figure = Figure(figsize=(size[0] / 72, size[1] / 72), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(-_MARGIN, width + _MARGIN)
    axes.set_ylim(bottom + _MARGIN, top - _MARGIN)
    for box in boxes.values():
        for child in box.branch.below:
            _line(axes, box, boxes[child.concept.id])
    for box in boxes.values():
        _box(axes, box, fonts)
    # The same picture gives the same bytes: no date, no random names.
    with rc_context({"svg.hashsalt": "gossamer", "svg.fonttype": "path"}):
        out = BytesIO()
        figure.savefig(out, format=kind, dpi=_DPI, metadata={"Date": None} if kind == "svg" else None)
    return out.getvalue()


def _line(axes: Any, box: _Box, child: _Box) -> None:
    """From a concept to one below it, leaving and arriving level; as thick as the share of documents that go there."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    start, end = (box.x + box.width, box.y), (child.x, child.y)
    middle = start[0] + _GAP / 2
    points = [start, (middle, start[1]), (middle, end[1]), (start[0] + _GAP, end[1]), end]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    share = child.branch.concept.size / box.branch.concept.size
    axes.add_patch(PathPatch(Path(points, codes), fill=False, edgecolor=child.colour, lw=0.8 + 2.4 * share, alpha=0.75))


def _box(axes: Any, box: _Box, fonts: Fonts) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.patches import FancyBboxPatch

    mark = bool(box.branch.answers)
    tint = 0.90 if box.edge else 0.78
    fill = _MARK if mark and box.edge else tuple(tint + (1 - tint) * part for part in to_rgb(box.colour))
    low = box.y - box.height / 2
    shape = FancyBboxPatch(
        (box.x + 2, low + 2), box.width - 4, box.height - 4, boxstyle="round,pad=2,rounding_size=4",
        facecolor=fill, edgecolor=box.colour, linewidth=1.8 if mark else 0.9,
    )  # fmt: skip
    axes.add_patch(shape)
    y = low + _PAD
    if box.edge:
        right = {"ha": "right", "va": "top", "fontproperties": fonts.of("small"), "color": _INK["small"]}
        axes.text(box.x + box.width - _PAD - 2, y + 1, _count(box.branch), **right)
    for style, text in box.lines:
        # What stands between dollar signs is a text here, not mathematics.
        look = {"fontproperties": fonts.of(style), "color": _INK[style], "va": "top", "parse_math": False}
        axes.text(box.x + _PAD + 2, y, text, **look)
        y += fonts.leading(style)
