"""Our reader and writer of the safetensors format, against the library of the format."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from gossamer.files import tensors

ARRAYS: dict[str, Any] = {
    "a": np.arange(12, dtype=np.float32).reshape(3, 4),
    "empty": np.zeros((0, 5), np.float64),
    "b": np.arange(7, dtype=np.int8),
    "number": np.array(5, np.int64),
    "flags": np.array([True, False]),
    "µ": np.arange(6, dtype=np.float64)[::2],
}


def test_the_library_reads_what_we_write_and_the_other_way_round() -> None:
    ours = b"".join(tensors.pieces(ARRAYS))
    for found in (load(ours), tensors.read(bytearray(ours)), tensors.read(bytearray(save(load(ours))))):
        assert set(found) == set(ARRAYS)
        for name, array in ARRAYS.items():
            assert found[name].dtype == array.dtype
            assert found[name].shape == array.shape
            assert np.array_equal(found[name], array)
    assert tensors.read(bytearray(ours))["a"].flags.writeable
    assert all(
        array.ctypes.data % array.itemsize == 0 for array in tensors.read(bytearray(ours)).values() if array.size
    )


def test_whatever_is_wrong_is_said() -> None:
    ours = b"".join(tensors.pieces(ARRAYS))
    rng = random.Random(0)
    refused = 0
    for _ in range(3000):
        bad = bytearray(ours)
        for _ in range(rng.choice([1, 1, 3])):
            bad[rng.randrange(min(len(bad), 600))] = rng.randrange(256)
        bad = bad[: rng.randrange(len(bad))] if rng.random() < 0.2 else bad
        try:
            tensors.read(bad)
        except tensors.TensorError:
            refused += 1
    assert refused > 1000
    for wrong in (b"", b"\0" * 8, b"\x02\0\0\0\0\0\0\0[]", ours + b"\0"):
        with pytest.raises(tensors.TensorError):
            tensors.read(bytearray(wrong))
