"""What an encoder learnt from the corpus: a row of the database, so that it changes with the vectors it gave."""

from __future__ import annotations

import json
import sqlite3
import zlib

from gossamer.errors import CorruptError
from gossamer.files import tensors
from gossamer.files.bundle import Bundle


def write_learnt(db: sqlite3.Connection, learnt: Bundle) -> None:
    """Store it; what was learnt before is replaced."""
    params, arrays = json.dumps(learnt.params), b"".join(tensors.pieces(learnt.arrays))
    db.execute("INSERT OR REPLACE INTO encoder VALUES (1, ?, ?, ?)", (params, arrays, _crc(params, arrays)))


def read_learnt(db: sqlite3.Connection) -> Bundle | None:
    """What was learnt; None where nothing was."""
    row = db.execute("SELECT params, arrays, crc FROM encoder").fetchone()
    if row is None:
        return None
    params, arrays, crc = row
    altered = CorruptError("what the encoder learnt was altered on disk: restore documents.sqlite from a copy")
    if not isinstance(params, str) or not isinstance(arrays, bytes) or _crc(params, arrays) != crc:
        raise altered
    try:
        bundle = Bundle(json.loads(params), tensors.read(bytearray(arrays)))
    except (ValueError, RecursionError) as error:
        raise altered from error
    return bundle


def _crc(params: str, arrays: bytes) -> int:
    return zlib.crc32(arrays, zlib.crc32(params.encode()))
