r"""Metadata filters: what may be written in ``where=`` and what it means.

    {"year": {"$gte": 2020}, "lang": "en"}               several keys: all of them
    {"year": {"$gte": 2020, "$lt": 2023}}                several operators: all of them
    {"author.name": {"$in": ["Ada", "Grace"]}}           a dot goes into a nested object
    {"path": {"$startswith": "docs/"}}                   a part of a text: $contains, $startswith
    {"published": {"$gte": date(2024, 5, 1)}}            a date, a datetime, or either as ISO text
    {"$or": [{"tags": "tree"}, {"$not": {"draft": True}}]}

A filter is parsed into nodes (`parse`), which are evaluated over the columns of its fields (`evaluate`, `column`,
`texts`, `dates`); the tests compare that with a plain Python evaluation of the same nodes on random input. The meaning
follows MongoDB where that is what people expect:

* **Kinds never mix.** Text is compared with text, numbers with numbers, and a bool is not a number (True is
  not 1). A comparison across kinds does not match; it is no error, since metadata may differ by document. Where no
  value of a field is of the operand's kind (a year as text, say), a search warns.
* **Text** compares by code point, upper case before lower case; ``$contains`` and ``$startswith`` tell the two apart.
* **Dates** are texts in ISO form ("2024-05-01", "2024-05-01T12:30:00+02:00"). With $gt, $gte, $lt and $lte two of them
  compare by the moments they name, however they are written: a date is its midnight, and without a time zone UTC is
  meant. A date or datetime of Python stands for its moment, in every operator; a text is equal only to the same text.
* **Numbers** compare by value (1 equals 1.0). Whole numbers beyond 64 bits compare as floats. NaN and infinity are
  refused: JSON has neither.
* **A missing key** matches ``$ne``, ``$nin`` and ``$not``, which mean exactly "the rest does not match".
  ``$eq: None``, and None in ``$in``, match null and missing alike; ``$exists`` tells them apart.
* **A list** matches if any element does: {"tags": "tree"}, {"years": {"$gt": 2020}}. On the way to a nested
  key a list of objects is looked through the same way: {"authors.name": "Ada"}. Only one level of lists is
  looked into, and a whole list or object cannot be compared with another.
* **Keys**: a dot separates; ``\.`` is a dot in a name, ``\$`` a dollar at the beginning (where it would be
  an operator), ``\\`` a backslash before one of these. Anything else, quotes included, stands for itself.
* ``{}`` alone matches everything; an empty dict or list inside a filter is refused, since it is nearly
  always a slip (``$in: []`` is allowed: it matches nothing).
* **Size**: at most 256 conditions, 32 levels of nesting, 1,024 levels of all keys in sum, 1,000 characters of a key,
  100,000 of a text, 10,000 values of an ``$in``, and 1,000,000 characters of keys and values in sum. A larger filter is
  refused while it is parsed.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from gossamer.filters.column import Column, values_at
from gossamer.filters.dates import moment_of, read_moment
from gossamer.filters.evaluate import compared_fields, conditions, evaluate
from gossamer.filters.nodes import OPERATORS, Condition, Node, Path
from gossamer.filters.parse import as_key, as_path, parse

__all__ = [
    "OPERATORS", "Column", "Condition", "Node", "Path", "Where", "as_key", "as_path", "check_size", "compared_fields",
    "conditions", "evaluate", "moment_of", "parse", "read_moment", "values_at",
]  # fmt: skip

Where: TypeAlias = Mapping[str, Any] | None
"""A filter as users write it; None for every document."""


def check_size(where: Mapping[str, Any], *, conditions: int, characters: int) -> None:
    """Raise FilterError if a filter is wrong or exceeds the limits of the caller."""
    parse(where, conditions=conditions, characters=characters)
