"""Names that people gave to concepts. They cannot be derived, so they are in the database.

A change replaces all of them: there are few. Indices of format 1 and 2 have no table for them.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gossamer.errors import CorruptError
from gossamer.store.rows import CURE, is_altered, row_crc

_CREATE: Final = """
CREATE TABLE IF NOT EXISTS names (
    concept   INTEGER NOT NULL,
    name      TEXT NOT NULL,
    operation INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    members   TEXT NOT NULL,
    crc       INTEGER NOT NULL
)
"""


@dataclass(frozen=True)
class NameRow:
    """A name, the concept that it was given to, and by what that is known again."""

    concept: int
    name: str
    operation: int
    """The operation after which the concept had this id."""
    size: int
    """Passages that it had."""
    members: tuple[int, ...]
    """Some of them."""


def write_names(db: sqlite3.Connection, names: Sequence[NameRow]) -> None:
    """Replace all names, inside the transaction that is open."""
    db.execute(_CREATE)
    db.execute("DELETE FROM names")
    for row in names:
        values = (row.concept, row.name, row.operation, row.size, json.dumps(row.members))
        db.execute("INSERT INTO names VALUES (?, ?, ?, ?, ?, ?)", (*values, row_crc(*values)))


def read_names(db: sqlite3.Connection) -> list[NameRow]:
    """All names, in the order they were given; `CorruptError` where one was altered."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'names'").fetchone() is None:
        return []
    found = []
    for *values, crc in db.execute("SELECT concept, name, operation, size, members, crc FROM names ORDER BY rowid"):
        if is_altered(values, crc):
            raise CorruptError(f"the name of a concept was altered: {CURE}")
        concept, name, operation, size, members = values
        found.append(NameRow(concept, name, operation, size, tuple(json.loads(members))))
    return found
