"""Rankings kept on disk by what made them, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from gossamer_lab.engine import source_digest
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import Found, Method


class Rankings:
    """A folder of rankings. With `fresh=True` nothing is read from it; everything is computed once more and kept."""

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder = folder / "rankings"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._fresh = fresh
        self._made: set[Path] = set()

    def rank(self, task: Prepared, method: Method, k: int) -> Found:
        """The ranking of a method, read from the folder or computed now."""
        path = self._folder / f"{_key(task, method, k)}.npz"
        found = None if self._fresh and path not in self._made else _read(path)
        if found is None:
            found = method.rank(task, k)
            _write(path, found)
            self._made.add(path)
        return found


def _key(task: Prepared, method: Method, k: int) -> str:
    made_of = {
        "engine": source_digest(),
        "texts": task.data.collection.fingerprint,
        "vectors": task.data.fingerprint,
        "method": method.name,
        "order": task.order,
        "k": k,
    }
    return hashlib.blake2b(json.dumps(made_of, sort_keys=True).encode(), digest_size=16).hexdigest()


def _read(path: Path) -> Found | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            return Found(file["rows"].astype(np.int64), float(file["build"]), float(file["search"]))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None  # missing or damaged: it is computed again


def _write(path: Path, found: Found) -> None:
    """Write to a temporary file and rename it, so that Ctrl-C leaves no half of a file."""
    handle, aside = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, rows=found.rows.astype(np.int32), build=found.build, search=found.search)
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
