"""Vectors of texts, kept in a file of their own while an index is given another encoder.

Each batch is committed, so that a run that was stopped or killed goes on where it ended. Texts are told by their
SHA-256.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from gossamer.array_types import Floats
from gossamer.errors import CorruptError
from gossamer.store.database import translated

_AT_ONCE = 500
"""Rows that one statement looks up."""


class EncodedTexts:
    """The vectors that one encoder made, in the file `path`, or in memory where that is None."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._where = "memory" if path is None else str(path)
        with translated(self._where):
            self._db = sqlite3.connect(":memory:" if path is None else path, check_same_thread=False)
            self._db.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def close(self) -> None:
        """Close the file; what is in it stays."""
        self._db.close()

    def remove(self) -> None:
        """Close and delete the file."""
        self.close()
        if self._path is not None:
            for name in (self._path.name, f"{self._path.name}-journal"):
                self._path.with_name(name).unlink(missing_ok=True)

    def missing(self, texts: Iterable[str]) -> list[str]:
        """Those of some texts that have no vector yet, each once, in order."""
        unique = {_key(text): text for text in texts}
        keys = list(unique)
        with translated(self._where):
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(some))
                for (key,) in self._db.execute(f"SELECT text FROM vectors WHERE text IN ({marks})", some):
                    del unique[key]
        return list(unique.values())

    def add(self, texts: Sequence[str], vectors: Floats) -> None:
        """Keep the vectors of texts; they are in the file when this returns."""
        rows = [(_key(text), row.astype("<f4").tobytes()) for text, row in zip(texts, vectors, strict=True)]
        with translated(self._where), self._db:
            self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def of(self, texts: Sequence[str]) -> Floats:
        """The vectors of texts, all of which must have one of the same length."""
        found: list[Floats] = []
        with translated(self._where):
            for text in texts:
                row = self._db.execute("SELECT vector FROM vectors WHERE text = ?", (_key(text),)).fetchone()
                found.append(np.frombuffer(row[0], "<f4"))
        try:
            return np.stack(found).astype(np.float32)
        except ValueError as error:
            raise CorruptError(f"{self._where} holds vectors of several lengths: delete it and start again") from error


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
