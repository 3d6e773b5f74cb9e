"""What is on disk, and how it survives.

    layout          the files of a .gsm folder                Layout
    database        connections to documents.sqlite           Database
    schema          its tables, and the index's settings      Settings
    rows            documents and passages, as rows           DocumentRow, PassageRow
    learnt          what the encoder learnt, as a row         read_learnt, write_learnt
    log             one change = one transaction              Change, record, apply
    pages           checksums of the database's pages         PageSums
    wal             SQLite's log, read from outside           read_wal, FrameCount
    snapshots       the tree and the whitener beside it
    store           all of it together                        Store
    backup          a copy while it is written                back_up
    salvage         what a damaged database still holds       salvage

SQLite holds the truth: documents, vectors and an ordered log of operations. The tree is a function of that
log, so it can always be grown again; a snapshot only saves the time.
"""

from __future__ import annotations

from gossamer.store.log import Change
from gossamer.store.rows import DocumentRow, PassageRow
from gossamer.store.schema import Settings
from gossamer.store.store import Store

__all__ = ["Change", "DocumentRow", "PassageRow", "Settings", "Store"]
