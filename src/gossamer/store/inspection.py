"""Whether the files of an index are sound: pages against their checksums, rows against theirs."""

import sqlite3
from typing import Final, Literal, TypeAlias

from gossamer.errors import CorruptError, NotAnIndexError
from gossamer.files.bundle import MANIFEST
from gossamer.store import log, rows
from gossamer.store.database import is_open_here
from gossamer.store.layout import Layout
from gossamer.store.names import read_names
from gossamer.store.pages import PageSums
from gossamer.store.schema import Settings
from gossamer.store.wal import read_wal

Files: TypeAlias = Literal["intact", "altered", "without checksums"]

_INSPECTIONS: Final = 3
"""How often files that seem to be damaged are read before they are taken for damaged."""


def check_is_index(layout: Layout) -> None:
    """Raise unless there is an index in a folder."""
    if layout.folder.is_file():
        raise NotAnIndexError(
            f"{layout.folder} is a file, not an index, which is a folder: gossamer index makes one of files"
        )
    if not layout.folder.is_dir():
        raise NotAnIndexError(f"there is no index at {layout.folder}: make one with Index.create or gossamer index")
    if layout.documents.is_file():
        return
    if layout.snapshots() or layout.lock.exists():
        raise CorruptError(f"{layout.documents} is missing: restore it from a copy, the rest cannot do without it")
    saved = ", and VectorIndex.load reads what save wrote" if (layout.folder / MANIFEST).exists() else ""
    raise NotAnIndexError(f"{layout.folder} is not an index: it has no {layout.documents.name}{saved}")


def inspect(layout: Layout) -> Files:
    """Compare every page of the database with its checksum, and look for damage in the write-ahead log.

    A writer in another process may be in the middle of a checkpoint, so a page that seems to be damaged is read again:
    it is damaged only if it stays so.
    """
    if is_open_here(layout.documents):
        return "intact"  # this process compared it when it opened it first
    sums = PageSums(layout.documents)
    damaged: set[int] | None = None
    for _ in range(_INSPECTIONS):
        wal = read_wal(layout.wal)
        if not sums.file.exists():
            return "altered" if wal.truncated else "without checksums"
        unsound = wal.truncated or sums.acknowledged() is None
        found = {0, *sums.damaged(wal)} if unsound else set(sums.damaged(wal))
        damaged = found if damaged is None else damaged & found
        if not damaged:
            return "intact"
    return "altered"


def check_rows(db: sqlite3.Connection, settings: Settings) -> None:
    """Raise unless every row has the checksum it was written with, and no row is missing."""
    documents = {row.document for row in rows.all_documents(db)}
    owners = {row.document for row in rows.all_passages(db)}
    if owners != documents:
        raise CorruptError(f"{len(documents)} documents, but passages of {len(owners)}: run gossamer repair")
    largest = {
        "documents": max(documents, default=0),
        "passages": int(db.execute("SELECT ifnull(max(passage), 0) FROM passages").fetchone()[0]),
    }
    for table, number in largest.items():
        if rows.next_number(db, table) <= number:
            raise CorruptError(f"the numbering of {table} was altered: run gossamer repair")
    rows.vectors_where(db, "gone IS NULL", ())
    rows.read_encoder_state(db)
    read_names(db)
    for _ in log.steps_after(db, max(settings.forgotten, log.last_refit(db))):
        pass
