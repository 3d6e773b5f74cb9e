"""Filters of Haystack → filters of an index, or a function where an index has no words for them.

    {"field": "meta.year", "operator": ">=", "value": 2020}                      {"year": {"$gte": 2020}}
    {"operator": "NOT", "conditions": [a, b]}                                    {"$not": {"$and": [a, b]}}
    {"field": "content", "operator": "==", "value": "a text"}                    a function, which reads every document

They mean the same, but for lists: a list in the metadata matches if one of its elements does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, datetime
from typing import Any, Final

from haystack.dataclasses import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from gossamer.results import Document as Stored

_FIELDS: Final = {field.name for field in fields(Document)}
_ORDER: Final = {">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}
_ISO_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d([Tt ].*)?")


class _InexpressibleError(Exception):
    """An index has no words for a filter."""


def as_where(
    filters: Mapping[str, Any] | None, as_document: Callable[[Stored], Document]
) -> Mapping[str, Any] | Callable[[Stored], bool] | None:
    """What `Index.search` takes as `where`. `FilterError` (Haystack's) for a filter that is wrong."""
    if not filters:
        return None
    try:
        return _translated(filters)
    except _InexpressibleError:
        wanted = dict(filters)
        return lambda stored: document_matches_filter(wanted, as_document(stored))


def _translated(condition: Any) -> dict[str, Any]:
    if not isinstance(condition, Mapping) or "operator" not in condition:
        raise FilterError(f"'operator' is missing in {condition}")
    return _comparison(condition) if "field" in condition else _logic(condition)


def _logic(condition: Mapping[str, Any]) -> dict[str, Any]:
    if "conditions" not in condition:
        raise FilterError(f"'conditions' is missing in {condition}")
    parts = [_translated(part) for part in condition["conditions"]]
    if not parts:
        raise _InexpressibleError
    match condition["operator"]:
        case "AND":
            return {"$and": parts}
        case "OR":
            return {"$or": parts}
        case "NOT":
            return {"$not": {"$and": parts}}
    raise FilterError(f"{condition['operator']!r} is no logical operator: AND, OR, NOT")


def _comparison(condition: Mapping[str, Any]) -> dict[str, Any]:
    if "value" not in condition:
        raise FilterError(f"'value' is missing in {condition}")
    operator, value = condition["operator"], condition["value"]
    if operator in ("==", "!="):
        equal = _equal(value)
        return {_key(condition["field"]): equal if operator == "==" else {"$not": equal}}
    if operator in _ORDER:
        return {_key(condition["field"]): {"$in": []} if value is None else {_ORDER[operator]: _ordered(value)}}
    if operator in ("in", "not in"):
        if not isinstance(value, list):
            raise FilterError(f"{operator!r} takes a list, got {value!r}")
        either = [{_key(condition["field"]): _equal(each)} for each in value]
        found: dict[str, Any] = {"$or": either} if either else {_key(condition["field"]): {"$in": []}}
        return found if operator == "in" else {"$not": found}
    raise FilterError(f"{operator!r} is no comparison: ==, !=, >, >=, <, <=, in, not in")


def _key(field: str) -> str:
    """The key of a metadata field. Other fields of a document, and names that would need escapes, have none."""
    name = field.removeprefix("meta.")
    if (name == field and (field in _FIELDS or "." in field)) or "\\" in name or name.startswith("$"):
        raise _InexpressibleError
    return name


def _equal(value: Any) -> dict[str, Any]:
    """Dates are equal where they name the same moment, however they are written."""
    if isinstance(value, date) or (isinstance(value, str) and _ISO_DATE.fullmatch(value)):
        return {"$gte": value, "$lte": value}
    if value is not None and not isinstance(value, str | int | float):
        raise _InexpressibleError
    return {"$eq": value}


def _ordered(value: Any) -> Any:
    """A number or a date, which have an order."""
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError as error:
            raise FilterError(f"{value!r} has no order: compare numbers, or dates in ISO form") from error
    elif isinstance(value, bool) or not isinstance(value, int | float | date):
        raise FilterError(f"a {type(value).__name__} has no order: compare numbers, or dates in ISO form")
    return value
