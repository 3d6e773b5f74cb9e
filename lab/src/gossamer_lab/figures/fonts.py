"""The fonts of a figure, and how wide texts are in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

_SIZES: Final = {"strong": 8.0, "plain": 7.5, "small": 6.5}
_LEADING: Final = 1.28
"""From line to line, as a multiple of the size."""
_FAMILIES: Final = ("DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Arial Unicode MS")
"""The first comes with matplotlib; the others, where they are there, lend what it lacks."""
_SCRIPTS: Final = "日あ中한กअبব"
"""A character of each script for which any font of this machine is taken if none of the families has it."""


@cache
def _coverage() -> tuple[list[str], frozenset[int]]:
    """Families to use, in order of preference, and all characters that one of them has."""
    from matplotlib.font_manager import fontManager

    files = {font.name: font.fname for font in reversed(fontManager.ttflist)}
    families: list[str] = [name for name in _FAMILIES if name in files]
    covered = {code for name in families for code in _characters(files[name])}
    for script in _SCRIPTS:
        if ord(script) in covered:
            continue
        for name in sorted(files):
            found = _characters(files[name])
            if ord(script) in found:
                families.append(name)
                covered |= found
                break
    return families, frozenset(covered)


@cache
def _characters(file: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(file).get_charmap())
    except (OSError, RuntimeError):  # a font that cannot be read is none
        return frozenset()


class Fonts:
    """Three styles: strong for names, plain for texts, small for numbers."""

    def __init__(self) -> None:
        from matplotlib.backends.backend_agg import RendererAgg
        from matplotlib.font_manager import FontProperties

        families, self._covered = _coverage()
        self._fonts: dict[str, Any] = {
            style: FontProperties(family=families, size=size, weight="bold" if style == "strong" else "normal")
            for style, size in _SIZES.items()
        }
        self._renderer = RendererAgg(10, 10, 72)  # at 72 dots an inch, a dot is a point

    def missing(self, text: str) -> str:
        """The characters of a text that no font here has: they are drawn as empty boxes."""
        return "".join(sorted({each for each in text if each.isprintable() and ord(each) not in self._covered}))

    def of(self, style: str) -> Any:
        """The font of a style, as matplotlib takes it."""
        return self._fonts[style]

    def width(self, text: str, style: str) -> float:
        """In points."""
        width, _, _ = self._renderer.get_text_width_height_descent(text, self._fonts[style], False)
        return float(width)

    def leading(self, style: str) -> float:
        """From one line to the next, in points."""
        return _SIZES[style] * _LEADING

    def height(self, lines: Iterable[tuple[str, str]]) -> float:
        """Of several lines one below the other."""
        return sum(self.leading(style) for style, _ in lines)

    def wrapped(self, text: str, style: str, room: float, most: int) -> list[str]:
        """The text in at most so many lines of at most that width; what does not fit is cut, and dots say so."""
        lines = [""]
        for word in self._pieces(text, style, room):
            longer = f"{lines[-1]} {word}".strip()
            if self.width(longer, style) <= room:
                lines[-1] = longer
            elif len(lines) < most:
                lines.append(word)
            else:
                head, _ = self._split(longer, style, room)
                return [*lines[:-1], head.rstrip(" ,;:.") + "…"]
        return lines

    def _pieces(self, text: str, style: str, room: float) -> Iterator[str]:
        """The words; one that is wider than a line, and a script without spaces, in pieces that are not."""
        for word in text.split():
            rest = word
            while self.width(rest, style) > room:
                piece, rest = self._split(rest, style, room)
                yield piece
            yield rest

    def _split(self, text: str, style: str, room: float) -> tuple[str, str]:
        """As much of the beginning as leaves room for dots, one character at least; and the rest."""
        low, high = 1, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.width(text[:middle] + "…", style) <= room else (low, middle - 1)
        return text[:low], text[low:]
