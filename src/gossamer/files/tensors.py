"""Arrays in the safetensors format: a length, a JSON header, then the arrays end to end.

Arrays are written one by one, so that saving needs no further memory. They are read as views of one buffer, or each
mapped from the file: then memory is taken by the parts that are used, the system can take it back, and what is written
to an array stays in this process. The package safetensors is not used: it builds the whole file in memory and aborts
the process if that is too little. The tests compare the two.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_NAMES: Final = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_DTYPES: Final = {np.dtype(code): name for name, code in _NAMES.items()}
_LARGEST_HEADER: Final = 1 << 26

_MAPPED: Final = 1 << 20
"""Bytes from which on an array is mapped: a mapping takes whole pages, and a system call."""


class TensorError(ValueError):
    """The bytes are not arrays in this format."""


def pieces(arrays: Mapping[str, npt.NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """The content of a file with these arrays, piece by piece; equal arrays give equal bytes."""
    # Wide items first, so that every array is aligned.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header, offset = {}, 0
    for name, array in ordered:
        described = {"dtype": _DTYPES[array.dtype], "shape": list(array.shape)}
        header[name] = {**described, "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text = text.ljust(-(-len(text) // 8) * 8)
    yield len(text).to_bytes(8, "little") + text
    for _, array in ordered:
        if array.size:
            yield np.ascontiguousarray(array).data.cast("B")


def read(buffer: bytearray | bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays in a buffer, as views of it: they are writable if the buffer is."""
    start, header = _header(buffer, len(buffer))
    return {name: _view(buffer, start, entry) for name, entry in header.items()}


def mapped(file: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays in a file: large ones mapped, each by itself, and small ones read. All of them are writable."""
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        head = opened.read(8)
        start, header = _header(head + opened.read(min(int.from_bytes(head, "little"), _LARGEST_HEADER)), size)
        found = {}
        for name, entry in header.items():
            first, end = entry["data_offsets"]
            if end - first >= _MAPPED:
                found[name] = _mapping(file, start + first, entry)
            else:
                opened.seek(start + first)
                found[name] = _view(bytearray(opened.read(end - first)), -first, entry)
        return found


def _header(content: bytearray | bytes, size: int) -> tuple[int, dict[str, Any]]:
    """Where the arrays of a file of `size` bytes start, and the description of each, checked.

    `content` is its beginning, the header at least.
    """
    length = int.from_bytes(content[:8], "little")
    if size < 8 or not 2 <= length <= min(_LARGEST_HEADER, size - 8):
        raise TensorError("its header has no sensible length")
    try:
        header = json.loads(bytes(content[8 : 8 + length]))
        if not isinstance(header, dict):
            raise TensorError("its header is no object")
        header.pop("__metadata__", None)
        ends = [_check(name, entry) for name, entry in header.items()]
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, TensorError) else TensorError(f"its header cannot be read: {error}") from error
    at = 0
    for start, end in sorted(ends):
        if start != at:
            raise TensorError("its arrays overlap or leave gaps")
        at = end
    if at != size - 8 - length:
        raise TensorError("its arrays do not end where the file does")
    return 8 + length, header


def _check(name: str, entry: Any) -> tuple[int, int]:
    """The start and end of an array, if its description is valid."""
    try:
        start, end = entry["data_offsets"]
        shape, size = entry["shape"], np.dtype(_NAMES[entry["dtype"]]).itemsize
        sound = all(type(value) is int and value >= 0 for value in (start, end, *shape))
        if sound and end - start == math.prod(shape) * size:
            return start, end
    except (KeyError, TypeError, ValueError):
        pass
    raise TensorError(f"its array {name[:100]!r} is not described as it must be")


def _view(buffer: bytearray | bytes, start: int, entry: Any) -> npt.NDArray[Any]:
    dtype, count = np.dtype(_NAMES[entry["dtype"]]), math.prod(entry["shape"])
    view = np.frombuffer(buffer, dtype, count, start + entry["data_offsets"][0]) if count else np.zeros(0, dtype)
    return _shaped(view, entry)


def _mapping(file: Path, start: int, entry: Any) -> npt.NDArray[Any]:
    dtype, count = np.dtype(_NAMES[entry["dtype"]]), math.prod(entry["shape"])
    flat: npt.NDArray[Any] = np.memmap(file, dtype, "c", start, (count,)).view(np.ndarray)
    return _shaped(flat, entry)


def _shaped(flat: npt.NDArray[Any], entry: Any) -> npt.NDArray[Any]:
    try:
        return flat.reshape(entry["shape"])
    except ValueError as error:  # an empty array with dimensions that NumPy does not allow
        raise TensorError(f"no array has the shape {str(entry['shape'])[:100]}") from error
