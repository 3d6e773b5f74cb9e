"""When operations were made: the last one of each second, in a table of its own.

Replaying the log does not read it. Indexes of earlier releases get the table with their next operation.
"""

import sqlite3
import time
from typing import Final

_TABLE: Final = "CREATE TABLE IF NOT EXISTS times (second INTEGER PRIMARY KEY, seq INTEGER NOT NULL)"


def note_time(db: sqlite3.Connection, seq: int) -> None:
    """Write that an operation is made now, inside the transaction that is open."""
    db.execute(_TABLE)
    db.execute("INSERT OR REPLACE INTO times VALUES (?, ?)", (int(time.time()), seq))


def operation_at(db: sqlite3.Connection, second: float) -> int:
    """The last operation up to a time, in seconds since 1970; 0 where none is known."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'times'").fetchone() is None:
        return 0
    query = "SELECT ifnull(max(seq), 0) FROM times WHERE second <= ? AND typeof(seq) = 'integer'"
    return int(db.execute(query, (int(second),)).fetchone()[0])
