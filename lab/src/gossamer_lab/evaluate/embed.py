"""A collection as vectors: from ready files where there are some, else by an encoder, each text once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.array_types import Floats
from gossamer.encoders import CachedEncoder, Encoder, Kind, Progress, SqliteStore, is_fitted_encoder, load_encoder
from gossamer.errors import InputError
from gossamer_lab.bench.data import load_file
from gossamer_lab.evaluate.collection import Collection, Rows
from gossamer_lab.evaluate.places import found_folder, kept

_AT_ONCE: Final = 512
"""Texts encoded between two writes: what Ctrl-C loses."""


@dataclass(frozen=True)
class Embedded:
    """A collection with a vector for each document and each query."""

    collection: Collection
    model: str
    E: Floats
    Q: Floats

    def __post_init__(self) -> None:
        """Check that there is one for each."""
        for what, vectors, texts in (
            ("documents", self.E, self.collection.texts), ("queries", self.Q, self.collection.queries),
        ):  # fmt: skip
            if len(vectors) != len(texts):
                raise InputError(f"{len(vectors)} vectors for {len(texts)} {what}: give one for each")
        if self.E.shape[1] != self.Q.shape[1]:
            raise InputError(f"documents have {self.E.shape[1]} dimensions and queries {self.Q.shape[1]}")

    @cached_property
    def fingerprint(self) -> str:
        """Equal for the same vectors."""
        digest = hashlib.blake2b(digest_size=16)
        for vectors in (self.E, self.Q):
            digest.update(repr(vectors.shape).encode())
            digest.update(np.ascontiguousarray(vectors).data)
        return digest.hexdigest()

    def asked(self, which: Sequence[int] | Rows) -> Embedded:
        """The same documents with some of the queries."""
        return replace(self, collection=self.collection.asked(which), Q=self.Q[np.asarray(which, np.int64)])


def embed(
    collection: Collection,
    model: str = "minilm",
    *,
    folder: Path | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Embedded:
    """The vectors of `model`: an encoder's name, or that of ready files ``<set>-<model>-corpus.npy``."""
    ready = _ready(collection, model, found_folder(folder))
    if ready is not None:
        return Embedded(collection, model, *ready)
    encoder = load_encoder(model)
    if is_fitted_encoder(encoder):
        encoder.fit(collection.texts)
        E, Q = encoder.encode(collection.texts, progress=progress), encoder.encode(collection.queries, kind="query")
        return Embedded(collection, model, E, Q)
    store = SqliteStore(kept(cache) / "vectors.sqlite")
    try:
        cached = CachedEncoder(encoder, store)
        Q = _encode(cached, collection.queries, "query", None)
        return Embedded(collection, model, _encode(cached, collection.texts, "document", progress), Q)
    finally:
        store.close()


def from_files(collection: Collection, documents: Path, queries: Path) -> Embedded:
    """Vectors from two .npy files, a row for each document and query in the collection's order."""
    return Embedded(collection, documents.stem, load_file(documents), load_file(queries))


def ready_models(source: str, folder: Path | None = None) -> list[str]:
    """The models of which ready vectors of a collection lie in the folder of data."""
    root = found_folder(folder)
    files = [] if root is None or not source else sorted((root / "embeddings").glob(f"{source}-*-corpus.npy"))
    return [file.name.removeprefix(f"{source}-").removesuffix("-corpus.npy") for file in files]


def _ready(collection: Collection, model: str, root: Path | None) -> tuple[Floats, Floats] | None:
    if (
        root is None
        or not collection.source
        or collection.rows is None
        or collection.query_rows is None
        or "/" in model
        or ":" in model
    ):
        return None
    files = [root / "embeddings" / f"{collection.source}-{model}-{what}.npy" for what in ("corpus", "queries")]
    if not all(file.is_file() for file in files):
        return None
    found = []
    for file, rows in zip(files, (collection.rows, collection.query_rows), strict=True):
        vectors = load_file(file)
        if len(vectors) <= rows.max():
            raise InputError(f"{file} holds {len(vectors):,} vectors, and row {rows.max():,} is needed: ask for fewer")
        found.append(vectors[rows])
    return found[0], found[1]


def _encode(encoder: Encoder, texts: Sequence[str], kind: Kind, progress: Progress | None) -> Floats:
    parts = []
    for start in range(0, len(texts), _AT_ONCE):
        parts.append(encoder.encode(texts[start : start + _AT_ONCE], kind=kind))
        if progress is not None:
            progress(min(start + _AT_ONCE, len(texts)), len(texts))
    return np.concatenate(parts)
