"""Large arrays of zeros are in a file, and are arrays like others."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest

from gossamer.files import scratch


@pytest.mark.parametrize("large", [1 << 28, 1])
def test_zeros_can_be_written_to(monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    monkeypatch.setattr(scratch, "_LARGE", large)
    array = scratch.zeros(300, 7)
    assert array.shape == (300, 7)
    assert not array.any()
    array[:] = np.arange(7)
    assert array.sum() == 300 * 21
    assert array.base is None or large == 1


def test_they_are_in_memory_where_there_is_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError("no space left")

    monkeypatch.setattr(scratch, "_LARGE", 1)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert scratch.zeros(3, 2).tolist() == [[0.0, 0.0]] * 3
