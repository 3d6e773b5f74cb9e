"""The log of operations: a change is written as one transaction, and read again as a `Step` when the log is replayed.

The log gives the tree: the steps, applied in their order, always yield the same tree (see `gossamer.index.replay`).
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import DocumentNumber, Floats
from gossamer.errors import CorruptError
from gossamer.files.bundle import Bundle
from gossamer.store import rows
from gossamer.store.names import NameRow, write_names
from gossamer.store.rows import CURE, DocumentRow, PassageRow
from gossamer.store.schema import Settings, upgrade, write_settings
from gossamer.store.times import note_time

Kind: TypeAlias = Literal["add", "delete", "refit", "settle", "rename"]
"""add: passages are removed and added. delete: they are removed. refit: a new tree is built over all that are left.
settle: the tree that is being renewed in the background takes effect here, not at a later operation. rename: concepts
are given names; the tree stays as it is."""


@dataclass(frozen=True)
class Change:
    """Everything that one operation writes.

    removed         documents to remove with their passages, replaced documents included
    documents       documents to add
    updated         documents that keep their text and get new metadata
    passages        passages to add, with their vectors
    reencoded       all passages there were are removed, because all texts were encoded again
    settings        new settings of the index; None leaves them as they are
    encoder_state   what the encoder learnt from the corpus, where it learnt again
    names           all names that were given to concepts; None leaves them as they are
    """

    kind: Kind
    removed: Sequence[DocumentNumber] = ()
    documents: Sequence[DocumentRow] = ()
    updated: Sequence[DocumentRow] = ()
    passages: Sequence[PassageRow] = ()
    vectors: Floats = field(default_factory=lambda: np.empty((0, 0), np.float32))
    reencoded: bool = False
    settings: Settings | None = None
    encoder_state: Bundle | None = None
    names: Sequence[NameRow] | None = None


@dataclass(frozen=True)
class Step:
    """What an operation means for the tree: the passages it removed, and those it added with their vectors."""

    seq: int
    kind: Kind
    removed: npt.NDArray[np.int64]
    added: npt.NDArray[np.int64]
    vectors: Floats

    @property
    def work(self) -> int:
        """An estimate of the time that replaying it takes, in passages; 10 stand for the step itself."""
        return len(self.removed) + len(self.added) + 10


def record(db: sqlite3.Connection, change: Change) -> Step:
    """Write a change inside the transaction that is open on `db`."""
    upgrade(db)
    seq = rows.next_number(db, "operations")
    removed = rows.mark_removed(db, None if change.reencoded else change.removed, seq)
    rows.remove_documents(db, change.removed)
    rows.insert_documents(db, change.documents)
    rows.update_metadata(db, change.updated, seq)
    rows.insert_passages(db, change.passages, change.vectors, seq)
    if change.settings is not None:
        write_settings(db, change.settings)
    if change.encoder_state is not None:
        rows.write_encoder_state(db, change.encoder_state)
    if change.names is not None:
        write_names(db, change.names)
    added = [row.passage for row in change.passages]
    operation = (seq, change.kind, len(added), len(removed))
    db.execute("INSERT INTO operations VALUES (?, ?, ?, ?, ?)", (*operation, rows.row_crc(*operation)))
    note_time(db, seq)
    if change.kind == "refit":
        return read_step(db, seq, change.kind)
    return Step(seq, change.kind, np.array(removed, np.int64), np.array(added, np.int64), change.vectors)


def last_seq(db: sqlite3.Connection) -> int:
    """The number of the newest operation; 0 before the first."""
    return rows.next_number(db, "operations") - 1


def last_refit(db: sqlite3.Connection) -> int:
    """The number of the newest operation that built a new tree; 0 where none did."""
    return int(db.execute("SELECT ifnull(max(seq), 0) FROM operations WHERE kind = 'refit'").fetchone()[0])


def steps_after(db: sqlite3.Connection, seq: int) -> Iterator[Step]:
    """The steps after operation `seq`, in order; `CorruptError` where one is missing or altered."""
    query = "SELECT seq, kind, born, gone, crc FROM operations WHERE seq > ? ORDER BY seq"
    operations = db.execute(query, (seq,)).fetchall()
    if len(operations) != last_seq(db) - seq:
        raise CorruptError(f"operations after {seq} are missing from the log: {CURE}")
    for expected, (found, kind, added, removed, crc) in enumerate(operations, seq + 1):
        if found != expected or rows.is_altered((found, kind, added, removed), crc):
            raise CorruptError(f"operation {expected} of the log was altered: {CURE}")
        step = read_step(db, found, kind)
        if kind != "refit" and (len(step.added), len(step.removed)) != (added, removed):
            raise CorruptError(f"operation {found} of the log lacks passages: {CURE}")
        yield step


def read_step(db: sqlite3.Connection, seq: int, kind: Kind) -> Step:
    """The step of operation `seq`, read from the columns `born` and `gone` of the passages."""
    if kind == "refit":
        numbers, vectors = rows.vectors_where(db, "born <= ? AND (gone IS NULL OR gone > ?)", (seq, seq))
        return Step(seq, kind, np.empty(0, np.int64), numbers, vectors)
    numbers, vectors = rows.vectors_where(db, "born = ?", (seq,))
    removed = [row[0] for row in db.execute("SELECT passage FROM passages WHERE gone = ? ORDER BY 1", (seq,))]
    return Step(seq, kind, np.array(removed, np.int64), numbers, vectors)


def work_after(db: sqlite3.Connection, seq: int) -> int:
    """The work of all steps after operation `seq`, as `Step.work` estimates it."""
    query = "SELECT ifnull(sum(born + gone + 10), 0) FROM operations WHERE seq > ?"
    return int(db.execute(query, (seq,)).fetchone()[0])


def drop_history(db: sqlite3.Connection, seq: int, settings: Settings) -> Settings:
    """Delete what only a replay from before operation `seq` would need; returns the settings that say so."""
    upgrade(db)
    db.execute("DELETE FROM updates WHERE seq <= ?", (seq,))
    db.execute("INSERT INTO updates VALUES (?, ?)", (seq, rows.CUT))
    db.execute("DELETE FROM vectors WHERE passage IN (SELECT passage FROM passages WHERE gone <= ?)", (seq,))
    dropped = db.execute("DELETE FROM passages WHERE gone <= ?", (seq,)).rowcount
    if not dropped:
        return settings
    db.execute("DELETE FROM operations WHERE seq <= ?", (seq,))
    settings = replace(settings, forgotten=seq)
    write_settings(db, settings)
    return settings
