"""Labels ↔ text, for a file: lines of JSON.

    signature of the tree, ids of concepts, who gave names
    names that a labeller gave
    what labels were chosen from, read when labels are made again, after a change
    the label of the first concept, read when it is shown
    ...

Every value is checked when it is read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

from gossamer.explain.labelling import Label, Labels, Name
from gossamer.explain.proposals import Proposal
from gossamer.results import Exemplar

_log = logging.getLogger("gossamer.explain")

_Value = TypeVar("_Value")

_LARGEST: Final = 1 << 62
"""Ids and fingerprints are smaller."""


def to_text(labels: Labels, signature: int, labeller: str) -> str:
    """Labels as JSON. `signature` tells the state of the tree that they are of, `labeller` who gave the names."""
    made = [
        (one.made_from, one.keys, one.choices, one.mixed, one.parts)
        for one in (labels.proposals[node] for node in labels.of)
    ]
    names = [(node, name.text, name.members) for node, name in labels.names.items() if name.text]
    shown = [_dumped(_row(label)) for label in labels.of.values()]
    return "\n".join([_dumped((signature, list(labels.of), labeller)), _dumped(names), _dumped(made), *shown])


def _row(label: Label) -> Sequence[Any]:
    shown = label.shown
    return label.text, label.terms, label.exemplars, [each.id for each in shown], [each.text for each in shown]


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Saved(NamedTuple):
    """What `to_text` wrote."""

    labels: Labels
    signature: int
    labeller: str


def from_text(text: str) -> Saved:
    """What was written; `ValueError` where a value is not what it should be."""
    try:
        first, second, made, *shown = text.split("\n")
        signature, nodes, *rest = json.loads(first)
        given = json.loads(second)
        if len(rest) == 1:
            (labeller,) = rest
        else:  # up to format 4 the first line had all labels, in columns, and the second who gave names
            labeller, given = given
            shown = [_dumped(label) for label in zip(*rest, strict=True)]
        lines = dict(zip(_numbers(nodes), shown, strict=True))
        names = {_number(node): Name(_text(words), _numbers(members)) for node, words, members in given}
    except (TypeError, RecursionError) as error:
        raise ValueError(f"these are not labels: {error}") from error
    of = _Shown(lines)
    return Saved(Labels(of, _Proposals(of, made), names), _number(signature), _text(labeller))


class _Shown(Mapping[int, Label]):
    """Labels that are read when they are asked for; one that is not what it should be has no words."""

    def __init__(self, lines: Mapping[int, str]) -> None:
        self._lines = lines
        self._read: dict[int, Label] = {}

    def __getitem__(self, node: int) -> Label:
        label = self._read.get(node)
        if label is None:
            label = self._read[node] = _label(self._lines[node])
        return label

    def __contains__(self, node: object) -> bool:
        return node in self._lines

    def __iter__(self) -> Iterator[int]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _label(line: str) -> Label:
    try:
        words, terms, exemplars, *shown = json.loads(line)  # earlier versions did not save what is shown
        each = zip(*map(_texts, shown), strict=True)
        return Label(_text(words), _texts(terms), _numbers(exemplars), tuple([Exemplar(*pair) for pair in each]))
    except (TypeError, ValueError, RecursionError) as error:
        _log.warning("a saved label cannot be used: %s", error)
        return Label("", (), ())


class _Proposals(Mapping[int, Proposal]):
    """Proposals that are read when the first one is asked for; none where they are not what they should be."""

    def __init__(self, labels: Mapping[int, Label], text: str) -> None:
        self._labels, self._text = labels, text

    @cached_property
    def _found(self) -> dict[int, Proposal]:
        try:
            rows = json.loads(self._text)
            return {node: _proposal(label, row) for (node, label), row in zip(self._labels.items(), rows, strict=True)}
        except (TypeError, ValueError, RecursionError) as error:
            _log.warning("saved labels cannot be used, they are made again: %s", error)
            return {}

    def __getitem__(self, node: int) -> Proposal:
        return self._found[node]

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _proposal(label: Label, row: Any) -> Proposal:
    made_from, keys, choices, mixed, parts = row
    proposal = Proposal(
        made_from=_number(made_from),
        keys=_texts(keys),
        terms=label.terms,
        choices=_several(choices, _numbers),
        exemplars=label.exemplars,
        shown=label.shown,
        mixed=_texts(mixed),
        parts=_several(parts, _pair),
    )
    if (
        len(proposal.keys) != len(proposal.terms)
        or any(at >= len(proposal.terms) for choice in proposal.choices for at in choice)
        or len(proposal.exemplars) != len(proposal.shown)
    ):
        raise ValueError("a label has terms that are not there")
    return proposal


def _several(values: Any, check: Callable[[Any], _Value]) -> tuple[_Value, ...]:
    if type(values) is not list:
        raise ValueError(f"expected a list, got {type(values).__name__}")
    return tuple([check(value) for value in values])


def _texts(values: Any) -> tuple[str, ...]:
    if type(values) is not list or not {str}.issuperset(map(type, values)):
        raise ValueError("texts are missing")
    return tuple(values)


def _numbers(values: Any) -> tuple[int, ...]:
    if type(values) is not list or not {int}.issuperset(map(type, values)):
        raise ValueError("numbers are missing")
    if values and not 0 <= min(values) <= max(values) < _LARGEST:
        raise ValueError("a number is out of range")
    return tuple(values)


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise ValueError("a number is missing, or out of range")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError("a text is missing")
    return value


def _pair(value: Any) -> tuple[int, int]:
    one, other = _numbers(value)
    return one, other
