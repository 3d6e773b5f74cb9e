"""Checks of input, made once where it comes in: vectors, parameters, and the limits of documents.

`as_vectors` returns clean float32, which needs no further check. The limits of a document ensure that whatever is
stored can be filtered, read and sent:

id         1,000 characters
text       16,777,216 characters (2**24)
metadata   1,000,000 characters of JSON, 64 levels deep, with keys of up to 1,000 characters and integers of 64 bits;
           no NUL character, at which SQLite's JSON functions cut a text
"""

import json
import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from gossamer.array_types import Floats
from gossamer.errors import DimensionError, DtypeError, InputError, NotFiniteError, ParameterError
from gossamer.plain_text import shortened

LARGEST = 1e17
"""The largest allowed magnitude of a value: squares summed over 4,096 dimensions must stay within float32's range."""

_LARGEST_SQUARE = np.float32(LARGEST) ** 2 / 2
_ZERO = np.float32(0.0)
_NEGATIVE_ZERO = np.float32(-0.0).view(np.uint32)
_AT_ONCE = 1 << 20
"""Values that are looked at together."""


def as_vectors(values: Any, dim: int | None = None, *, what: str = "vectors", copy: bool = True) -> Floats:
    """`values` as a C-contiguous float32 matrix without -0.0; a single vector becomes one row.

    Without `copy`, the array itself is returned where it is such a matrix already.

    The error names the problem: the type of the values, their shape, their dimension, or the first row with NaN,
    infinity or a value that is too large.
    """
    if isinstance(values, np.ndarray) and values.dtype == np.float32 and values.flags.c_contiguous:
        # The common case takes a tenth of the time: a small sum of squares has no NaN, infinity or too large value.
        rows = values[None, :] if values.ndim == 1 else values
        if rows.ndim == 2 and rows.shape[1] == dim and np.vdot(rows, rows) < _LARGEST_SQUARE:
            plain: Floats = rows if not copy and not _has_negative_zeros(rows) else rows + _ZERO
            return plain
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DimensionError(f"{what} must be a matrix, but the rows differ in length ({error})") from error
    if array.dtype.kind not in "fiu":
        raise DtypeError(
            f"{what} must be real numbers (float or int), got dtype {array.dtype}: convert them with .astype('float32')"
        )
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2:
        raise DimensionError(
            f"{what} must be a matrix (rows × dimensions), got {array.ndim} axes of shape {array.shape}"
        )
    if dim is not None and array.shape[1] != dim:
        raise DimensionError(
            f"{what} have {array.shape[1]} dimensions, but {dim} are expected: use the model the index was built with"
        )
    if array.shape[1] == 0:
        raise DimensionError(f"{what} have 0 dimensions; at least 1 is needed")
    _check_magnitudes(array, what)
    # Adding zero turns -0.0 into 0.0, so that equal vectors have equal bytes.
    return np.ascontiguousarray(array, dtype=np.float32) + _ZERO


def _has_negative_zeros(rows: Floats) -> bool:
    """Whether -0.0 occurs in a C-contiguous matrix."""
    bits = rows.reshape(-1).view(np.uint32)
    parts = (bits[first : first + _AT_ONCE] for first in range(0, len(bits), _AT_ONCE))
    return any(bool((part == _NEGATIVE_ZERO).any()) for part in parts)


def _check_magnitudes(array: Any, what: str) -> None:
    """Raise for the first row with NaN, infinity or a value above LARGEST, before the cast to float32 can overflow."""
    with np.errstate(invalid="ignore", over="ignore"):
        worst = np.abs(array).max(axis=1) if array.size else np.zeros(len(array))
        fine = worst <= LARGEST
    if fine.all():
        return
    row = int(np.argmin(fine))
    if np.isfinite(worst[row]):
        raise InputError(
            f"{what}: row {row} holds {worst[row]:.3g}, and values above {LARGEST:g} cannot be used: rescale them"
        )
    raise NotFiniteError(f"{what}: row {row} holds NaN or infinity: remove or repair that row")


def positive(value: Any, name: str) -> int:
    """`value` as an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
    if value < 1:
        raise ParameterError(f"{name} must be at least 1, got {value}")
    return int(value)


def true_or_false(value: Any, name: str) -> bool:
    """`value` as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def as_place(path: Any) -> str:
    """`path` as a string, for a file or folder."""
    try:
        place = os.fspath(path)
    except TypeError:
        place = None
    if not isinstance(place, str):
        raise DtypeError(
            f"a path is a string or a pathlib.Path, got {type(path).__name__}: pass 'notes.gsm', for example"
        )
    return place


def as_timeout(value: Any) -> float:
    """`value` as a number of seconds to wait; infinity waits for ever."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value >= 0:
        raise ParameterError(f"timeout must be a number of seconds of at least 0, got {value!r}")
    return float(value)


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)


LONGEST_ID = 1_000
LONGEST_TEXT = 2**24
LONGEST_METADATA = 1_000_000
LONGEST_KEY = 1_000
"""Limits of a document, in characters; of the metadata, in characters of JSON."""

DEEPEST_METADATA = 64
"""The most levels of dicts and lists, the metadata itself included."""

_SUSPECT = re.compile(r"\\u0000|[0-9]{19}")
"""JSON text that may contain a NUL or an integer of more than 64 bits."""


class Problem(NamedTuple):
    """What is wrong, in words that follow "document 3", and the cure."""

    what: str
    cure: str


TOO_DEEP = Problem(f"has metadata nested more than {DEEPEST_METADATA} levels deep", "make them flatter")


def id_problem(id: str) -> Problem | None:
    """The problem with an id that is too long."""
    if len(id) <= LONGEST_ID:
        return None
    return Problem(f"has an id of {len(id):,} characters (at most {LONGEST_ID:,})", "give it a shorter one")


def text_problem(text: str) -> Problem | None:
    """The problem with a text that is too long."""
    if len(text) <= LONGEST_TEXT:
        return None
    return Problem(f"has a text of {len(text):,} characters (at most {LONGEST_TEXT:,})", "split it into several")


def metadata_problem(text: str) -> Problem | None:
    """The first problem with metadata, given as JSON text."""
    if len(text) > LONGEST_METADATA:
        what = f"has metadata of {len(text):,} characters of JSON (at most {LONGEST_METADATA:,})"
        return Problem(what, "leave out or shorten the longest values")
    if len(text) <= LONGEST_KEY and text.count("{") + text.count("[") <= DEEPEST_METADATA and not _SUSPECT.search(text):
        return None  # nearly all metadata: takes a microsecond
    try:
        level = [json.loads(text)]
    except RecursionError:
        return TOO_DEEP
    for _ in range(DEEPEST_METADATA):
        keys = [key for each in level if isinstance(each, dict) for key in each]
        values = [value for each in level for value in (each.values() if isinstance(each, dict) else each)]
        level = [value for value in values if isinstance(value, dict | list)]
        problem = _key_problem(keys) or _value_problem(values)
        if problem is not None or not level:
            return problem
    return TOO_DEEP


def _key_problem(keys: Iterable[str]) -> Problem | None:
    for key in keys:
        if len(key) > LONGEST_KEY:
            return Problem(f"has a metadata key of {len(key):,} characters (at most {LONGEST_KEY:,})", "shorten it")
        if "\0" in key:
            return Problem(f"has a NUL character in the metadata key {key!r}, which cannot be searched", "take it out")
    return None


def _value_problem(values: Iterable[Any]) -> Problem | None:
    for value in values:
        if isinstance(value, str) and "\0" in value:
            what = f"has a NUL character in the metadata value {shortened(value, 40)!r}, which cannot be searched"
            return Problem(what, "take it out")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            what = f"has the number {shortened(str(value), 25)} in its metadata, beyond -2**63 to 2**63 - 1"
            return Problem(what, "write it as text or as a float")
    return None
