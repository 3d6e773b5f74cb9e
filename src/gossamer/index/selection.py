"""Candidates → the answers that are asked for: recent ones preferred, one of each group, or ones that differ.

    boost       score + w · 2^(−age / half-life); nothing is added for a document without a date
    group_by    the best document of each value of a metadata field
    diversity   maximal marginal relevance over what is left, see `rank.diversity`

More candidates are ranked until no document that was left out could be among the answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import numpy as np

from gossamer.array_types import DocumentNumber
from gossamer.errors import ParameterError
from gossamer.filters import Path, as_path, moment_of, read_moment, values_at
from gossamer.index.query import View
from gossamer.index.ranking import Ranking
from gossamer.rank.diversity import spread
from gossamer.rank.fusion import Scored
from gossamer.store import rows

_MOST: Final = 10_000
"""Candidates that are looked at, at most."""

_WEIGHT: Final = 0.1
"""What a boost adds to the score of a document of this moment, unless it says otherwise: two thirds of
what words do."""

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_556_952}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdwy])")


def candidates(k: int) -> int:
    """How many documents are looked at first to choose k of them."""
    return max(5 * k, 50)


@dataclass(frozen=True)
class Recency:
    """Prefer documents with a recent date: add weight · 2^(−age / half_life) to their scores."""

    path: Path
    half_life: float
    """Seconds."""
    weight: float
    now: float
    """Seconds since 1970. Later dates count as now."""

    @classmethod
    def checked(cls, boost: Any) -> Recency:
        """What the argument `boost` stands for."""
        example = 'pass for example {"field": "date", "half_life": "30d"}'
        if not isinstance(boost, Mapping) or not {"field", "half_life"} <= boost.keys():
            raise ParameterError(f"boost takes a field and a half_life, got {boost!r}: {example}")
        if unknown := boost.keys() - {"field", "half_life", "weight", "now"}:
            raise ParameterError(f"boost has no {min(map(str, unknown))!r}: it takes field, half_life, weight and now")
        weight = boost.get("weight", _WEIGHT)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.0 < weight < float("inf"):
            raise ParameterError(f"the weight of a boost must be a number above 0, got {weight!r}")
        now = boost.get("now")
        moment = datetime.now(UTC).timestamp() if now is None else _seconds(now)
        if moment is None:
            raise ParameterError(f"now must be a date or a time, got {now!r}: pass a datetime, or leave it out")
        return cls(_as_field(boost["field"], "the field of a boost"), _half_life(boost["half_life"]), weight, moment)

    def of(self, metadata: Mapping[str, Any]) -> float:
        """What is added to the score of a document: by its newest date, if it has several."""
        dates = [seconds for value in _values(metadata, self.path) if (seconds := _seconds(value)) is not None]
        if not dates:
            return 0.0
        age = max(0.0, self.now - max(dates))
        return float(self.weight * 2.0 ** -(age / self.half_life))


@dataclass(frozen=True)
class Selection:
    """How answers are chosen among candidates."""

    diversity: float = 0.0
    group_by: Path | None = None
    recency: Recency | None = None

    @classmethod
    def checked(cls, diversity: Any, group_by: Any, boost: Any) -> Selection:
        """The arguments of `Index.search`, or the error that says what is wrong with them."""
        if isinstance(diversity, bool) or not isinstance(diversity, int | float) or not 0.0 <= diversity <= 1.0:
            raise ParameterError(f"diversity must be a number from 0 to 1, got {diversity!r}")
        path = None if group_by is None else _as_field(group_by, "group_by")
        return cls(float(diversity), path, None if boost is None else Recency.checked(boost))

    @property
    def is_plain(self) -> bool:
        """Whether the best candidates are the answers."""
        return not self.diversity and self.group_by is None and self.recency is None

    @property
    def fields(self) -> list[Path]:
        """The metadata fields that it reads."""
        dated = None if self.recency is None else self.recency.path
        return [path for path in (self.group_by, dated) if path is not None]


def select(view: View, rank: Callable[[int], Ranking], k: int, selection: Selection) -> Ranking:
    """The k answers of one query; `rank(n)` gives its n best documents, best first."""
    wanted = candidates(k) if selection.diversity else k
    count, visited = candidates(k), 0
    while True:
        ranking = rank(count)
        visited += ranking.visited
        found = _chosen(view, ranking.found, selection)
        if len(ranking.found) < count or count >= _MOST or _is_decided(found, ranking.found, wanted, selection):
            break
        count = min(4 * count, _MOST)
    if selection.diversity and found:
        units = view.units(np.array([each.passage for each in found]))
        places = spread(np.array([each.score for each in found]), units, k, selection.diversity)
        found = [found[place] for place in places]
    return Ranking(found[:k], visited, in_order=True)


def _chosen(view: View, ranked: Sequence[Scored], selection: Selection) -> list[Scored]:
    """The candidates with their boosts, best first, and of each group the best alone."""
    found = list(ranked)
    if not selection.fields:
        return found
    metadata = rows.metadata_of(view.db, [each.document for each in found])
    if selection.recency is not None:
        recency = selection.recency
        found = [each._replace(boost=recency.of(metadata.get(each.document, {}))) for each in found]
        found.sort(key=lambda each: (-each.score, each.document))
    if selection.group_by is not None:
        best: dict[Hashable, Scored] = {}
        for each in found:
            best.setdefault(_group(metadata, each.document, selection.group_by), each)
        found = list(best.values())
    return found


def _is_decided(found: Sequence[Scored], ranked: Sequence[Scored], wanted: int, selection: Selection) -> bool:
    """Whether no document beyond `ranked` can be among the first `wanted` of `found`."""
    most = selection.recency.weight if selection.recency is not None else 0.0
    return len(found) >= wanted and found[wanted - 1].score >= ranked[-1].score - ranked[-1].boost + most


def _group(metadata: Mapping[DocumentNumber, Mapping[str, Any]], document: DocumentNumber, path: Path) -> Hashable:
    """What documents of one group have in common; a document without the field is a group of its own."""
    values = list(_values(metadata.get(document, {}), path))
    return json.dumps(values, sort_keys=True) if values else document


def _values(metadata: Mapping[str, Any], path: Path) -> list[Any]:
    found: list[Any] = []
    for value in values_at(metadata, path):
        found.extend(value if isinstance(value, list) else [value])
    return found


def _as_field(field: Any, what: str) -> Path:
    if not isinstance(field, str) or not field:
        raise ParameterError(f"{what} must be the name of a metadata field, got {field!r}")
    return as_path(field)


def _half_life(given: Any) -> float:
    seconds = 0.0
    if isinstance(given, timedelta):
        seconds = given.total_seconds()
    elif isinstance(given, str) and (match := _DURATION.fullmatch(given.strip().lower())):
        seconds = float(match[1]) * _UNITS[match[2]]
    if not 0.0 < seconds < float("inf"):
        raise ParameterError(
            f'half_life must be a time above 0, as in "12h", "30d", "8w", "1y" or a timedelta, got {given!r}'
        )
    return seconds


def _seconds(value: Any) -> float | None:
    """Seconds since 1970 of a date, an ISO text or a number of seconds; None for anything else."""
    if isinstance(value, str):
        moment = read_moment(value)
        return None if moment is None else moment.microseconds / 1e6
    if isinstance(value, date):
        return moment_of(value).microseconds / 1e6
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
