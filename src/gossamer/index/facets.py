"""Values of metadata fields and how many documents have each, of those that match or of the best answers to a query.

In: one state of an index, and a scope or a ranking. Out: `Facets`. The cost is bounded: of more than SAMPLE documents
that many are counted, evenly spread over the order of arrival.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

import numpy as np

from gossamer.array_types import DocumentNumber
from gossamer.filters import Node, Where, parse
from gossamer.index.query import as_weight, scope_of
from gossamer.index.ranking import rank
from gossamer.index.state import IndexState
from gossamer.results import Facet, Facets, FacetValue
from gossamer.store import rows

SAMPLE: Final = 20_000
"""Documents that are counted, at most: 0.1 s with three fields."""

_FIELDS: Final = 20
"""Fields that are reported, those of the most documents."""

_LONGEST: Final = 100
"""Characters of a value; longer ones are texts and not values to choose from."""


def count_facets(state: IndexState, query: str | None, where: Where, within: int | None, k: int, most: int) -> Facets:
    """The values among all documents that match, or with a query among its k best answers; `most` of each field."""
    condition = None if where is None else parse(where)
    if query is None:
        return _of_documents(state, condition, within, most)
    return _of_answers(state, query, condition, within, k, most)


def _of_documents(state: IndexState, condition: Node | None, within: int | None, most: int) -> Facets:
    """The values among all documents that satisfy a filter and lie below a concept."""
    with state.reading() as db:
        view = state.view_of(db, within)
        if view is None:
            return Facets((), 0, 0)
        restriction = scope_of(view, condition, within).restriction
        if restriction is None:
            return _counted(db, np.unique(view.table.owners(view.table.all_passages())).tolist(), most)
        return _counted(db, view.table.owning(restriction.flags).tolist(), most)


def _of_answers(state: IndexState, query: str, condition: Node | None, within: int | None, k: int, most: int) -> Facets:
    """The values among the k best answers to a query."""
    with state.view_for_queries([query], None, within, as_weight(True)) as asked:
        if asked is None:
            return Facets((), 0, 0)
        view, (found,) = asked
        scope = scope_of(view, condition, within).limited_to(view, found.documents)
        if scope.is_empty:
            return Facets((), 0, 0)
        (ranking,) = rank(view, [found], k, scope)
        return _counted(view.db, [each.document for each in ranking.found[:k]], most)


def facets_of(state: IndexState, ids: Sequence[str], most: int) -> Facets:
    """The values among those of some documents that are there."""
    with state.reading() as db:
        return _counted(db, [row.document for row in rows.documents_by_id(db, ids).values()], most)


def _counted(db: sqlite3.Connection, numbers: Sequence[DocumentNumber], most: int) -> Facets:
    sampled = numbers
    if len(numbers) > SAMPLE:
        sampled = [numbers[int(at)] for at in np.linspace(0, len(numbers) - 1, SAMPLE)]
    fields: dict[str, list[FacetValue]] = {}
    for field, value, count in rows.count_values(db, sampled, _LONGEST):
        fields.setdefault(field, []).append(FacetValue(json.loads(value), count))
    found = [_facet(field, values, most) for field, values in fields.items()]
    found.sort(key=lambda facet: (-facet.count, facet.field))
    return Facets(tuple(found[:_FIELDS]), len(sampled), len(numbers))


def _facet(field: str, values: list[FacetValue], most: int) -> Facet:
    numbers = [
        each.value for each in values if isinstance(each.value, int | float) and not isinstance(each.value, bool)
    ]
    ordered = sorted(values, key=lambda each: (-each.count, str(each.value)))
    return Facet(
        field=field,
        values=tuple(ordered[:most]),
        distinct=len(values),
        count=sum(each.count for each in values),
        least=min(numbers, default=None),
        most=max(numbers, default=None),
    )
