"""Documents with their vectors, as they travel between an index and another store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.errors import InputError
from gossamer.index import Index
from gossamer.results import Passage

_AT_ONCE: Final = 50_000
"""Documents that are added, or read, at a time: a large batch is agglomerated as a whole."""


class Rows(NamedTuple):
    """Some documents; a text that is None or empty is left out when they are taken over."""

    ids: list[str]
    texts: list[str | None]
    vectors: npt.NDArray[np.float32] | None
    """A row for each; None where they come with `passages`."""
    metadata: list[dict[str, Any]]
    passages: list[list[Passage]] | None = None
    """The passages of each, from an index."""


class TakenOver(NamedTuple):
    """What `take_over` did."""

    documents: int
    without_text: int
    """Documents that were left out because they have no text."""


def take_over(
    index: Index, source: Iterable[Rows], *, progress: Callable[[int, int | None], None] | None = None
) -> TakenOver:
    """Add documents with the vectors they have; an id that is there already is replaced.

    The index has the encoder that made the vectors, since queries are encoded by it. Vectors of another dimension are
    a `DimensionError`. All rows are read before the first is added, up to 50,000 of them.
    """
    waiting: list[Rows] = []
    documents = without_text = 0
    for rows in source:
        there = [at for at, text in enumerate(rows.texts) if text and not text.isspace()]
        without_text += len(rows.texts) - len(there)
        waiting.append(rows if len(there) == len(rows.texts) else _some_of(rows, there))
        documents += len(there)
        if sum(len(each.ids) for each in waiting) >= _AT_ONCE:
            _add(index, waiting)
            waiting = []
        if progress is not None:
            progress(documents, None)
    _add(index, waiting)
    return TakenOver(documents, without_text)


def _some_of(rows: Rows, places: list[int]) -> Rows:
    def some(column: list[Any]) -> list[Any]:
        return [column[at] for at in places]

    vectors = None if rows.vectors is None else rows.vectors[places]
    passages = None if rows.passages is None else some(rows.passages)
    return Rows(some(rows.ids), some(rows.texts), vectors, some(rows.metadata), passages)


def _add(index: Index, waiting: list[Rows]) -> None:
    some = [rows for rows in waiting if rows.ids]
    if some:
        vectors = [rows.vectors for rows in some if rows.vectors is not None]
        index.add(
            [text or "" for rows in some for text in rows.texts],
            [id for rows in some for id in rows.ids],
            [metadata for rows in some for metadata in rows.metadata],
            vectors=np.concatenate(vectors) if vectors else None,
            passages=None if vectors else [parts for rows in some for parts in rows.passages or ()],
        )


def as_matrix(vectors: Any, where: str) -> npt.NDArray[np.float32]:
    """Vectors of equal length as a matrix."""
    try:
        matrix: npt.NDArray[np.float32] = np.asarray(vectors, np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} has no vectors of one length: fill those that are missing, or drop them") from error
    if matrix.ndim != 2:
        raise InputError(f"{where} has an array of shape {matrix.shape} in place of vectors: name the right column")
    return matrix


def the_one(name: str | None, there: Sequence[str], kind: str, where: object) -> str:
    """`name`, or the name of the only collection or table there is."""
    if name is None and len(there) == 1:
        return there[0]
    if name is None or name not in there:
        problem = f"no {kind} {name!r}" if name is not None else f"several {kind}s" if there else f"no {kind}"
        raise InputError(f"{where} has {problem}: choose among {', '.join(map(repr, there)) or 'none'}")
    return name
