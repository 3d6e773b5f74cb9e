"""Building blocks of HTML fragments for notebooks: what `_repr_html_` of results and of an index is made of.

In: plain texts and numbers. Out: HTML. Texts are escaped, nothing is loaded, no script runs, and colours are those of
the page the fragment stands in.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from gossamer.plain_text import beginning, one_line

SHOWN: Final = 50
"""Rows of a table, at most; a line says how many are left out."""

_TEXT: Final = 240
"""Characters of a text, at most."""

_BOX: Final = "font:14px/1.5 system-ui,sans-serif;max-width:60em"
_CELL: Final = "padding:4px 12px 4px 0;text-align:left;vertical-align:top"
_QUIET: Final = "opacity:.65"


class Branch(NamedTuple):
    """A node of a tree to show."""

    id: int
    parent: int | None
    label: str
    size: int


def text(content: str, most: int = _TEXT) -> str:
    """The beginning of a text, escaped."""
    return escape(beginning(one_line(content[: 4 * most]), most))


def quiet(content: str) -> str:
    """A line of HTML, paler than the rest."""
    return f'<div style="{_QUIET}">{content}</div>' if content else ""


def named(label: str, size: int) -> str:
    """A label and a number of passages, which a single one does not need."""
    if size == 1:
        return text(label)
    return f'{text(label)} <span style="{_QUIET}">{size:,}</span>'


def box(kind: str, content: str) -> str:
    """The outermost element of a fragment; its class is "gossamer-<kind>"."""
    return f'<div class="gossamer-{kind}" style="{_BOX}">{content}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, of: int) -> str:
    """A table of cells that are HTML already; `of` is the number of rows there are, of which these are the first."""
    cells = ["".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) for row in rows]
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in heads)
    body = "".join(f"<tr>{each}</tr>" for each in cells)
    rest = quiet(f"and {of - len(cells):,} more") if of > len(cells) else ""
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}'


def tree(branches: Iterable[Branch]) -> str:
    """A tree that can be unfolded, without its root. Parents come before their children."""
    below: dict[int | None, list[Branch]] = {}
    for branch in branches:
        below.setdefault(branch.parent, []).append(branch)
    return "".join(_unfolding(child, below) for root in below.get(None, []) for child in below.get(root.id, []))


def _unfolding(branch: Branch, below: dict[int | None, list[Branch]]) -> str:
    children = "".join(_unfolding(child, below) for child in below.get(branch.id, []))
    name = named(branch.label, branch.size)
    if not children:
        return f'<div style="margin-left:1.3em">{name}</div>'
    return f'<details style="margin-left:1.3em"><summary>{name}</summary>{children}</details>'
