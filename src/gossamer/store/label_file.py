"""The file `labels`: words that were derived from the documents, kept so that they need not be made again.

    header    magic, identity of the index, operation, length of the text, CRC-32 of what follows; CRC-32 of these
    body      text, compressed by zlib

It is written under another name and renamed, so it is there whole or not at all. It is not synced: where it is missing,
damaged or of another index, the labels are made again.
"""

import logging
import os
import struct
import zlib
from typing import Final, NamedTuple

from gossamer.store.layout import Layout, disk_errors

_log = logging.getLogger("gossamer.store")

_MAGIC: Final = b"gossamer labels\n"
_HEADER: Final = struct.Struct("<16s32sQQI")
_CRC: Final = struct.Struct("<I")
_LONGEST: Final = 1 << 30
"""Characters of the text, at most."""


class SavedLabels(NamedTuple):
    """What the file holds: the operation that the labels are of, and the labels as text."""

    operation: int
    text: str


def write_labels(layout: Layout, identity: str, saved: SavedLabels) -> None:
    """Replace the file."""
    raw = saved.text.encode()
    body = zlib.compress(raw, 1)
    head = _HEADER.pack(_MAGIC, identity.encode("ascii", "replace"), saved.operation, len(raw), zlib.crc32(body))
    draft = layout.labels_draft
    with disk_errors(f"{layout.labels} could not be written"):
        try:
            draft.write_bytes(head + _CRC.pack(zlib.crc32(head)) + body)
            os.replace(draft, layout.labels)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


def read_labels(layout: Layout, identity: str) -> SavedLabels | None:
    """The labels of the index `identity`; None where there are none, or the file is damaged or of another index."""
    try:
        content = layout.labels.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("%s cannot be read, labels are made again: %s", layout.labels, error)
        return None
    try:
        return _parsed(content, identity)
    except (ValueError, zlib.error, struct.error) as error:
        _log.warning("%s is damaged, labels are made again: %s", layout.labels, error)
        return None


def _parsed(content: bytes, identity: str) -> SavedLabels:
    head, rest = content[: _HEADER.size], content[_HEADER.size :]
    magic, owner, operation, length, crc = _HEADER.unpack(head)
    if magic != _MAGIC or _CRC.unpack(rest[: _CRC.size])[0] != zlib.crc32(head):
        raise ValueError("its header was altered")
    if owner.decode("ascii", "replace") != identity:
        raise ValueError("it is of another index")
    body = rest[_CRC.size :]
    if length > _LONGEST or zlib.crc32(body) != crc:
        raise ValueError("its checksum is wrong")
    raw = zlib.decompressobj().decompress(body, length + 1)
    if len(raw) != length:
        raise ValueError("its length is wrong")
    return SavedLabels(operation, raw.decode())
