"""The log: one change is one transaction, and the tree is a function of the changes in their order.

Live and in replay a change reaches the tree through the same `stage`, with the same rows in the same batches, so both
give the same tree. Staging does everything that can fail; what is left to do after the commit cannot.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.errors import CorruptError
from gossamer.files.bundle import Bundle
from gossamer.store import rows
from gossamer.store.encoder_state import write_learnt
from gossamer.store.rows import CURE, DocumentRow, PassageRow
from gossamer.store.schema import Settings, write_settings
from gossamer.vector_index.vector_index import Staged, VectorIndex

Kind: TypeAlias = Literal["add", "delete", "refit"]
"""add: passages go and come. delete: they go. refit: a new tree is grown over all there are then."""


@dataclass(frozen=True)
class Change:
    """All that one call writes."""

    kind: Kind
    removed: Sequence[int] = ()
    """Documents that go, replaced ones included, with their passages."""
    documents: Sequence[DocumentRow] = ()
    relabelled: Sequence[DocumentRow] = ()
    """Documents with new metadata and the text they had."""
    passages: Sequence[PassageRow] = ()
    vectors: Floats = field(default_factory=lambda: np.empty((0, 0), np.float32))
    anew: bool = False
    """Every passage there was goes: all were encoded again."""
    settings: Settings | None = None
    learnt: Bundle | None = None
    """What the encoder learnt, where it learnt anew."""


@dataclass(frozen=True)
class Step:
    """What a change means for the tree."""

    seq: int
    kind: Kind
    gone: npt.NDArray[np.int64]
    born: npt.NDArray[np.int64]
    vectors: Floats

    @property
    def work(self) -> int:
        """A measure of the time its replay takes: passages, and a little for the step itself."""
        return len(self.gone) + len(self.born) + 10


def record(db: sqlite3.Connection, change: Change) -> Step:
    """Write a change inside the transaction that is open on `db`."""
    seq = rows.next_number(db, "operations")
    gone = rows.retire_passages(db, None if change.anew else change.removed, seq)
    rows.remove_documents(db, change.removed)
    rows.insert_documents(db, change.documents)
    rows.update_metadata(db, change.relabelled)
    rows.insert_passages(db, change.passages, change.vectors, seq)
    if change.settings is not None:
        write_settings(db, change.settings)
    if change.learnt is not None:
        write_learnt(db, change.learnt)
    born = [row.passage for row in change.passages]
    operation = (seq, change.kind, len(born), len(gone))
    db.execute("INSERT INTO operations VALUES (?, ?, ?, ?, ?)", (*operation, _crc(*operation)))
    if change.kind == "refit":
        return read_step(db, seq, change.kind)
    return Step(seq, change.kind, np.array(gone, np.int64), np.array(born, np.int64), change.vectors)


@dataclass(frozen=True)
class StagedStep:
    """A step that is ready to be made: `apply`, which cannot fail, and then `follow`."""

    vectors: VectorIndex | None
    change: Staged | None

    def apply(self) -> VectorIndex | None:
        """The tree after the step: the same one, changed, or a new one."""
        if self.change is not None:
            self.change.apply()
        return self.vectors

    def follow(self) -> None:
        """Bring what guides searches up to date; where that fails, the next search does it."""
        if self.change is not None:
            self.change.follow()


def stage(step: Step, vectors: VectorIndex | None) -> StagedStep:
    """Do all of `step` that can fail; `vectors` stays as it is, and must not be changed before the step is made."""
    if step.kind == "refit":
        vectors = None
    if vectors is None:
        if len(step.gone):
            raise CorruptError(f"operation {step.seq} removes passages where there are none")
        if not len(step.born):
            return StagedStep(None, None)
        vectors = VectorIndex(step.vectors.shape[1])
    elif not len(step.born) and not len(step.gone):
        return StagedStep(vectors, None)
    return StagedStep(vectors, vectors.stage(step.vectors, step.born.tolist(), step.gone.tolist()))


def apply(step: Step, vectors: VectorIndex | None) -> VectorIndex | None:
    """The tree after `step`: the same one, changed, or a new one."""
    staged = stage(step, vectors)
    vectors = staged.apply()
    staged.follow()
    return vectors


def last_seq(db: sqlite3.Connection) -> int:
    """The newest operation; 0 before the first."""
    return rows.next_number(db, "operations") - 1


def last_refit(db: sqlite3.Connection) -> int:
    """The newest operation that began a new tree; 0 where none did."""
    return int(db.execute("SELECT ifnull(max(seq), 0) FROM operations WHERE kind = 'refit'").fetchone()[0])


def steps_after(db: sqlite3.Connection, seq: int) -> Iterator[Step]:
    """The steps after operation `seq`, in order."""
    query = "SELECT seq, kind, born, gone, crc FROM operations WHERE seq > ? ORDER BY seq"
    operations = db.execute(query, (seq,)).fetchall()
    if len(operations) != last_seq(db) - seq:
        raise CorruptError(f"operations after {seq} are missing from the log: {CURE}")
    for expected, (found, kind, born, gone, crc) in enumerate(operations, seq + 1):
        if found != expected or _crc(found, kind, born, gone) != crc:
            raise CorruptError(f"operation {expected} of the log was altered: {CURE}")
        step = read_step(db, found, kind)
        if kind != "refit" and (len(step.born), len(step.gone)) != (born, gone):
            raise CorruptError(f"operation {found} of the log lacks passages: {CURE}")
        yield step


def read_step(db: sqlite3.Connection, seq: int, kind: Kind) -> Step:
    """A step as it was recorded."""
    if kind == "refit":
        numbers, vectors = rows.vectors_where(db, "born <= ? AND (gone IS NULL OR gone > ?)", (seq, seq))
        return Step(seq, kind, np.empty(0, np.int64), numbers, vectors)
    numbers, vectors = rows.vectors_where(db, "born = ?", (seq,))
    gone = [row[0] for row in db.execute("SELECT passage FROM passages WHERE gone = ? ORDER BY 1", (seq,))]
    return Step(seq, kind, np.array(gone, np.int64), numbers, vectors)


def forget(db: sqlite3.Connection, seq: int, settings: Settings) -> Settings:
    """Drop what only a replay from before operation `seq` would need; returns the settings that say so."""
    db.execute("DELETE FROM vectors WHERE passage IN (SELECT passage FROM passages WHERE gone <= ?)", (seq,))
    dropped = db.execute("DELETE FROM passages WHERE gone <= ?", (seq,)).rowcount
    if not dropped:
        return settings
    db.execute("DELETE FROM operations WHERE seq <= ?", (seq,))
    settings = replace(settings, forgotten=seq)
    write_settings(db, settings)
    return settings


def _crc(*values: object) -> int:
    return zlib.crc32(repr(values).encode())
