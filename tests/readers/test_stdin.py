"""Standard input."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from gossamer.errors import InputError
from gossamer.readers import read


def feed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> io.BytesIO:
    stream = io.BytesIO(content)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    return stream


def test_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = feed(monkeypatch, b"one\r\n\ntwo")
    reading = read("-")
    assert [(record.id, record.text, record.source) for record in reading] == [
        ("stdin:1", "one", "-"),
        ("stdin:3", "two", "-"),
    ]
    assert reading.empty == 1
    assert (reading.bytes_total, reading.bytes_done) == (None, 9)
    assert not stream.closed


def test_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b'\n{"id": 1, "text": "one", "x": 2}\n{"text": "two"}\n')
    first, second = read("-")
    assert (first.id, first.text, first.metadata) == ("1", "one", {"x": 2})
    assert second.id == "stdin:3"


def test_blank_lines_before_the_first_count_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b" \n\n" * 1000 + b"one\n\n")
    reading = read("-")
    assert [(record.id, record.text) for record in reading] == [("stdin:2001", "one")]
    assert reading.empty == 2001
    feed(monkeypatch, b"\n \n")
    reading = read("-")
    assert list(reading) == []
    assert reading.empty == 2


def test_after_an_object_a_line_that_is_none_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b'{"text": "one"}\nplain\n')
    with pytest.raises(InputError, match="-:2: not valid JSON"):
        list(read("-"))


@pytest.mark.parametrize("content", [b"[1, 2]\n", b'"text"\n', b"{not json}\n"])
def test_json_that_is_no_object_is_a_line_of_text(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    feed(monkeypatch, content)
    assert [record.text for record in read("-")] == [content.decode().strip()]


def test_lines_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b'{"text": "one"}\n')
    assert [record.text for record in read("-", lines=True)] == ['{"text": "one"}']


def test_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"")
    assert list(read("-")) == []


def test_together_with_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    feed(monkeypatch, b"piped\n")
    (tmp_path / "a.txt").write_text("file")
    reading = read([tmp_path / "a.txt", "-", "-"])
    assert [record.id for record in reading] == ["a.txt", "stdin:1"]
    assert reading.bytes_done == 10


def test_a_line_is_handed_on_before_the_next_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may be typing: the pipe stays open, and yet what is there is read."""
    reading_end, writing_end = os.pipe()
    with os.fdopen(reading_end, "rb") as stream, os.fdopen(writing_end, "wb", buffering=0) as pipe:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
        pipe.write(b"one\ntwo\n")
        reading = read("-")
        assert next(reading).text == "one"
        pipe.close()
        assert [record.text for record in reading] == ["two"]
