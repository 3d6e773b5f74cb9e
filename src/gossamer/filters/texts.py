"""The different texts of a field, each with a code, and which of them satisfy a condition.

A condition is tested once for each different text, not once for each document. Orders and prefixes are looked up in a
sorted list, and dates are read once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from gossamer.array_types import Bools, Longs
from gossamer.filters.dates import read_moment
from gossamer.filters.nodes import Moment, Order, Part

_NO_DATE: Final = np.iinfo(np.int64).min


class Texts:
    """Texts, numbered as they come."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._sorted: tuple[list[str], Longs] = ([], np.empty(0, np.int64))
        self._moments = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._codes)

    def encode(self, texts: Iterable[str]) -> list[int]:
        """The code of each text; one that was not there gets the next number."""
        codes = self._codes
        return [codes.setdefault(text, len(codes)) for text in texts]

    def among(self, wanted: Iterable[str]) -> Bools:
        """By code: whether it is one of `wanted`."""
        found = [code for text in wanted if (code := self._codes.get(text)) is not None]
        truth = np.zeros(len(self), np.bool_)
        truth[found] = True
        return truth

    def matching(self, part: Part, text: str) -> Bools:
        """By code: whether it contains `text`, or begins with it."""
        if part == "$contains":
            return np.fromiter((text in each for each in self._codes), np.bool_, len(self))
        texts, _ = self._in_order()
        return self._between(bisect_left(texts, text), bisect_right(texts, text, key=lambda each: each[: len(text)]))

    def compared(self, order: Order, operand: str | Moment) -> Bools:
        """By code: whether it compares to `operand` as `order` says.

        Two dates compare by the moments they name, other texts by code point. A moment compares with dates alone.
        """
        moment = operand if isinstance(operand, Moment) else read_moment(operand)
        if moment is None:
            assert isinstance(operand, str)
            return self._compared_as_text(order, operand)
        moments = self._all_moments()
        dated = moments != _NO_DATE
        chronological: Bools = _COMPARED[order](moments, moment.microseconds) & dated
        if isinstance(operand, Moment) or dated.all():
            return chronological
        return np.where(dated, chronological, self._compared_as_text(order, operand))

    def has_dates(self) -> bool:
        """Whether any of the texts is a date."""
        return bool((self._all_moments() != _NO_DATE).any())

    def are_dates(self) -> bool:
        """Whether all of the texts are dates."""
        return len(self) > 0 and bool((self._all_moments() != _NO_DATE).all())

    def at(self, wanted: Sequence[Moment]) -> Bools:
        """By code: whether it names one of these moments."""
        return np.isin(self._all_moments(), [moment.microseconds for moment in wanted])

    def _compared_as_text(self, order: Order, operand: str) -> Bools:
        texts, _ = self._in_order()
        place = (bisect_right if order in ("$gt", "$lte") else bisect_left)(texts, operand)
        return self._between(place, len(texts)) if order in ("$gt", "$gte") else self._between(0, place)

    def _between(self, start: int, stop: int) -> Bools:
        """By code: whether it stands between two places in the order of texts."""
        truth = np.zeros(len(self), np.bool_)
        truth[self._in_order()[1][start:stop]] = True
        return truth

    def _in_order(self) -> tuple[list[str], Longs]:
        """All texts by code point, and their codes."""
        known = self._sorted
        if len(known[0]) < len(self):
            texts = known[0] + list(self._codes)[len(known[0]) :]
            texts.sort()  # nearly in order, where few are new
            known = self._sorted = texts, np.array([self._codes[text] for text in texts], np.int64)
        return known

    def _all_moments(self) -> Longs:
        """By code: the microseconds of the moment that a text names; `_NO_DATE` where it is no date."""
        known = self._moments
        if len(known) < len(self):
            read = (read_moment(text) for text in list(self._codes)[len(known) :])
            new = [_NO_DATE if moment is None else moment.microseconds for moment in read]
            known = self._moments = np.concatenate([known, np.array(new, np.int64)])
        return known


_COMPARED: Final = {"$gt": np.greater, "$gte": np.greater_equal, "$lt": np.less, "$lte": np.less_equal}
