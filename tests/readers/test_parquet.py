"""Parquet, where pyarrow is there; and what is said where it is not."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import InputError, MissingExtraError
from gossamer.readers import read


def write(path: Path, rows: list[dict[str, Any]], **options: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path, **options)


def test_rows(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "_id": 1,
            "title": "T",
            "text": "one",
            "when": datetime(2020, 1, 2),
            "raw": b"x",
            "tags": ["a"],
            "o": {"b": 1},
        },
        {"_id": None, "title": None, "text": "two", "when": None, "raw": None, "tags": [], "o": None},
        {"_id": 3, "title": None, "text": None, "when": None, "raw": None, "tags": None, "o": None},
    ]
    write(tmp_path / "a.parquet", rows)
    reading = read(tmp_path)
    first, second = reading
    assert (first.id, first.text) == ("1", "T. one")
    assert first.metadata == {"title": "T", "when": "2020-01-02T00:00:00", "tags": ["a"], "o": {"b": 1}}
    assert second.id == "a.parquet:2"
    assert reading.empty == 1


def test_it_is_streamed(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [{"text": f"row {number}"} for number in range(5000)], row_group_size=500)
    reading = read(tmp_path)
    assert [next(reading).text for _ in range(2500)][-1] == "row 2499"
    assert reading.bytes_total is not None
    assert reading.bytes_done == reading.bytes_total // 2
    assert len(list(reading)) == 2500
    assert reading.bytes_done == reading.bytes_total


def test_a_broken_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match=r"a\.parquet: not valid Parquet"):
        list(read(tmp_path))
    reading = read(tmp_path, on_error="skip")
    assert list(reading) == []
    assert reading.broken == 1


def test_values_that_are_none_of_their_kind(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    broken = pyarrow.StringArray.from_buffers(1, pyarrow.py_buffer(b"\0\0\0\0\1\0\0\0"), pyarrow.py_buffer(b"\xff"))
    far = pyarrow.array([2**62], pyarrow.timestamp("ms"))
    for name, column in (("a", broken), ("b", far)):
        table = pyarrow.table({"text": ["x"], "value": column})
        pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / f"{name}.parquet")
        with pytest.raises(InputError, match=rf"{name}\.parquet: not valid Parquet"):
            list(read(tmp_path / f"{name}.parquet"))


@pytest.mark.parametrize("at", range(0, 400, 7))
def test_a_damaged_file(tmp_path: Path, at: int) -> None:
    write(tmp_path / "a.parquet", [{"text": f"row {number}", "n": number} for number in range(50)])
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[-1 - at] ^= 0xFF
    (tmp_path / "a.parquet").write_bytes(content)
    list(read(tmp_path, on_error="skip"))  # whatever comes of it, it is no traceback


def test_without_pyarrow_the_cure_is_named_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.parquet").write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r"Reading \.parquet .*gossamer\[parquet\]"):
        read(tmp_path)
    assert len(list(read(tmp_path / "a.txt"))) == 1
