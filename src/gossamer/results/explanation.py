"""Why a document scores as it does: the figures, and the same as sentences, text, JSON and HTML."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from html import escape
from typing import Any, Final

from gossamer.plain_text import beginning, printable
from gossamer.results.concepts import Concept

_WIDTH: Final = 44
"""Characters of a label in a table, at most."""

_COLUMNS: Final = ("concept", "size", "log p", "gain", "adds", "margin", "best sibling")
_LEFT: Final = (0, 6)
"""Columns of text, aligned to the left; the others are numbers."""


@dataclass(frozen=True)
class ConceptStep:
    """One concept on the path to a document, and what it adds to the score.

    >>> step = ix.explain("who hunts mice", "owl").path[1]
    >>> step.concept.depth, step.contribution > 0
    (1, True)
    """

    concept: Concept
    log_p: float
    """Log density of the query under this concept."""
    gain: float
    """`log_p` less the parent's; 0 at the root."""
    contribution: float
    """The gain on the scale of the score."""
    margin: float | None
    """`log_p` less the best sibling's: below 0, the query fits the sibling better. None at the root."""
    rival: Concept | None
    """The best sibling. None at the root."""


@dataclass(frozen=True)
class Rival:
    """The document to compare with: the best one, or the second where the best one is explained.

    >>> rival = ix.explain("who hunts mice", "wolf").rival
    >>> rival.id, rival.rank
    ('owl', 1)
    """

    id: str
    text: str
    """Its best passage on one line, shortened."""
    rank: int
    score: float
    concept: Concept
    """The first concept on its path that is not on the path of the document explained."""
    lexical: float | None = None
    """The part of its score that is by words; None where it is not known."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a document scores as it does for a query.

    base + the contributions of all steps + opening = dense, and dense + lexical = score.

    >>> why = ix.explain("who hunts mice", "owl")
    >>> why.rank, sorted(why.words)
    (1, ['hunts', 'mice'])
    >>> abs(why.base + sum(step.contribution for step in why.path) + why.lexical - why.score) < 1e-9
    True
    """

    id: str
    query: str | None
    rank: int
    """1 for the best document."""
    of: int
    """Documents in the index."""
    score: float
    dense: float
    """Cosine of query and passage in the whitened space, and the opening."""
    lexical: float
    """Weight · BM25 / (best BM25 of any document)."""
    weight: float
    """`lexical` of the document with the best BM25."""
    words: tuple[str, ...]
    """Words of the query that count for BM25 and that the document holds."""
    passage: str
    """The part of the text that fits best."""
    start: int
    """Where the passage begins in the text, in characters."""
    base: float
    """What every document gets from the root: how well the query fits the corpus as a whole."""
    path: tuple[ConceptStep, ...]
    """From the root to the leaf of the passage."""
    decided_at: int | None
    """Position in `path` of the first step that the rival does not share; None without rival, or in the same leaf."""
    rival: Rival | None
    """None where the index holds one document."""
    query_terms: tuple[str, ...]
    """Terms of the concept at `decided_at` that the query holds."""
    document_terms: tuple[str, ...]
    """Terms of the concept at `decided_at` that the passage holds."""
    opening: float = 0.0
    """What the beginning of a long text takes away: (first − best) · c · min(c, ½), with the cosines of the query and
    the first and the best passage, and c that of these two. 0 where they are the same.
    """
    missing: float = 0.0
    """Score needed to be among the first `k` less this score; 0 where it is among them."""
    k: int = 10

    @property
    def gap(self) -> float | None:
        """Score less the rival's: above 0, this document is ahead."""
        return None if self.rival is None else self.score - self.rival.score

    @property
    def sentences(self) -> list[str]:
        """The explanation in words: rank, score, the step that decided, and the terms that count."""
        return [sentence for sentence in (_rank(self), _score(self), _decision(self), _terms(self)) if sentence]

    def __repr__(self) -> str:
        return f"Explanation({self.id!r}, number {self.rank:,} of {self.of:,}, score {self.score:.3f})"

    def __str__(self) -> str:
        """A paragraph, a table of the path, and the sum."""
        rows = [_COLUMNS, *map(_cells, self.path)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            sized = enumerate(zip(row, widths, strict=True))
            cells = [cell.ljust(width) if at in _LEFT else cell.rjust(width) for at, (cell, width) in sized]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([" ".join(self.sentences), "", *lines, "", _sum(self)])

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values that JSON can hold, and the sentences as `text`.

        >>> sorted(ix.explain("who hunts mice", "owl").to_dict())[:4]
        ['base', 'decided_at', 'dense', 'document_terms']
        """
        names = [field.name for field in fields(self) if field.name not in ("path", "rival")]
        rival = self.rival
        return {
            **_plain(self, names),
            "gap": self.gap,
            "path": [
                {
                    **_concept(step.concept),
                    **_plain(step, ("log_p", "gain", "contribution", "margin")),
                    "rival": None if step.rival is None else _concept(step.rival),
                }
                for step in self.path
            ],
            "rival": rival
            and {**_plain(rival, ("id", "text", "rank", "score", "lexical")), "concept": _concept(rival.concept)},
            "text": " ".join(self.sentences),
        }

    def to_html(self) -> str:
        """A self-contained fragment of HTML. Texts are escaped; colours are those of the page it stands in.

        >>> ix.explain("who hunts mice", "owl").to_html()[:38]
        '<section class="gossamer-explanation" '
        """
        heads = "".join(f'<th style="{_style(column)}">{name}</th>' for column, name in enumerate(_COLUMNS))
        largest = max((abs(step.contribution) for step in self.path), default=0.0) or 1.0
        rows = "".join(_html_row(step, at == self.decided_at, largest) for at, step in enumerate(self.path))
        return (
            '<section class="gossamer-explanation" style="font:14px/1.5 system-ui,sans-serif">'
            f"<p>{escape(' '.join(self.sentences))}</p>"
            f"<blockquote>{escape(printable(self.passage))}</blockquote>"
            f'<table style="border-collapse:collapse"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
            f"<p>{escape(_sum(self))}</p></section>"
        )

    _repr_html_ = to_html


# -- sentences -------------------------------------------------------------------------------------


def _rank(why: Explanation) -> str:
    query = "the query" if why.query is None else _quoted(why.query, 80)
    short = f", and {why.missing:.3f} short of the first {why.k}" if why.missing > 0.0 else ""
    return f"{_quoted(why.id)} is number {why.rank:,} of {why.of:,} for {query}{short}."


def _score(why: Explanation) -> str:
    words = f" ({', '.join(why.words)})" if why.words and why.lexical > 0.0 else ""
    return f"Its score {why.score:.3f} is {why.dense:.3f} by meaning and {why.lexical:.3f} by words{words}."


def _decision(why: Explanation) -> str:
    if why.rival is None or why.gap is None:
        return ""
    other = f"{_quoted(why.rival.id)} (number {why.rival.rank:,})"
    if why.decided_at is None:
        return f"It lies in the same leaf as {other}."
    verb = "ahead of" if why.gap > 0.0 else "level with" if why.gap == 0.0 else "behind"
    amount = "" if why.gap == 0.0 else f"{abs(why.gap):.3f} "
    parting = _parting(why.path[why.decided_at], why.rival)
    return f"It is {amount}{verb} {other}{_by_words(why.gap, why.lexical, why.rival.lexical)}. {parting}."


def _by_words(gap: float, lexical: float, other: float | None) -> str:
    """Whether words decided: without them, the order would be another, or the distance less than half."""
    by_words = 0.0 if other is None else lexical - other
    by_meaning = gap - by_words
    if gap == 0.0 or by_words * gap <= 0.0 or abs(by_words) <= abs(by_meaning):
        return ""
    if by_meaning * gap >= 0.0:
        return ", mostly by words"
    return f", by words: by meaning alone it would be {abs(by_meaning):.3f} {'behind' if gap > 0.0 else 'ahead'}"


def _parting(here: ConceptStep, rival: Rival) -> str:
    mine, other = _quoted(here.concept.label), _quoted(rival.concept.label)
    parting = f"They part where this one goes to {mine} and the other to {other}"
    if here.margin is None or here.rival is None:
        return parting
    if here.margin >= 0.0:
        return f"{parting}; the query fits the first best, by {here.margin:.1f}"
    if here.rival.id != rival.concept.id:  # a third concept fits best, which neither document is in
        return parting
    return f"{parting}; the query fits the other better, by {-here.margin:.1f}"


def _terms(why: Explanation) -> str:
    holders = ("the query holds", why.query_terms), ("the document holds", why.document_terms)
    parts = [f"{who} {', '.join(terms)}" for who, terms in holders if terms]
    return f"Of the terms of its concept {' and '.join(parts)}." if parts else ""


def _sum(why: Explanation) -> str:
    steps = sum(step.contribution for step in why.path)
    opening = f" − {-why.opening:.3f} for how the text begins" if why.opening else ""
    return (
        f"{why.base:.3f} from the root {'+' if steps >= 0 else '−'} {abs(steps):.3f} along the path{opening} = "
        f"{why.dense:.3f} "
        f"by meaning; {'+' if why.lexical >= 0 else '−'} {abs(why.lexical):.3f} by words = {why.score:.3f}"
    )


# -- table and values ------------------------------------------------------------------------------


def _cells(step: ConceptStep) -> tuple[str, ...]:
    """One row of the table of a path."""
    is_root = step.concept.parent is None and step.concept.children
    return (
        _line("everything" if is_root else step.concept.label, _WIDTH) + (" *" if step.concept.basic else ""),
        f"{step.concept.size:,}",
        f"{step.log_p:.1f}",
        "" if step.margin is None else f"{step.gain:+.1f}",
        "" if step.margin is None else f"{step.contribution:+.3f}",
        "" if step.margin is None else f"{step.margin:+.1f}",
        "" if step.rival is None else _line(step.rival.label, _WIDTH),
    )


def _html_row(step: ConceptStep, decides: bool, largest: float) -> str:
    """A row with the contribution as a bar, of full width for the `largest` one."""
    share = round(100 * abs(step.contribution) / largest)
    colour = "rgba(46,160,67,.35)" if step.contribution >= 0 else "rgba(218,54,51,.35)"
    bar = f";background:linear-gradient(90deg,{colour} {share}%,transparent {share}%)"
    cells = "".join(
        f'<td style="{_style(column)}{bar if _COLUMNS[column] == "adds" else ""}">{escape(text)}</td>'
        for column, text in enumerate(_cells(step))
    )
    return f'<tr style="{"font-weight:bold;" if decides else ""}">{cells}</tr>'


def _style(column: int) -> str:
    return f"padding:2px 8px;text-align:{'left' if column in _LEFT else 'right'}"


def _concept(concept: Concept) -> dict[str, Any]:
    return _plain(concept, ("id", "depth", "size", "label", "terms", "basic"))


def _plain(value: object, names: Iterable[str]) -> dict[str, Any]:
    """Some attributes by name, tuples as lists."""
    found = {name: getattr(value, name) for name in names}
    return {name: list(each) if isinstance(each, tuple) else each for name, each in found.items()}


def _quoted(text: str, most: int = 60) -> str:
    return f"“{_line(text, most)}”"


def _line(text: str, most: int) -> str:
    return beginning(printable(text), most)
