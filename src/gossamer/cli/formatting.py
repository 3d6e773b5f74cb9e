"""Passages, paths of concepts and counts as a terminal shows them: on few lines, with matching words marked."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from gossamer.plain_text import one_line, printable, shortened

if TYPE_CHECKING:
    from rich.text import Text

    from gossamer.results import Concept

Spans: TypeAlias = Iterable[tuple[int, int]]
"""(start, stop) character offsets, ascending and disjoint, as in `Hit.matches`."""

_ARROW: Final = " › "
_STEPS: Final = 3
_STEP: Final = 28
"""Steps of a path that are shown at most, and the characters that each needs at least."""
_BEFORE: Final = 60
"""Characters shown before the first match, where a text is too long to be shown from its beginning."""


def highlighted(text: str, spans: Spans) -> Text:
    """`text` with the spans marked and control characters replaced."""
    from rich.text import Text

    shown = Text(printable(text))
    for start, stop in spans:
        shown.stylize("bold yellow", start, stop)
    return shown


def excerpt(text: str, spans: Spans, most: int) -> Text:
    """About `most` characters of a text on one line, chosen to show as many spans as possible, and these marked."""
    line, spans = _on_one_line(text, spans)
    if len(line) <= most:
        return highlighted(line, spans)
    start = _best_start([start for start, _ in spans], most, min(_BEFORE, most // 3))
    if start + most > len(line):
        start = len(line) - most
    if start > 0:
        start = line.find(" ", start) + 1 or start
    lead = "…" if start else ""
    moved = [(first - start + len(lead), last - start + len(lead)) for first, last in spans if first >= start]
    return highlighted(lead + shortened(line[start:], most), moved)


def _on_one_line(text: str, spans: Spans) -> tuple[str, list[tuple[int, int]]]:
    """`one_line(text)`, and where the spans are in it."""
    words = list(re.finditer(r"\S+", printable(text)))
    starts = [word.start() for word in words]
    places = [0, *accumulate(len(word[0]) + 1 for word in words)]

    def moved(offset: int) -> int:
        at = max(bisect_right(starts, offset) - 1, 0)
        return places[at] + min(offset - starts[at], len(words[at][0])) if words else 0

    return " ".join(word[0] for word in words), [(moved(start), moved(stop)) for start, stop in spans]


def _best_start(places: list[int], most: int, before: int) -> int:
    """Where the window with the most matches starts; the first such window, or 0 if there is no match."""
    if not places or places[-1] < most - before:
        return 0
    windows = [max(0, place - before) for place in places]
    return max(windows, key=lambda start: (sum(start <= place < start + most - before for place in places), -start))


def path_shown(path: Sequence[Concept], most: int) -> Text:
    """The concepts around the basic level in about `most` characters, that one in bold."""
    from rich.text import Text

    steps = [Text(words, style="bold green" if basic else "green") for words, basic in path_steps(path, most)]
    return Text(_ARROW, style="green").join(steps)


def path_steps(path: Sequence[Concept], most: int) -> list[tuple[str, bool]]:
    """The steps around the basic level in words, at most three, and whether each is the basic level.

    A step with the label of the step before is left out. `Hit.path` has all of them.
    """
    steps = [_basic_or_first(same) for _, same in groupby(path[1:-1], key=lambda step: step.label)]
    if not steps:
        return [(f"all {step.size:,}", False) for step in path[:1]]
    basic = next((at for at, step in enumerate(steps) if step.basic), 0)
    count = max(1, min(_STEPS, most // _STEP))
    first = basic if count == 1 else max(0, min(basic - 1, len(steps) - count))
    shown = steps[first : first + count]
    each = most // len(shown) - len(_ARROW)
    return [(_step(step, each), step.basic) for step in shown]


def _basic_or_first(same: Iterable[Concept]) -> Concept:
    steps = list(same)
    return next((step for step in steps if step.basic), steps[0])


def _step(step: Concept, most: int) -> str:
    size = f" ({step.size:,})"
    return shortened(one_line(step.label), max(most - len(size), 8)) + size


def documents(count: int) -> str:
    """A count with its noun: "1 document", "2,000 documents"."""
    return f"{count:,} document{'' if count == 1 else 's'}"
