"""Labels ↔ text, for a file: lines of JSON with what is shown, names that a labeller gave, and what labels were chosen
from.

The last line is read when labels are made again, after a change. Every value is checked when it is read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

from gossamer.explain.labelling import Label, Labels, Name
from gossamer.explain.proposals import Proposal

_log = logging.getLogger("gossamer.explain")

_Value = TypeVar("_Value")

_LARGEST: Final = 1 << 62
"""Ids and fingerprints are smaller."""


def to_text(labels: Labels, signature: int, labeller: str) -> str:
    """Labels as JSON. `signature` tells the state of the tree that they are of, `labeller` who gave the names."""
    proposals = [labels.proposals[node] for node in labels.of]
    each = labels.of.values()
    shown = [
        signature,
        list(labels.of),
        [label.text for label in each],
        [label.terms for label in each],
        [label.exemplars for label in each],
    ]
    made = [(one.made_from, one.keys, one.choices, one.quote, one.mixed, one.parts) for one in proposals]
    names = [labeller, [(node, name.text, name.members) for node, name in labels.names.items() if name.text]]
    return f"{_dumped(shown)}\n{_dumped(names)}\n{_dumped(made)}"


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
        first, second, third = text.split("\n")
        signature, nodes, texts, terms, exemplars = json.loads(first)
        rows = zip(nodes, texts, terms, exemplars, strict=True)
        of = {_number(node): Label(_text(words), _texts(each), _numbers(some)) for node, words, each, some in rows}
        labeller, given = json.loads(second)
        names = {_number(node): Name(_text(words), _numbers(members)) for node, words, members in given}
    except (TypeError, RecursionError) as error:
        raise ValueError(f"these are not labels: {error}") from error
    return Saved(Labels(of, _Proposals(of, third), names), _number(signature), _text(labeller))


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
    made_from, keys, choices, quote, mixed, parts = row
    proposal = Proposal(
        made_from=_number(made_from),
        keys=_texts(keys),
        terms=label.terms,
        choices=_several(choices, _numbers),
        exemplars=label.exemplars,
        quote=_text(quote),
        mixed=_texts(mixed),
        parts=_several(parts, _pair),
    )
    if len(proposal.keys) != len(proposal.terms) or any(
        at >= len(proposal.terms) for choice in proposal.choices for at in choice
    ):
        raise ValueError("a label has terms that are not there")
    return proposal


def _several(values: Any, check: Callable[[Any], _Value]) -> tuple[_Value, ...]:
    if type(values) is not list:
        raise ValueError(f"expected a list, got {type(values).__name__}")
    return tuple([check(value) for value in values])


def _texts(values: Any) -> tuple[str, ...]:
    return _several(values, _text)


def _numbers(values: Any) -> tuple[int, ...]:
    return _several(values, _number)


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
