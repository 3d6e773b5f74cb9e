"""A branch as lines for a terminal: size, id and name of each concept, typical documents, answers to a query."""

from typing import Final

from rich.text import Text
from rich.tree import Tree

from gossamer.pictures.branch import Branch
from gossamer.plain_text import one_line

_THEMES: Final = ("cyan", "green", "magenta", "yellow", "blue", "red")
"""Colours of the branches below the first concept, used in turn."""


def to_tree(branch: Branch, *, top: int = 8, examples: int = 0) -> Tree:
    """The tree of lines: below each concept the `top` largest children, and all others that hold answers.

    A concept without children shown lists its answers and `examples` typical documents.
    """
    root = Tree(_name(branch, "bold"), guide_style="dim")
    waiting = [(root, branch, "")]
    while waiting:
        line, at, theme = waiting.pop()
        shown = [child for number, child in enumerate(at.below) if number < top or child.answers]
        for child in shown:
            colour = theme or _THEMES[at.below.index(child) % len(_THEMES)]
            waiting.append((line.add(_name(child, colour)), child, colour))
        if rest := [child for child in at.below if child not in shown]:
            line.add(_faint(f"… {len(rest)} more, {sum(child.concept.size for child in rest):,} passages"))
        if not at.below:
            _add_documents(line, at, examples)
    return root


def _add_documents(line: Tree, branch: Branch, examples: int) -> None:
    for answer in branch.answers:
        found = Text(no_wrap=True, overflow="ellipsis")
        found.append(f"{answer.rank}. ", style="bold yellow")
        found.append(_said(answer.id, answer.text))
        line.add(found)
    single = not branch.concept.children  # its name is its text already
    if examples and not single:
        for exemplar in branch.concept.exemplars[:examples]:
            line.add(_faint(_said(exemplar.id, exemplar.text)))


def _said(id: str, text: str) -> str:
    """A document on one line: its id, unless the text begins with it, and its text."""
    id, text = one_line(id), one_line(text)
    return text if text.startswith(id) else f"{id}: {text}"


def _name(branch: Branch, style: str) -> Text:
    concept = branch.concept
    name = Text(no_wrap=True, overflow="ellipsis")
    name.append(f"{concept.size:,}", style="bold")
    name.append(f" #{concept.id} ", style="dim")
    name.append(one_line(branch.name), style=style)
    if branch.answers:
        ranks = ", ".join(str(answer.rank) for answer in branch.answers)
        name.append(f"  ◆ {ranks}", style="bold yellow")
    return name


def _faint(text: str) -> Text:
    return Text(text, style="dim", no_wrap=True, overflow="ellipsis")
