"""Snapshots: the tree and the whitener after an operation, so that opening need not replay the whole log."""

from __future__ import annotations

import logging
import os
import shutil

from gossamer.errors import CorruptError, DiskError, GossamerError
from gossamer.files.bundle import fold, read_bundle, read_manifest, write_bundle
from gossamer.store.layout import Layout, sync_folder
from gossamer.vector_index.vector_index import VectorIndex

_KIND = "snapshot"
_KEPT = 2
"""The newest, and one more in case it turns out to be damaged."""

_log = logging.getLogger("gossamer.store")


def write_snapshot(layout: Layout, seq: int, identity: str, vectors: VectorIndex) -> None:
    """Write the snapshot of operation `seq` beside the others, then rename it in: it is there whole or not at all."""
    draft = layout.draft(seq)
    try:
        write_bundle(draft, _KIND, fold({"vectors": vectors.to_bundle()}, {"seq": seq, "identity": identity}, {}))
        shutil.rmtree(layout.snapshot(seq), ignore_errors=True)  # one that was found damaged
        os.rename(draft, layout.snapshot(seq))
        sync_folder(layout.folder)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, DiskError) or not isinstance(error, OSError):
            raise
        raise DiskError(f"could not write {layout.snapshot(seq)}: {error.strerror or error}") from error


def read_snapshot(layout: Layout, seq: int, identity: str) -> VectorIndex:
    """The index as it was after operation `seq`."""
    bundle = read_bundle(layout.snapshot(seq), _KIND)
    if bundle.params.get("seq") != seq or bundle.params.get("identity") != identity:
        raise CorruptError(f"{layout.snapshot(seq)} was taken elsewhere: another index, or another operation")
    return VectorIndex.from_bundle(bundle.part("vectors"))


def is_ours(layout: Layout, seq: int, identity: str) -> bool:
    """Whether there is a sound manifest of this index's snapshot `seq`; its arrays are not looked at."""
    try:
        params = read_manifest(layout.snapshot(seq))["params"]
    except GossamerError:
        return False
    return bool(params.get("seq") == seq and params.get("identity") == identity)


def remove_old(layout: Layout, identity: str, seq: int) -> int | None:
    """Remove all but the newest up to operation `seq`; returns the oldest that is kept, None while one is all there is.

    Folders of the same kind of name that are not of this index are nobody's concern.
    """
    found = [at for at in layout.snapshots() if at <= seq and is_ours(layout, at, identity)]
    for seq in found[_KEPT:]:
        shutil.rmtree(layout.snapshot(seq), ignore_errors=True)
    return found[_KEPT - 1] if len(found) >= _KEPT else None


def remove_drafts(layout: Layout) -> None:
    """Clear away snapshots that a crash left half written."""
    for draft in layout.drafts():
        _log.info("removed %s, a snapshot that was never finished", draft)
        shutil.rmtree(draft, ignore_errors=True)
