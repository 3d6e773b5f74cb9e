"""The paths of the files in a .gsm folder."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import DiskError, GossamerError
from gossamer.runtime.interrupts import uninterrupted

_SNAPSHOT = re.compile(r"snapshot-(\d+)")


@dataclass(frozen=True)
class Layout:
    """The folder of one index.

    documents.sqlite     the database (with -wal and -shm beside it while it is open)
    documents.sums       checksums of its pages, and the number of the newest acknowledged operation
    snapshot-<seq>/      tree, whitener and words after operation <seq>
    labels               labels of concepts; made again where the file is missing, damaged or behind
    plane/               where documents lie in the plane; made again if it is missing
    encoded-<name>       vectors of another encoder, while the index is encoded again
    writer.lock          held by who writes, for one operation, and names it
    writer.queue         held by who writes next
    reencoding.lock      held by who encodes the index again
    """

    folder: Path

    @property
    def documents(self) -> Path:
        """The database."""
        return self.folder / "documents.sqlite"

    @property
    def wal(self) -> Path:
        """SQLite's write-ahead log: transactions that are committed and not yet copied into the database."""
        return self.folder / "documents.sqlite-wal"

    @property
    def lock(self) -> Path:
        """The lock of who writes."""
        return self.folder / "writer.lock"

    @property
    def reencoding_lock(self) -> Path:
        """The lock of who encodes all texts with another encoder."""
        return self.folder / "reencoding.lock"

    @property
    def labels(self) -> Path:
        """The labels of concepts, see `label_file`."""
        return self.folder / "labels"

    @property
    def labels_draft(self) -> Path:
        """Where labels are written before they are renamed; one name, since they are written in a turn."""
        return self.folder / ".labels"

    @property
    def plane(self) -> Path:
        """Where the places of documents in the plane are saved."""
        return self.folder / "plane"

    def encoded(self, name: str) -> Path:
        """Where the vectors of another encoder are kept until they replace those of this one."""
        return self.folder / f"encoded-{name}"

    def encoded_texts(self) -> list[Path]:
        """The files of vectors of other encoders, with SQLite's journals."""
        return sorted(self.folder / name for name in self._names() if name.startswith("encoded-"))

    def has_wal(self) -> bool:
        """Whether the write-ahead log holds anything: a writer is at work, or ended without closing the index."""
        try:
            return self.wal.stat().st_size > 0
        except OSError:
            return False

    def snapshot(self, seq: int) -> Path:
        """The snapshot taken after operation `seq`."""
        return self.folder / f"snapshot-{seq}"

    def draft(self, seq: int) -> Path:
        """Where that snapshot is written before it is renamed."""
        return self.folder / f".snapshot-{seq}.{os.getpid()}"

    def snapshots(self) -> list[int]:
        """The operations of all snapshots, newest first."""
        found = map(_SNAPSHOT.fullmatch, self._names())
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def drafts(self) -> list[Path]:
        """Unfinished snapshots that a crash left."""
        return sorted(self.folder / name for name in self._names() if name.startswith(".snapshot-"))

    def _names(self) -> list[str]:
        with disk_errors(f"{self.folder} could not be read"):
            return os.listdir(self.folder)

    def bytes(self) -> dict[str, int]:
        """The size of each part: the database, its log and checksums, snapshots, labels, the plane."""
        sizes = dict.fromkeys(("documents", "log", "checksums", "snapshots", "labels", "plane"), 0)
        for folder, _, names in os.walk(self.folder):
            for name in names:
                file = os.path.join(folder, name)
                part = _part(os.path.relpath(file, self.folder))
                with suppress(OSError):  # the file was removed meanwhile
                    sizes[part] = sizes.get(part, 0) + os.stat(file).st_size
        return sizes

    def remove(self, paths: Iterable[Path]) -> None:
        """Remove files and folders of this folder, as far as they are there; `DiskError` where one stays."""
        for path in paths:
            with disk_errors(f"{path} could not be removed"):
                if path.is_dir():
                    remove_folder(path)
                else:
                    path.unlink(missing_ok=True)
            if path.exists():
                raise DiskError(f"{path} could not be removed: remove it yourself and try again")
        sync_folder(self.folder)


def _part(file: str) -> str:
    """The part of an index that a file belongs to, by its name in the folder."""
    name = file.lstrip(".")
    if name.startswith("documents.sqlite-"):
        return "log"
    known = {"documents.sqlite": "documents", "documents.sums": "checksums", "snapshot-": "snapshots"}
    known |= {"labels": "labels", "plane": "plane"}
    return next((part for start, part in known.items() if name.startswith(start)), "other")


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Raise an `OSError` of the block as a `DiskError` that says what failed, and why."""
    try:
        yield
    except OSError as error:
        if isinstance(error, GossamerError):
            raise
        raise DiskError(f"{what}: {error.strerror or error}") from error


def remove_folder(folder: Path) -> None:
    """Remove a folder; errors are ignored. Ctrl-C waits: it can make `shutil.rmtree` close a descriptor twice."""
    with uninterrupted():
        shutil.rmtree(folder, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Make the names of the files in a folder durable."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
