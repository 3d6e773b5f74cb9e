"""Snapshots: tree, whitener and words as they were after an operation. Opening then replays only the log after it."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gossamer.errors import CorruptError, GossamerError
from gossamer.files.bundle import Bundle, fold, read_manifest, verifying, write_bundle
from gossamer.store.layout import Layout, disk_errors, remove_folder, sync_folder

_KIND = "snapshot"
_KEPT = 2
"""Snapshots that are kept: the newest, and the one before it in case the newest turns out to be damaged."""


class Snapshot(NamedTuple):
    """What is saved after an operation. Snapshots taken before format version 3 of the database have no words."""

    vectors: Bundle
    words: Bundle | None


_log = logging.getLogger("gossamer.store")


def write_snapshot(layout: Layout, seq: int, identity: str, content: Snapshot) -> None:
    """Write the snapshot of operation `seq` under another name, then rename it: it is there whole or not at all."""
    draft = layout.draft(seq)
    with disk_errors(f"could not write {layout.snapshot(seq)}"):
        try:
            parts = {name: part for name, part in content._asdict().items() if part is not None}
            write_bundle(draft, _KIND, fold(parts, {"seq": seq, "identity": identity}, {}))
            remove_folder(layout.snapshot(seq))  # one that was found damaged
            os.rename(draft, layout.snapshot(seq))
            sync_folder(layout.folder)
        except BaseException:
            remove_folder(draft)
            raise


@contextmanager
def reading_snapshot(layout: Layout, seq: int, identity: str) -> Iterator[Snapshot]:
    """Tree and words as they were after operation `seq`; `CorruptError` where the snapshot is of another index.

    Its checksum is computed while the block runs: what this makes of it is to be used if no error comes out of it.
    """
    with verifying(layout.snapshot(seq), _KIND) as bundle:
        if bundle.params.get("seq") != seq or bundle.params.get("identity") != identity:
            raise CorruptError(f"{layout.snapshot(seq)} was taken elsewhere: another index, or another operation")
        yield Snapshot(bundle.part("vectors"), bundle.part("words") if "words" in bundle.params else None)


def is_snapshot_of(layout: Layout, seq: int, identity: str) -> bool:
    """Whether snapshot `seq` is one of the index `identity`, by its manifest alone; its arrays are not read."""
    try:
        params = read_manifest(layout.snapshot(seq))["params"]
    except GossamerError:
        return False
    return bool(params.get("seq") == seq and params.get("identity") == identity)


def remove_old(layout: Layout, identity: str, seq: int) -> int | None:
    """Remove all but the newest `_KEPT` snapshots up to operation `seq`, leaving those of other indices alone.

    Returns the operation of the oldest that is kept; None where there are fewer than `_KEPT`.
    """
    found = [at for at in layout.snapshots() if at <= seq and is_snapshot_of(layout, at, identity)]
    for at in found[_KEPT:]:
        remove_folder(layout.snapshot(at))
    return found[_KEPT - 1] if len(found) >= _KEPT else None


def remove_drafts(layout: Layout) -> None:
    """Remove unfinished snapshots that a crash left."""
    for draft in layout.drafts():
        _log.info("removed %s, a snapshot that was never finished", draft)
        remove_folder(draft)
