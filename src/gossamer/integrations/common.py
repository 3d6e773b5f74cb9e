"""What adapters share: the index behind a store, searches by words alone, concepts of an answer, optional libraries."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gossamer.errors import MissingExtraError, StateError, UnknownEncoderError
from gossamer.index import EncoderSpec, Index
from gossamer.results import Hit

BY_WORDS: Final = 1e6
"""A weight of BM25 (`hybrid` of `Index.search`) beside which the cosine decides ties alone."""


def no_encoder(texts: list[str]) -> Any:
    """The encoder of an index whose vectors are all given by its framework."""
    raise StateError("this index has no encoder: give a vector, or make the index with the encoder its vectors are of")


def open_or_create(
    path: str | os.PathLike[str] | None,
    encoder: EncoderSpec | None,
    *,
    without: Callable[[list[str]], Any] = no_encoder,
    max_tokens: int | None = None,
) -> Index:
    """The index at `path`, made if there is none; without a path a new one in memory.

    Where no encoder is named, an index that is there has its own, and in a new one `without` takes its place.
    `max_tokens`: the length of passages in a new index; None never splits.
    """
    if path is None:
        return Index(without if encoder is None else encoder, max_tokens=max_tokens)
    if not Path(path).exists():
        return Index.create(path, without if encoder is None else encoder, max_tokens=max_tokens)
    try:
        return Index.open(path, encoder)
    except UnknownEncoderError:  # it was made with a function, which has no name to be loaded by
        if encoder is not None:
            raise
        return Index.open(path, without)


def concepts_of(hit: Hit) -> list[str]:
    """The labels of the concepts that an answer lies in, from the root down; the document itself is left out."""
    return [concept.label for concept in hit.path[:-1]]


def library(module: str, feature: str, extra: str) -> Any:
    """An optional library; `MissingExtraError` names the extra where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
