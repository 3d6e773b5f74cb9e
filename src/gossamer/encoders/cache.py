"""Vectors remembered by the text they came from, so that a text is encoded once.

The key is a hash of the encoder's fingerprint, the kind and the text: another model, or a refitted
one, never meets the vectors of the old.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import positive
from gossamer.encoders.callable import CallableEncoder
from gossamer.encoders.protocol import Encoder, Kind, Progress, check_kind, check_texts
from gossamer.errors import DiskError, ParameterError

_MANY = 500
"""Keys asked for in one SQL statement; SQLite takes at least 999 parameters everywhere."""


class Store(Protocol):
    """Where the vectors are kept, with a bound on how many."""

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The vectors that are there; the others are left out."""

    def put(self, vectors: Mapping[bytes, Floats]) -> None:
        """Keep these, and forget old ones where there are too many."""


class MemoryStore:
    """Vectors kept for as long as the process lives."""

    def __init__(self, *, most: int = 100_000) -> None:
        self._most = positive(most, "most")
        self._kept: OrderedDict[bytes, Floats] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The vectors that are there."""
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        return found

    def put(self, vectors: Mapping[bytes, Floats]) -> None:
        """Keep these; the longest unused go."""
        with self._lock:
            for key, vector in vectors.items():
                self._kept[key] = vector.copy()
                self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


class SqliteStore:
    """Vectors kept in a file that several processes may share."""

    def __init__(self, path: str | os.PathLike[str], *, most: int = 1_000_000) -> None:
        self._most = positive(most, "most")
        self._lock = Lock()
        try:
            self._db = sqlite3.connect(Path(path), check_same_thread=False, timeout=30, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")  # what a power cut takes is encoded again
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
        with self._lock:
            return int(self._db.execute("SELECT count(*) FROM vectors").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The vectors that are there."""
        found: dict[bytes, Floats] = {}
        with self._lock:
            for start in range(0, len(keys), _MANY):
                some = keys[start : start + _MANY]
                marks = ",".join("?" * len(some))
                rows = self._db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some)
                found |= {bytes(key): np.frombuffer(vector, np.float32) for key, vector in rows}
        return found

    def put(self, vectors: Mapping[bytes, Floats]) -> None:
        """Keep these; the longest kept go."""
        with self._lock, self._db:
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
    """An encoder that encodes each text once and remembers it in `store`.

    Made for encoders that are slow or cost money. It has no `fit`: an encoder that learns from the
    corpus is fitted before it is wrapped.
    """

    def __init__(self, encoder: Encoder, store: Store | None = None) -> None:
        if store is not None and isinstance(encoder, CallableEncoder) and not encoder.named:
            raise ParameterError(
                "a store that may be shared cannot tell one function's vectors from another's: "
                'name it, as in CallableEncoder(f, name="my-model-v1")'
            )
        self._encoder = encoder
        self._store = store if store is not None else MemoryStore()

    @property
    def dim(self) -> int:
        """As of the encoder inside."""
        return self._encoder.dim

    @property
    def name(self) -> str:
        """As of the encoder inside: the vectors are its own."""
        return self._encoder.name

    @property
    def fingerprint(self) -> str:
        """As of the encoder inside."""
        return self._encoder.fingerprint

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """The vectors of `texts`; only those not seen before, each once, go to the encoder inside."""
        rows = check_texts(texts)
        check_kind(kind)
        keys = [self._key(text, kind) for text in rows]
        texts_by_key = dict(zip(keys, rows, strict=True))
        vectors = self._store.get(list(texts_by_key))
        missing = [key for key in texts_by_key if key not in vectors]
        if missing or not rows:
            fresh = self._encoder.encode([texts_by_key[key] for key in missing], kind=kind, progress=progress)
            new = dict(zip(missing, fresh, strict=True))
            self._store.put(new)
            vectors |= new
            if not rows:
                return fresh
        elif progress is not None:
            progress(len(rows), len(rows))
        return np.stack([vectors[key] for key in keys])

    def _key(self, text: str, kind: Kind) -> bytes:
        return hashlib.sha256(f"{self.fingerprint}\0{kind}\0{text}".encode()).digest()
