"""The tables of documents.sqlite, and the settings of an index."""

from __future__ import annotations

import base64
import json
import sqlite3
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from gossamer.errors import CorruptError, FormatVersionError, NotAnIndexError, ParameterError
from gossamer.files import tensors
from gossamer.files.bundle import Bundle
from gossamer.lexical.analysis import DETECT, languages
from gossamer.plain_text import shortened
from gossamer.version import __version__

FORMAT_VERSION = 4
"""Stored as SQLite's user_version. Version 2: the log has operations that settle a tree. Version 3: it has operations
that name concepts, see `names`, and says whose metadata an operation replaced; the FTS5 table of words is gone. Version
4: checksums of rows do not depend on the version of Python. Every version ever released can be read; the first change
makes it one of this version."""

APPLICATION_ID = 0x47534D00
"""The letters “GSM”, which tell an index from the database of another program."""

SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;

-- The newest version of every document. Numbers are not reused.
CREATE TABLE documents (
    document INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    text     TEXT NOT NULL,
    metadata TEXT NOT NULL,
    crc      INTEGER NOT NULL
);

-- What is encoded: a document, or the part text[start:stop] of a long one. Operation `born` added it, `gone` removed
-- it. The row and its vector stay until snapshots cover the removal: replaying the log needs them.
CREATE TABLE passages (
    passage  INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    stop     INTEGER NOT NULL,
    born     INTEGER NOT NULL,
    gone     INTEGER,
    crc      INTEGER NOT NULL
);
CREATE INDEX passages_alive ON passages (document) WHERE gone IS NULL;
CREATE INDEX passages_born ON passages (born);
CREATE INDEX passages_gone ON passages (gone) WHERE gone IS NOT NULL;

-- The raw float32 vectors of passages; a table of its own, so that looking up passages does not read them.
CREATE TABLE vectors (passage INTEGER PRIMARY KEY, vector BLOB NOT NULL, crc INTEGER NOT NULL);

-- The log. The columns `born` and `gone` of the passages say what an operation did; here their counts, as a check.
CREATE TABLE operations (
    seq  INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    born INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    crc  INTEGER NOT NULL
);

-- What an encoder that learns from the corpus (lsa) learnt: parameters, and arrays as safetensors. One row or none.
CREATE TABLE encoder (one INTEGER PRIMARY KEY CHECK (one = 1), params TEXT NOT NULL, arrays BLOB NOT NULL,
    crc INTEGER NOT NULL);

"""

_UPDATES = """
-- A part of the log: the documents whose metadata an operation replaced, their texts being the same.
CREATE TABLE IF NOT EXISTS updates (seq INTEGER NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (seq, document))
WITHOUT ROWID"""


_FIRST_LANGUAGE = "english"
"""The language of every index before format version 3."""

GIVEN = "given"
"""The preset of an index whose space was given when it was created, and stays as it is: see `write_space`."""

PRESETS = ("default", "paper", GIVEN)
"""How the tree of an index is made, see `gossamer.vector_index`."""

_RANGES = {"dim": (1, 2**16)}
"""Least and largest value of settings that are numbers. The others are at least 0 and exact as floats."""


@dataclass(frozen=True)
class Settings:
    """The settings of one index, stored as JSON under these names.

    encoder, fingerprint    name of the encoder, and the hash that identifies its vectors
    max_tokens, overlap     how texts are split into passages; max_tokens is None where they are not
    dim                     dimension of the encoder's vectors; None until the first document
    fitted_on               number of documents the encoder learnt from; 0 for one that does not learn
    preset                  "default" or "paper": how vectors are whitened and the tree is grown; "given": by default,
                            but with a whitener and an acuity that are stored beside the settings and stay
    language                by whose rules words are stemmed; "auto" until documents tell it, "none" for no stemming
    forgotten               the log can be replayed from this operation on; history before it was dropped
    identity                random name of this index, which tells its snapshots from those of others
    created, written_by     time, and version of Gossamer
    """

    encoder: str
    fingerprint: str
    max_tokens: int | None
    overlap: int
    dim: int | None = None
    fitted_on: int = 0
    preset: str = "default"
    language: str = DETECT
    forgotten: int = 0
    identity: str = ""
    created: str = ""
    written_by: str = ""

    @classmethod
    def new(
        cls, encoder: str, fingerprint: str, max_tokens: int | None, overlap: int,
        language: str = DETECT, preset: str = "default",
    ) -> Settings:  # fmt: skip
        """The settings of a new index."""
        return cls(
            encoder, fingerprint, max_tokens, overlap, language=language, preset=preset,
            identity=uuid4().hex, created=datetime.now(UTC).isoformat(timespec="seconds"), written_by=__version__,
        )  # fmt: skip


def create(db: sqlite3.Connection, settings: Settings, space: Bundle | None = None) -> None:
    """Create the tables of a new index, inside the transaction that is open. `space`: of one of the preset "given"."""
    for statement in SCHEMA.split(";\n"):
        db.execute(statement)
    db.execute(_UPDATES)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
    write_settings(db, settings)
    if space is not None:
        write_space(db, space)


def upgrade(db: sqlite3.Connection) -> None:
    """Make an index that an earlier version created one of this version, inside the transaction that is open."""
    if int(db.execute("PRAGMA user_version").fetchone()[0]) != FORMAT_VERSION:
        with suppress(sqlite3.OperationalError):  # SQLite has no FTS5 here: its table stays, and is not used
            db.execute("DROP TABLE IF EXISTS words")
        db.execute(_UPDATES)
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def check_version(db: sqlite3.Connection, where: str) -> None:
    """Raise for a database of another program, and for one that a newer Gossamer wrote."""
    if int(db.execute("PRAGMA application_id").fetchone()[0]) != APPLICATION_ID:
        raise NotAnIndexError(f"{where} is not a Gossamer index: its documents.sqlite was made by another program")
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if not 1 <= version <= FORMAT_VERSION:
        raise FormatVersionError(
            f"{where} is in format version {version}, and this Gossamer reads up to {FORMAT_VERSION}: "
            "upgrade with pip install --upgrade gossamer"
        )


def write_settings(db: sqlite3.Connection, settings: Settings) -> None:
    """Store the settings; `ParameterError` where a value could not be read again."""
    if (problem := _problem(settings)) is not None:
        raise ParameterError(problem)
    value = json.dumps(asdict(settings), sort_keys=True)
    db.execute("INSERT OR REPLACE INTO settings VALUES ('index', ?, ?)", (value, zlib.crc32(value.encode())))


def read_settings(db: sqlite3.Connection) -> Settings:
    """The settings; `CorruptError` where they were altered."""
    row = db.execute("SELECT value, crc FROM settings WHERE name = 'index'").fetchone()
    altered = CorruptError("the settings in documents.sqlite were altered: restore it from a copy")
    if row is None or not isinstance(row[0], str) or zlib.crc32(row[0].encode()) != row[1]:
        raise altered
    try:
        return parse_settings(row[0])
    except ValueError as error:
        raise altered from error


def write_space(db: sqlite3.Connection, space: Bundle) -> None:
    """Store the space of an index of the preset "given": its acuity and, as the part "whitener", its whitener."""
    arrays = base64.b64encode(b"".join(tensors.pieces(space.arrays))).decode()
    value = json.dumps({"params": space.params, "arrays": arrays}, sort_keys=True)
    db.execute("INSERT OR REPLACE INTO settings VALUES ('space', ?, ?)", (value, zlib.crc32(value.encode())))


def read_space(db: sqlite3.Connection) -> Bundle:
    """What `write_space` stored; `CorruptError` where it was altered or is missing."""
    altered = CorruptError("the whitener in documents.sqlite was altered or is missing: restore it from a copy")
    row = db.execute("SELECT value, crc FROM settings WHERE name = 'space'").fetchone()
    if row is None or not isinstance(row[0], str) or zlib.crc32(row[0].encode()) != row[1]:
        raise altered
    try:
        saved = json.loads(row[0])
        return Bundle(saved["params"], tensors.read(bytearray(base64.b64decode(saved["arrays"]))))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise altered from error


def parse_settings(text: str) -> Settings:
    """Settings from JSON text; `ValueError` where one is missing, of the wrong type or out of range."""
    try:
        values: dict[str, Any] = {"language": _FIRST_LANGUAGE, "preset": "default", **json.loads(text)}
        settings = Settings(**{field.name: values[field.name] for field in fields(Settings)})
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("these are not the settings of an index") from error
    if (problem := _problem(settings)) is not None:
        raise ValueError(problem)
    return settings


def _problem(settings: Settings) -> str | None:
    """The first setting that is of the wrong type or out of range, described; None where all are valid."""
    for field in fields(Settings):
        value, kind = getattr(settings, field.name), str(field.type)
        if kind == "str":
            if not isinstance(value, str):
                return f"{field.name} must be a text, got {type(value).__name__}"
            if field.name == "preset" and value not in PRESETS:
                return f"preset must be one of {', '.join(PRESETS)}, got {shortened(repr(value), 25)}"
            if field.name == "language" and value not in (DETECT, *languages()):
                return f"language must be {DETECT} or one of {', '.join(languages())}, got {shortened(repr(value), 25)}"
            continue
        if value is None and kind == "int | None":
            continue
        least, most = _RANGES.get(field.name, (0, 2**53 - 1))
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            return f"{field.name} must be a whole number from {least} to {most:,}, got {shortened(repr(value), 25)}"
    return None
