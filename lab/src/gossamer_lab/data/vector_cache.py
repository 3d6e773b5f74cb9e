"""A cache of vectors in a file, so that a text is encoded once.

The key is a hash of the encoder's fingerprint, the kind and the text, so vectors of another model, or of one fitted
again, are never returned.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from gossamer.encoders import CallableEncoder, Encoder, Kind, Progress, encode_texts
from gossamer.errors import DiskError, ParameterError
from gossamer_lab.engine import Floats

_KEYS_PER_QUERY = 500
"""Keys in one SQL statement; SQLite accepts at least 999 parameters everywhere."""


class SqliteStore:
    """Vectors in a file that several processes may share; at most `most` of them, the oldest are deleted first."""

    def __init__(self, path: str | os.PathLike[str], *, most: int = 1_000_000) -> None:
        self._most = most
        try:
            self._db = sqlite3.connect(Path(path), timeout=30, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")  # what a power cut loses is encoded again
            # The age is the order of arrival, not of use: finding a vector must not cost a write.
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vectors "
                "(age INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB UNIQUE, vector BLOB)"
            )
        except sqlite3.Error as error:
            raise DiskError(
                f"{path} cannot be used as a cache of vectors ({error}): remove it or choose another"
            ) from error

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM vectors").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The vectors of those keys that are stored."""
        found: dict[bytes, Floats] = {}
        for start in range(0, len(keys), _KEYS_PER_QUERY):
            some = keys[start : start + _KEYS_PER_QUERY]
            marks = ",".join("?" * len(some))
            rows = self._db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some)
            found |= {bytes(key): np.frombuffer(vector, np.float32) for key, vector in rows}
        return found

    def put(self, vectors: Mapping[bytes, Floats]) -> None:
        """Store these, and delete old ones if there are too many."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)",
                [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()],
            )
            self._db.execute(
                "DELETE FROM vectors WHERE age IN (SELECT age FROM vectors ORDER BY age "
                "LIMIT max(0, (SELECT count(*) FROM vectors) - ?))",
                (self._most,),
            )


class CachedEncoder:
    """An encoder that encodes each text once and keeps its vector in `store`.

    It has no `fit`: an encoder that learns from the corpus must be fitted before it is wrapped.
    """

    def __init__(self, encoder: Encoder, store: SqliteStore) -> None:
        if isinstance(encoder, CallableEncoder) and not encoder.named:
            raise ParameterError(
                "a store that may be shared cannot tell one function's vectors from another's: "
                'name it, as in CallableEncoder(f, name="my-model-v1")'
            )
        self._encoder = encoder
        self._store = store

    @property
    def dim(self) -> int:
        """The length of the vectors of the wrapped encoder."""
        return self._encoder.dim

    @property
    def name(self) -> str:
        """The name of the wrapped encoder."""
        return self._encoder.name

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the wrapped encoder."""
        return self._encoder.fingerprint

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """The vectors of `texts`; only those that are not stored go to the wrapped encoder, each once."""
        keys = [hashlib.sha256(f"{self.fingerprint}\0{kind}\0{text}".encode()).digest() for text in texts]
        texts_by_key = dict(zip(keys, texts, strict=True))
        vectors = self._store.get(list(texts_by_key))
        missing = [key for key in texts_by_key if key not in vectors]
        if missing or not texts:
            fresh = encode_texts(self._encoder, [texts_by_key[key] for key in missing], kind=kind, progress=progress)
            new = dict(zip(missing, fresh, strict=True))
            self._store.put(new)
            vectors |= new
            if not texts:
                return fresh
        elif progress is not None:
            progress(len(texts), len(texts))
        return np.stack([vectors[key] for key in keys])
