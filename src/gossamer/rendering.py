"""Explanations as text, as plain values and as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gossamer.results import Concept, ConceptStep, Explanation, Rival

_WIDTH: Final = 44
"""Characters of a label in a table."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def sentences(why: Explanation) -> list[str]:
    """An explanation in a few sentences."""
    return [sentence for sentence in (_place(why), _score(why), _decision(why), _terms(why)) if sentence]


def as_text(why: Explanation) -> str:
    """A short paragraph and a small table."""
    rows = [("concept", "size", "log p", "gain", "adds", "margin", "best sibling"), *map(_row, why.path)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if at in (0, 6) else cell.rjust(width) for at, (cell, width) in _sized(row, widths)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([" ".join(sentences(why)), "", *lines, "", _sum(why)])


def as_dict(why: Explanation) -> dict[str, Any]:
    """Plain values, as JSON holds them."""
    plain = {name: getattr(why, name) for name in why.__dataclass_fields__ if name not in ("path", "rival")}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
    return {
        **plain,
        "gap": why.gap,
        "path": [
            {
                **_concept_dict(step.concept),
                "log_p": step.log_p,
                "gain": step.gain,
                "contribution": step.contribution,
                "margin": step.margin,
                "rival": None if step.rival is None else _concept_dict(step.rival),
            }
            for step in why.path
        ],
        "rival": None if why.rival is None else _rival_dict(why.rival),
        "text": " ".join(sentences(why)),
    }


def as_html(why: Explanation) -> str:
    """A paragraph and a table. Every text is escaped; colours follow the page's own."""
    head = ("concept", "size", "log p", "gain", "adds", "margin", "best sibling")
    most = max((abs(step.contribution) for step in why.path), default=0.0) or 1.0
    rows = "".join(_html_row(why, at, step, most) for at, step in enumerate(why.path))
    return (
        '<section class="gossamer-explanation" style="font:14px/1.5 system-ui,sans-serif">'
        f"<p>{escape(' '.join(sentences(why)))}</p>"
        f"<blockquote>{escape(_clean(why.passage))}</blockquote>"
        '<table style="border-collapse:collapse"><thead><tr>'
        + "".join(f'<th style="{_cell(at)}">{name}</th>' for at, name in enumerate(head))
        + f"</tr></thead><tbody>{rows}</tbody></table><p>{escape(_sum(why))}</p></section>"
    )


# -- sentences -------------------------------------------------------------------------------------


def _place(why: Explanation) -> str:
    asked = "the query" if why.query is None else f"“{_line(why.query, 80)}”"
    place = f"“{_line(why.id, 60)}” is number {why.rank:,} of {why.of:,} for {asked}"
    if why.missing > 0.0:
        place += f", and {why.missing:.3f} short of the first {why.k}"
    return place + "."


def _score(why: Explanation) -> str:
    words = f" ({', '.join(why.words)})" if why.words and why.lexical > 0.0 else ""
    return f"Its score {why.score:.3f} is {why.dense:.3f} by meaning and {why.lexical:.3f} by words{words}."


def _decision(why: Explanation) -> str:
    if why.rival is None or why.gap is None:
        return ""
    other = f"“{_line(why.rival.id, 60)}” (number {why.rival.rank:,})"
    if why.decided_at is None:
        return f"It lies in the same leaf as {other}."
    verb = "ahead of" if why.gap > 0.0 else "level with" if why.gap == 0.0 else "behind"
    amount = "" if why.gap == 0.0 else f"{abs(why.gap):.3f} "
    return f"It is {amount}{verb} {other}. {_parting(why.path[why.decided_at], why.rival)}."


def _parting(here: ConceptStep, rival: Rival) -> str:
    parting = f"They part where this one goes to {_named(here.concept)} and the other to {_named(rival.concept)}"
    if here.margin is None or here.rival is None:
        return parting
    if here.margin >= 0.0:
        return f"{parting}; the query fits the first best, by {here.margin:.1f}"
    better = "the other" if here.rival.id == rival.concept.id else _named(here.rival)
    return f"{parting}; the query fits {better} better, by {-here.margin:.1f}"


def _terms(why: Explanation) -> str:
    parts = [f"{who} {', '.join(terms)}" for who, terms in _holders(why) if terms]
    return f"Of the terms of its concept {' and '.join(parts)}." if parts else ""


def _holders(why: Explanation) -> Iterable[tuple[str, tuple[str, ...]]]:
    return (("the query holds", why.query_terms), ("the document holds", why.document_terms))


def _sum(why: Explanation) -> str:
    steps = sum(step.contribution for step in why.path)
    return (
        f"{why.base:.3f} from the root {'+' if steps >= 0 else '−'} {abs(steps):.3f} along the path = {why.dense:.3f} "
        f"by meaning; {'+' if why.lexical >= 0 else '−'} {abs(why.lexical):.3f} by words = {why.score:.3f}"
    )


# -- cells -----------------------------------------------------------------------------------------


def _row(step: ConceptStep) -> tuple[str, ...]:
    first = step.margin is None
    return (
        _line(_label(step.concept), _WIDTH) + (" *" if step.concept.basic else ""),
        f"{step.concept.size:,}",
        f"{step.log_p:.1f}",
        "" if first else f"{step.gain:+.1f}",
        "" if first else f"{step.contribution:+.3f}",
        "" if step.margin is None else f"{step.margin:+.1f}",
        "" if step.rival is None else _line(step.rival.label, _WIDTH),
    )


def _sized(row: tuple[str, ...], widths: list[int]) -> Iterable[tuple[int, tuple[str, int]]]:
    return enumerate(zip(row, widths, strict=True))


def _html_row(why: Explanation, at: int, step: ConceptStep, most: float) -> str:
    share = round(100 * abs(step.contribution) / most)
    colour = "rgba(46,160,67,.35)" if step.contribution >= 0 else "rgba(218,54,51,.35)"
    bar = f"background:linear-gradient(90deg,{colour} {share}%,transparent {share}%)"
    weight = "font-weight:bold;" if at == why.decided_at else ""
    cells = [
        f'<td style="{_cell(column)}{";" + bar if column == 4 else ""}">{escape(text)}</td>'
        for column, text in enumerate(_row(step))
    ]
    return f'<tr style="{weight}">{"".join(cells)}</tr>'


def _cell(column: int) -> str:
    return f"padding:2px 8px;text-align:{'left' if column in (0, 6) else 'right'}"


def _label(concept: Concept) -> str:
    return "everything" if concept.parent is None and concept.children else concept.label


def _named(concept: Concept) -> str:
    return f"“{_line(concept.label, 60)}”"


def _concept_dict(concept: Concept) -> dict[str, Any]:
    return {
        "id": concept.id,
        "depth": concept.depth,
        "size": concept.size,
        "label": concept.label,
        "terms": list(concept.terms),
        "basic": concept.basic,
    }


def _rival_dict(rival: Rival) -> dict[str, Any]:
    values = {name: getattr(rival, name) for name in ("id", "text", "rank", "score")}
    return {**values, "concept": _concept_dict(rival.concept)}


def _clean(text: str) -> str:
    """Without what a terminal would take for a command."""
    return _CONTROL.sub("�", text)


def _line(text: str, most: int) -> str:
    return shortened(" ".join(_clean(text).split()), most)


def shortened(line: str, most: int) -> str:
    """The beginning of a line, cut between words where there are some."""
    if len(line) <= most:
        return line
    head = line[: max(most - 1, 1)]
    cut = head.rsplit(" ", 1)[0].rstrip(" ,;:.")
    return (cut if len(cut) > most // 2 else head) + "…"
