"""Backup: a copy of an index as of one operation, made while the index may be written. The copy is an index itself."""

import os
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Final

from gossamer.errors import NotAnIndexError
from gossamer.files.bundle import MANIFEST
from gossamer.files.file_lock import Presence
from gossamer.runtime.interrupts import uninterrupted
from gossamer.store import log, schema
from gossamer.store.database import Database, translated
from gossamer.store.layout import Layout, disk_errors, remove_folder, sync_folder
from gossamer.store.pages import PageSums
from gossamer.store.schema import Settings
from gossamer.store.snapshots import is_snapshot_of

_one_at_a_time: Final = Lock()
"""Two backups to the same path would replace each other's folders."""


def back_up(database: Database, source: Layout | None, target: Layout) -> int:
    """Copy an index into a folder; returns the operation the copy is of. An earlier copy there is replaced.

    The copied database is one state of the original. Snapshots that the earlier copy contains are linked instead of
    copied; those that the writer removes meanwhile are left out.
    """
    target = Layout(target.folder.resolve())
    if source is not None and source.folder.resolve() == target.folder:
        raise NotAnIndexError(f"{target.folder} is the index itself: choose another path for its copy")
    with _one_at_a_time, disk_errors(f"{target.folder} could not be written"):
        return _back_up(database, source, target)


def _back_up(database: Database, source: Layout | None, target: Layout) -> int:
    earlier = _earlier_copy(target)
    presence = Presence(target.folder)
    draft: Layout | None = None
    try:
        if earlier is not None:
            presence.enter_alone()
        target.folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Layout(Path(mkdtemp(prefix=f".{target.folder.name}.", dir=target.folder.parent)))
        draft.folder.chmod(0o755)
        settings, seq = _copy_database(database, draft)
        _check_is_earlier(target, earlier, settings.identity, seq)
        if source is not None:
            _copy_snapshots(source, target, draft, settings, seq)
            with suppress(FileNotFoundError):  # no labels yet
                shutil.copyfile(source.labels, draft.labels)
        PageSums(draft.documents).rebuild(settings.identity, seq)
        replace_folder(draft, target)
        return seq
    finally:
        presence.leave()
        if draft is not None:
            remove_folder(draft.folder)


def _earlier_copy(target: Layout) -> tuple[str, int] | None:
    """The identity and the newest operation of the index at `target`; None where there is nothing."""
    if not target.folder.exists():
        return None
    try:
        if target.folder.is_dir() and not any(target.folder.iterdir()):
            target.folder.rmdir()
            return None
        database = Database(target.documents, writable=False)
    except (OSError, sqlite3.Error) as error:
        raise NotAnIndexError(f"{target.folder} exists and is not a copy of an index: choose another path") from error
    try:
        with database.reading() as db:
            schema.check_version(db, str(target.folder))
            return schema.read_settings(db).identity, log.last_seq(db)
    finally:
        database.close()


def _check_is_earlier(target: Layout, earlier: tuple[str, int] | None, identity: str, seq: int) -> None:
    if earlier is None:
        return
    if earlier[0] != identity:
        raise NotAnIndexError(f"{target.folder} is another index, no earlier copy of this one: choose another path")
    if earlier[1] > seq:
        raise NotAnIndexError(
            f"{target.folder} is newer, as of operation {earlier[1]}, and this is as of {seq}: choose another path, or "
            "move it away first if the older one is to take its place"
        )


def _copy_database(database: Database, draft: Layout) -> tuple[Settings, int]:
    copy = database.copy_to(draft.documents)
    try:
        with translated(str(draft.documents)):
            copy.execute("PRAGMA journal_mode = WAL")  # the copy of an index in memory has another one
            found = schema.read_settings(copy), log.last_seq(copy)
            copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        copy.close()
    _sync(draft.documents)
    return found


def _copy_snapshots(source: Layout, earlier: Layout, draft: Layout, settings: Settings, seq: int) -> None:
    for at in source.snapshots():
        if settings.forgotten <= at <= seq and is_snapshot_of(source, at, settings.identity):
            try:
                _copy_snapshot(source.snapshot(at), earlier.snapshot(at), draft.snapshot(at))
            except FileNotFoundError:
                remove_folder(draft.snapshot(at))


def _copy_snapshot(source: Path, earlier: Path, draft: Path) -> None:
    draft.mkdir()
    same = _manifest(earlier) == (source / MANIFEST).read_bytes()
    for file in source.iterdir():
        if same and (earlier / file.name).exists():
            with suppress(OSError):  # the file system has no links: copy
                os.link(earlier / file.name, draft / file.name)
                continue
        shutil.copyfile(file, draft / file.name)
        _sync(draft / file.name)
    sync_folder(draft)


def _manifest(snapshot: Path) -> bytes | None:
    try:
        return (snapshot / MANIFEST).read_bytes()
    except OSError:
        return None


def replace_folder(draft: Layout, target: Layout, keep: Path | None = None) -> None:
    """Rename `draft` to `target`. A folder that is there already is renamed to `keep`, or removed."""
    sync_folder(draft.folder)
    old = keep or Path(f"{draft.folder}.old")
    with uninterrupted():
        there = target.folder.exists()
        if there:
            os.rename(target.folder, old)
        try:
            os.rename(draft.folder, target.folder)
        except OSError:
            if there:
                os.rename(old, target.folder)
            raise
        sync_folder(target.folder.parent)
    if there and keep is None:
        remove_folder(old)


def _sync(file: Path) -> None:
    handle = os.open(file, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
