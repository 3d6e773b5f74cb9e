"""A collection with its vectors: from ready files if there are some, else by an encoder, each text once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.encoders import Encoder, Kind, Progress, is_fitted_encoder, load_encoder
from gossamer.errors import GossamerError, InputError
from gossamer_lab.data.collection import Collection
from gossamer_lab.data.files import found_folder, kept, load_vectors
from gossamer_lab.data.vector_cache import CachedEncoder, SqliteStore
from gossamer_lab.engine import Floats, Longs

Say = Callable[[str, int, int], None]
"""Called with what is being done, the steps done, and all steps (0 if unknown)."""

_AT_ONCE: Final = 512
"""Texts encoded between two writes to the cache: what Ctrl-C loses."""


def silent(what: str, done: int, total: int) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class Embedded:
    """A collection with a vector for each document (E) and each query (Q)."""

    collection: Collection
    model: str
    E: Floats
    Q: Floats

    def __post_init__(self) -> None:
        """Check the number of vectors and their dimensions."""
        for what, vectors, texts in (
            ("documents", self.E, self.collection.texts), ("queries", self.Q, self.collection.queries),
        ):  # fmt: skip
            if len(vectors) != len(texts):
                raise InputError(f"{len(vectors)} vectors for {len(texts)} {what}: give one for each")
        if self.E.shape[1] != self.Q.shape[1]:
            raise InputError(f"documents have {self.E.shape[1]} dimensions and queries {self.Q.shape[1]}")

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all vectors."""
        digest = hashlib.blake2b(digest_size=16)
        for vectors in (self.E, self.Q):
            digest.update(repr(vectors.shape).encode())
            digest.update(np.ascontiguousarray(vectors).data)
        return digest.hexdigest()

    def with_queries(self, which: Sequence[int] | Longs) -> Embedded:
        """All documents, and some of the queries."""
        return replace(self, collection=self.collection.with_queries(which), Q=self.Q[np.asarray(which, np.int64)])


def embed(
    collection: Collection,
    model: str = "minilm",
    *,
    folder: Path | None = None,
    vectors: Path | None = None,
    cache: Path | None = None,
    say: Say = silent,
) -> Embedded:
    """The vectors of `model`: ready ones in ``<source>-<model>-corpus.npy``, or those of the encoder of that name.

    Ready vectors are looked for in the folder `vectors`, then in `embeddings/` of the data folder.
    """
    for place in _places(folder, vectors):
        ready = _ready(collection, model, place)
        if ready is not None:
            return Embedded(collection, model, *ready)
    E, Q = encode(model, collection.texts, collection.queries, cache=cache, say=say)
    return Embedded(collection, model, E, Q)


def encode(
    model: str, texts: Sequence[str], queries: Sequence[str] = (), *, cache: Path | None, say: Say
) -> tuple[Floats, Floats]:
    """Vectors of texts and queries by an encoder, kept by content in the cache."""
    encoder = load_encoder(model)

    def progress(done: int, total: int) -> None:
        say(f"encoding with {model}", done, total)

    if is_fitted_encoder(encoder):
        encoder.fit(texts)
        return encoder.encode(texts, progress=progress), encoder.encode(queries, kind="query")
    store = SqliteStore(kept(cache) / "vectors.sqlite")
    try:
        cached = CachedEncoder(encoder, store)
        Q = _encode(cached, queries, "query", None)
        return _encode(cached, texts, "document", progress), Q
    finally:
        store.close()


def _encode(encoder: Encoder, texts: Sequence[str], kind: Kind, progress: Progress | None) -> Floats:
    parts = []
    for start in range(0, len(texts), _AT_ONCE):
        parts.append(encoder.encode(texts[start : start + _AT_ONCE], kind=kind))
        if progress is not None:
            progress(min(start + _AT_ONCE, len(texts)), len(texts))
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)


def is_encoder(model: str) -> bool:
    """Whether texts can be encoded by this name; others name ready vectors alone."""
    try:
        load_encoder(model)
    except GossamerError:
        return any(sign in model for sign in "/:")
    return True


def ready_models(source: str, folder: Path | None = None, vectors: Path | None = None) -> list[str]:
    """The models of which ready vectors of a collection are at hand."""
    files = [file for place in _places(folder, vectors) for file in sorted(place.glob(f"{source}-*-corpus.npy"))]
    return list(dict.fromkeys(file.name.removeprefix(f"{source}-").removesuffix("-corpus.npy") for file in files))


def _places(folder: Path | None, vectors: Path | None) -> list[Path]:
    """The folders of ready vectors."""
    root = found_folder(folder)
    return [*([] if vectors is None else [vectors]), *([] if root is None else [root / "embeddings"])]


def _ready(collection: Collection, model: str, place: Path) -> tuple[Floats, Floats] | None:
    if not collection.source or collection.rows is None or collection.query_rows is None:
        return None
    files = [place / f"{collection.source}-{model}-{what}.npy" for what in ("corpus", "queries")]
    if any(sign in model for sign in "/:") or not all(file.is_file() for file in files):
        return None
    found = []
    for file, rows in zip(files, (collection.rows, collection.query_rows), strict=True):
        vectors = load_vectors(file)
        if len(vectors) <= rows.max():
            raise InputError(f"{file} holds {len(vectors):,} vectors, and row {rows.max():,} is needed: ask for fewer")
        found.append(vectors[rows])
    return found[0], found[1]
