"""Encodings, compression and files that are no text."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path

import pytest

from gossamer.errors import InputError
from gossamer.readers import read


def one(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    (record,) = read(path)
    return record.text


@pytest.mark.parametrize(
    "content",
    ["naïve 漢".encode(), "naïve 漢".encode("utf-8-sig"), "naïve 漢".encode("utf-16")],
    ids=["plain", "bom", "utf-16"],
)
def test_marks_at_the_beginning_are_understood(tmp_path: Path, content: bytes) -> None:
    assert one(tmp_path / "a.txt", content) == "naïve 漢"


def test_wrong_bytes_are_replaced_and_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"text": "caf\xe9"}\n{"text": "na\xefve"}\n{"text": "漢"}\n'.encode("latin-1", "replace"))
    with caplog.at_level(logging.WARNING):
        assert [record.text for record in read(path)] == ["caf\ufffd", "na\ufffdve", "?"]
    assert [record.message for record in caplog.records] == [
        f"{path} is not all UTF-8: what cannot be read is replaced by \ufffd"
    ]


def test_good_text_is_not_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert one(tmp_path / "a.txt", "\ufffd naïve 😀".encode()) == "\ufffd naïve 😀"
    assert caplog.records == []


def test_binary_files_in_folders_are_skipped_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.txt").write_bytes(b"PK\x03\x04\0\0")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"\x7fELF\0"))
    (tmp_path / "c.txt").write_text("text")
    with caplog.at_level(logging.WARNING):
        reading = read(tmp_path)
        assert [record.id for record in reading] == ["c.txt"]
    assert (reading.binary, reading.skipped) == (2, 2)
    assert "a.txt: a binary file" in caplog.text


def test_a_binary_file_that_was_named_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "report.xls"
    path.write_bytes(b"XLS\0\1")
    with pytest.raises(InputError, match=r"report\.xls: a binary file, not text\. Convert"):
        list(read(path))
    reading = read(path, on_error="skip")
    assert list(reading) == []
    assert reading.broken == 1


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"text " * 5000)[:-20], gzip.compress(b"x") + b"junk"],
    # gzip puts the time of day into its header: workers that started a second apart would see other names.
    ids=["not gzip", "cut off", "junk at the end"],
)
def test_broken_compression_names_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.txt\.gz: cannot be read"):
        list(read(path))
    (tmp_path / "b.txt").write_text("fine")
    reading = read(tmp_path, on_error="skip")
    assert [record.id for record in reading] == ["b.txt"]
    assert reading.broken == 1


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a.txt.gz", r"more than 16,777,216 characters, which would be read as a whole\. Split it"),
        ("a.json.gz", r"more than 268,435,456 characters, .*\. Write it as \.jsonl"),
        ("a.jsonl.gz", r"line 1 has more than 67,108,864 characters"),
        ("a.csv.gz", r"line 1 has more than 67,108,864 characters"),
    ],
)
def test_little_that_unpacks_to_much(tmp_path: Path, name: str, what: str) -> None:
    """300 MB of one letter in 300 kB; ten times as much takes no more memory."""
    (tmp_path / name).write_bytes(gzip.compress(b"x" * 2_000_000) * 150)
    with pytest.raises(InputError, match=rf"{name}: {what}"):
        list(read(tmp_path))
    reading = read(tmp_path, on_error="skip")
    assert list(reading) == []
    assert reading.broken == 1


def test_a_file_that_went_away_names_itself(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    reading = read(tmp_path)
    (tmp_path / "a.txt").unlink()
    with pytest.raises(InputError, match=r"a\.txt: cannot be read"):
        list(reading)
