"""The account of what was read: progress, and how little is held in memory."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import ParameterError
from gossamer.readers import read

LINE = json.dumps({"text": "word " * 40, "id": 1}) + "\n"
ROW = '1,"' + "word " * 40 + '"\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", LINE * 20_000),
        ("a.csv", "id,text\n" + ROW * 20_000),
        ("a.tsv", "id\ttext\n" + ROW.replace(",", "\t") * 20_000),
        ("a.jsonl.gz", LINE * 20_000),
    ],
)
def test_tables_are_streamed(tmp_path: Path, name: str, content: str) -> None:
    data = content.encode()
    (tmp_path / name).write_bytes(gzip.compress(data, 0) if name.endswith(".gz") else data)
    reading = read(tmp_path)
    total = reading.bytes_total
    assert total is not None
    assert total > 4_000_000
    assert reading.bytes_done == 0
    tracemalloc.start()
    for _ in range(10_000):
        next(reading)
    assert 0.45 * total < reading.bytes_done < 0.55 * total
    assert sum(1 for _ in reading) == 10_000
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert (reading.bytes_done, reading.records) == (total, 20_000)


def test_progress_goes_over_all_files_and_never_back(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text("x" * 1000)
    (tmp_path / "binary.txt").write_bytes(b"\0" * 500)
    (tmp_path / "empty.txt").write_bytes(b"")
    reading = read(tmp_path)
    done = [reading.bytes_done for _ in reading]
    assert done == sorted(done)
    assert reading.bytes_done == reading.bytes_total == 5500
    assert (reading.records, reading.empty, reading.binary, reading.skipped) == (5, 1, 1, 2)


def test_reading_may_be_left_at_any_time(tmp_path: Path) -> None:
    """Warnings are errors here: a file left open would be one."""
    (tmp_path / "a.jsonl").write_text(LINE * 10)
    reading = read(tmp_path)
    next(reading)
    del reading


def test_the_same_folder_gives_the_same_records(tmp_path: Path) -> None:
    for name in ("b.txt", "a.jsonl", "c/d.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('text\n{"text": "x"}\n' if name != "a.jsonl" else '{"text": "x"}\n')
    assert list(read(tmp_path)) == list(read(str(tmp_path)))


def test_choices_are_checked(tmp_path: Path) -> None:
    options: dict[str, Any] = {"on_error": "ignore"}
    with pytest.raises(ParameterError, match="'raise', 'skip'"):
        read(tmp_path, **options)
