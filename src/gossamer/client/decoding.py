"""JSON → dataclasses, by the types of their fields."""

import types
from collections.abc import Callable, Hashable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from gossamer.errors import ServiceError

_T = TypeVar("_T")
_Read = Callable[[Any], Any]


def decode(kind: type[_T], value: Any) -> _T:
    """`value` as a `kind`. Unknown fields are ignored: a newer server may send more."""
    try:
        reader: _Read = _reader(cast("Hashable", kind))
        found: _T = reader(value)
    except (KeyError, TypeError, AttributeError) as error:
        raise ServiceError(
            f"the server's answer is no {kind.__name__} ({error!r}): do both run the same version of Gossamer?"
        ) from error
    return found


@cache
def _reader(kind: Any) -> _Read:
    """A function that reads a value of this type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _dataclass_reader(kind)
    if origin is tuple:
        inner = _reader(arguments[0])
        return lambda value: tuple(map(inner, value))
    if origin is list:
        inner = _reader(arguments[0])
        return lambda value: list(map(inner, value))
    others = [each for each in arguments if each is not type(None)]
    if origin in (Union, types.UnionType) and len(others) == 1:
        inner = _reader(others[0])
        return lambda value: None if value is None else inner(value)
    return lambda value: value


def _dataclass_reader(kind: type) -> _Read:
    hints = get_type_hints(kind)
    needed = [(field.name, _reader(hints[field.name])) for field in fields(kind) if field.default is MISSING]
    optional = [(field.name, _reader(hints[field.name])) for field in fields(kind) if field.default is not MISSING]

    def read(value: dict[str, Any]) -> Any:
        given = {name: inner(value[name]) for name, inner in needed}
        given.update((name, inner(value[name])) for name, inner in optional if name in value)
        return kind(**given)

    return read
