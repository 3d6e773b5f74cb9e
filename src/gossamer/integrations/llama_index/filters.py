"""Metadata filters of LlamaIndex → filters of an index, or a function where an index has no words for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from gossamer.results import Document

_OPERATORS: Final = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.ANY: "$in",  # a list matches if one of its elements does
    FilterOperator.CONTAINS: "$eq",
    FilterOperator.TEXT_MATCH: "$contains",
}


def as_where(filters: MetadataFilters | None) -> Mapping[str, Any] | Callable[[Document], bool] | None:
    """What `Index.search` takes as `where`.

    `is_empty` and `text_match_insensitive` are left to LlamaIndex's own function, for which every document is read.
    """
    if filters is None or not filters.filters:
        return None
    found = _translated(filters)
    return (lambda document: _matches(filters, document.metadata)) if found is None else found


def _translated(filters: MetadataFilters) -> dict[str, Any] | None:
    """The filter of an index; None where it has no words for a part of it."""
    parts = [_translated(each) if isinstance(each, MetadataFilters) else _condition(each) for each in filters.filters]
    conditions = [part for part in parts if part is not None]
    if not conditions or len(conditions) < len(parts):
        return None
    if filters.condition == FilterCondition.NOT:
        return {"$not": {"$or": conditions}}
    return {"$or" if filters.condition == FilterCondition.OR else "$and": conditions}


def _condition(filter: MetadataFilter) -> dict[str, Any] | None:
    if filter.operator == FilterOperator.ALL and isinstance(filter.value, list) and filter.value:
        return {"$and": [{filter.key: value} for value in filter.value]}
    operator = _OPERATORS.get(filter.operator)
    return None if operator is None else {filter.key: {operator: filter.value}}


def _matches(filters: MetadataFilters, metadata: Mapping[str, Any]) -> bool:
    """Whether metadata match, by LlamaIndex's function for a single condition."""
    found = (
        _matches(each, metadata)
        if isinstance(each, MetadataFilters)
        else build_metadata_filter_fn(lambda _: metadata, MetadataFilters(filters=[each]))("")
        for each in filters.filters
    )
    if filters.condition == FilterCondition.NOT:
        return not any(found)
    return any(found) if filters.condition == FilterCondition.OR else all(found)
