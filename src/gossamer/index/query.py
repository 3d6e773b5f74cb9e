"""What a question to an index may be: its parts checked, once, and brought into the form the ranking takes."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy.typing as npt

from gossamer.encoders import check_texts
from gossamer.errors import DtypeError, ParameterError
from gossamer.index.fusion import WEIGHT, Scope, normalised
from gossamer.lexical.fulltext import bm25, query_words
from gossamer.store import rows
from gossamer.vector_index.vector_index import VectorIndex


def scope_of(
    db: sqlite3.Connection, vectors: VectorIndex, condition: tuple[str, list[Any]] | None, within: int | None
) -> Scope:
    """The passages that a filter and a concept leave."""
    if condition is None and within is None:
        return Scope()
    below = None if within is None else [int(id) for id in vectors.documents_below(as_concept(vectors, within))]
    if condition is None:
        assert below is not None
        return Scope(rows.owners_of(db, below), within)
    numbers = rows.numbers_where(db, *condition)
    owners = rows.owned_by(db, numbers)
    if below is not None:
        owners = {passage: owners[passage] for passage in below if passage in owners}
    return Scope(owners)


def as_concept(vectors: VectorIndex, id: int) -> int:
    """A node of the tree."""
    if isinstance(id, bool) or not isinstance(id, int):
        raise DtypeError(f"a concept's id is a whole number, as found in a hit's path, got {id!r}")
    return vectors.tree.node(id).id


def lexical_scores(db: sqlite3.Connection, query: str | None, weight: float) -> dict[int, float]:
    """What the words of a query add to the scores of the documents that hold them."""
    words = query_words(query) if query and weight else []
    return normalised(bm25(db, words, rows.count_documents(db)), weight) if words else {}


def as_weight(hybrid: bool | float) -> float:
    """How much words count."""
    if isinstance(hybrid, bool):
        return WEIGHT if hybrid else 0.0
    if not isinstance(hybrid, int | float) or not 0.0 <= hybrid < float("inf"):
        raise ParameterError(f"hybrid must be True, False or a weight of at least 0, got {hybrid!r}")
    return float(hybrid)


def check_confidence(least: float) -> None:
    """A share, or an error."""
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0.0 <= least <= 1.0:
        raise ParameterError(f"min_confidence must be between 0 and 1, got {least!r}")


def check_depth(depth: int | None) -> None:
    """Levels of the tree, or None for all of them."""
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise ParameterError(f"depth must be a whole number of at least 0, or None for all, got {depth!r}")


def check_query(query: str | None, vector: npt.ArrayLike | None) -> None:
    """A text or a vector, or an error."""
    if query is not None:
        if not isinstance(query, str):
            raise DtypeError(f"query must be a string, got {type(query).__name__}: to search by a vector, pass vector=")
        check_texts([query], what="query")
    elif vector is None:
        raise ParameterError("there is nothing to search for: pass a query, a vector, or both")
