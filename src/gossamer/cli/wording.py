"""Paths and passages as people read them: short, on few lines, with the words of the query marked."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gossamer.rendering import shortened

if TYPE_CHECKING:
    from rich.text import Text

    from gossamer.results import Concept

_WORD = re.compile(r"[^\W_]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "e", "y")
_STOP_WORDS = (
    "a an and any are as at be been but by can could did do does for from had has have how i if in into is it its me "
    "my no not of on one or our should so than that the their them then there these they this to was we were what "
    "when where which who why will with would you your"
)
_STOP = frozenset(_STOP_WORDS.split())
_ARROW = " › "
_BEFORE = 60
"""Characters shown before the first word that matches, where a text is too long to be shown from its beginning."""


def plain(text: str) -> str:
    """`text` without what a terminal would take for a command."""
    return _CONTROL.sub("�", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """`text` with every space, tab and line break as one space."""
    return " ".join(plain(text).split())


def stem(word: str) -> str:
    """Enough of a stem that "parsing" finds "parser": the index's own stemmer is SQLite's, and cannot be asked."""
    word = word.lower()
    for ending in (*_ENDINGS, "er"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            base = word.removesuffix(ending)
            return base[:-1] if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "ls" else base
    return word


def telling(query: str) -> set[str]:
    """The stems of the words of a query that say something; of all of them where none does."""
    words = [word.lower() for word in _WORD.findall(query)]
    return {stem(word) for word in words if word not in _STOP} or {stem(word) for word in words}


def matches(text: str, stems: set[str]) -> list[tuple[int, int]]:
    """Where words with these stems are."""
    return [found.span() for found in _WORD.finditer(text) if stem(found[0]) in stems]


def excerpt(text: str, stems: set[str], most: int) -> str:
    """At most about `most` characters of a text on one line, chosen so that the first match is in view."""
    line = one_line(text)
    if len(line) <= most:
        return line
    spans = matches(line, stems)
    start = _best_start([span[0] for span in spans], most, min(_BEFORE, most // 3))
    if start + most > len(line):
        start = len(line) - most
    if start > 0:
        start = line.find(" ", start) + 1 or start
    tail = line[start:]
    return ("…" if start else "") + shortened(tail, most)


def _best_start(places: list[int], most: int, before: int) -> int:
    """The window that holds the most matches; the first of several, and the beginning where there is none."""
    if not places or places[-1] < most - before:
        return 0
    windows = [max(0, place - before) for place in places]
    return max(windows, key=lambda start: (sum(start <= place < start + most - before for place in places), -start))


def highlighted(text: str, stems: set[str], *, style: str = "") -> Text:
    """`text` with the matching words marked."""
    from rich.text import Text

    shown = Text(text, style=style)
    for start, end in matches(text, stems):
        shown.stylize("bold yellow", start, end)
    return shown


def path_in_words(path: Sequence[Concept], most: int) -> str:
    """The concepts between the root and the leaf, in at most about `most` characters: wide ones first."""
    return _ARROW.join(words for words, _ in path_steps(path, most))


def path_shown(path: Sequence[Concept], most: int) -> Text:
    """The same, with the basic level marked."""
    from rich.text import Text

    steps = [Text(words, style="bold green" if basic else "green") for words, basic in path_steps(path, most)]
    return Text(_ARROW, style="green").join(steps)


def path_steps(path: Sequence[Concept], most: int) -> list[tuple[str, bool]]:
    """The steps of a path in words, and whether each is the basic level.

    A step that has the same label as the one before says nothing new, and is left out; of the others as many
    as fit, evenly spread, the basic level among them. Terms that were said before are not said again.
    """
    if not path:
        return []
    head = f"all {path[0].size:,}"
    steps = [_basic_first(same) for _, same in groupby(path[1:-1], key=lambda step: step.label)]
    room = most - len(head)
    fitting = max(1, min(len(steps), room // 28))
    chosen = _spread(steps, fitting)
    each = room // max(len(chosen), 1) - 3
    shown, said = [(head, False)], set[str]()
    for step in chosen:
        shown.append((_step(step, each, said), step.basic))
        said.update(step.label.split(", "))
    return shown


def _basic_first(same: Iterable[Concept]) -> Concept:
    """Of steps with one label the basic level, or the widest."""
    steps = list(same)
    return next((step for step in steps if step.basic), steps[0])


def _step(step: Concept, most: int, said: Container[str]) -> str:
    size = f" ({step.size:,})"
    new = [term for term in step.label.split(", ") if term not in said]
    label = ", ".join(new) if new and step.terms else step.label
    return shortened(one_line(label), max(most - len(size), 8)) + size


def _spread(steps: Sequence[Concept], count: int) -> list[Concept]:
    """`count` of the steps at even distances, first and last and the basic level among them."""
    if len(steps) <= count:
        return list(steps)
    places = [len(steps) - 1] if count == 1 else [round(i * (len(steps) - 1) / (count - 1)) for i in range(count)]
    basic = next((at for at, step in enumerate(steps) if step.basic), None)
    if basic is not None and basic not in places:
        nearest = min(range(count), key=lambda at: (abs(places[at] - basic), at))
        places[nearest] = basic
    return [steps[at] for at in places]


def documents(count: int) -> str:
    """So many documents."""
    return f"{count:,} document{'' if count == 1 else 's'}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """A few names in a sentence."""
    some = list(names)
    return ", ".join(some[:most]) + (f" and {len(some) - most:,} more" if len(some) > most else "")
