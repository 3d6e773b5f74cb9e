"""The files of a .gsm folder, declared in one place."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import DiskError

_SNAPSHOT = re.compile(r"snapshot-(\d+)")


@dataclass(frozen=True)
class Layout:
    """Where everything lies.

    documents.sqlite     the truth (with -wal and -shm beside it while it is open)
    documents.sums       checksums of its pages, and the newest operation that was acknowledged
    snapshot-<seq>/      the tree and the whitener after operation <seq>
    writer.lock          who writes
    """

    folder: Path

    @property
    def documents(self) -> Path:
        """The database."""
        return self.folder / "documents.sqlite"

    @property
    def wal(self) -> Path:
        """Where SQLite keeps what was committed last."""
        return self.folder / "documents.sqlite-wal"

    @property
    def lock(self) -> Path:
        """The writer's lock."""
        return self.folder / "writer.lock"

    def has_log(self) -> bool:
        """Whether SQLite has left a log: a writer is at work, or did not end well."""
        try:
            return self.wal.stat().st_size > 0
        except OSError:
            return False

    def snapshot(self, seq: int) -> Path:
        """The snapshot taken after operation `seq`."""
        return self.folder / f"snapshot-{seq}"

    def draft(self, seq: int) -> Path:
        """Where that snapshot is written before it is renamed in."""
        return self.folder / f".snapshot-{seq}.{os.getpid()}"

    def snapshots(self) -> list[int]:
        """The snapshots there are, newest first."""
        found = map(_SNAPSHOT.fullmatch, self._names())
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def drafts(self) -> list[Path]:
        """What a crash left of snapshots that were being written."""
        return sorted(self.folder / name for name in self._names() if name.startswith(".snapshot-"))

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.folder)
        except OSError as error:
            raise DiskError(f"{self.folder} could not be read: {error.strerror or error}") from error

    def bytes(self) -> int:
        """What all of it takes."""
        total = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with suppress(OSError):  # a file that is gone takes nothing
                    total += os.stat(os.path.join(folder, name)).st_size
        return total


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
