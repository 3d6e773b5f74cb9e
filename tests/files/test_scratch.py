"""Large arrays are in files, and are arrays like others."""

from __future__ import annotations

import errno
import tempfile

import numpy as np
import pytest

from gossamer.files import scratch


@pytest.mark.parametrize("large", [1 << 28, 1])
def test_zeros_can_be_written_to_and_leave_memory(monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    monkeypatch.setattr(scratch, "_LARGE", large)
    array = scratch.zeros(300, 7)
    assert array.shape == (300, 7)
    assert not array.any()
    array[:] = np.arange(7)
    scratch.release(array, array[:2])
    assert array.sum() == 300 * 21
    assert array.base is None or large == 1


@pytest.mark.parametrize("large", [1 << 26, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_copy_is_one(monkeypatch: pytest.MonkeyPatch, large: int, dtype: type) -> None:
    monkeypatch.setattr(scratch, "_LARGE_COPY", large)
    array = np.arange(10_000 * 3, dtype=np.float32).reshape(3, -1).T % 2000  # not contiguous
    copy = scratch.copied(array, dtype)
    assert copy.dtype == dtype
    scratch.release(copy)
    np.testing.assert_array_equal(copy, array)
    before = array.copy()
    array[:] = -1
    np.testing.assert_array_equal(copy, before)


def test_what_is_changed_in_memory_alone_is_not_released() -> None:
    array = np.ones((2, 3))
    scratch.release(array, array[1:])
    assert array.sum() == 6


def test_they_are_in_memory_where_there_is_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(dir: str | None) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(scratch, "_LARGE", 1)
    monkeypatch.setattr(scratch, "_LARGE_COPY", 1)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert scratch.zeros(3, 2).tolist() == [[0.0, 0.0]] * 3
    assert scratch.copied(np.ones((2, 1), np.float32), np.float32).tolist() == [[1.0], [1.0]]
