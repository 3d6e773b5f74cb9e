"""Encodings, compression and files that are no text."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path

import numpy as np
import pytest

from gossamer.errors import InputError, ParameterError
from gossamer.readers import read


def one(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    (record,) = read(path)
    return record.text


@pytest.mark.parametrize(
    "content",
    ["naïve 漢".encode(), "naïve 漢".encode("utf-8-sig"), "naïve 漢".encode("utf-16"), "naïve 漢".encode("utf-32")],
    ids=["plain", "bom", "utf-16", "utf-32"],
)
def test_marks_at_the_beginning_are_understood(tmp_path: Path, content: bytes) -> None:
    assert one(tmp_path / "a.txt", content) == "naïve 漢"


FRENCH = "Le château fut bâti près de la rivière, où les élèves préféraient l’été à l’hiver."
RUSSIAN = "Вчера вечером мы долго гуляли по набережной и говорили о книгах."


def test_western_text_that_is_not_utf_8_is_windows_1252(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(FRENCH.encode("cp1252"))
    (tmp_path / "b.md").write_bytes(b"Caf\xe9")
    (tmp_path / "c.txt").write_text(FRENCH, "utf-8")
    reading = read(tmp_path)
    assert [record.text for record in reading] == [FRENCH, "Café", FRENCH]
    assert reading.charsets == {"cp1252": [f"{tmp_path}/a.txt", f"{tmp_path}/b.md"]}


def test_lines_are_in_the_encoding_of_their_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    lines = [{"text": "plain"}, {"text": "café"}, {"text": "naïve “quotes”"}] * 4000  # the first block is not all
    content = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode("cp1252")
    path.write_bytes(gzip.compress(b'{"text": "ascii"}\n' * 3000 + content))
    reading = read(path)
    assert [record.text for record in reading][-3:] == ["plain", "café", "naïve “quotes”"]
    assert reading.charsets == {"cp1252": [str(path)]}


def test_utf_8_with_damaged_places_stays_utf_8(tmp_path: Path) -> None:
    content = "漢字 naïve 漢字".encode()
    path = tmp_path / "a.txt"
    path.write_bytes(content + b" \xe6\xbc " + content)
    reading = read(path)
    assert [record.text for record in reading] == ["漢字 naïve 漢字 \ufffd 漢字 naïve 漢字"]
    assert reading.charsets == {"utf-8": [str(path)]}


def test_other_scripts_are_not_guessed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(RUSSIAN.encode("cp1251"))
    with pytest.raises(InputError, match=r"a\.txt: neither UTF-8 nor western text: --charset names its encoding"):
        list(read(path))
    reading = read(tmp_path, on_error="auto")
    assert (list(reading), reading.broken) == ([], 1)
    assert "--charset" in caplog.text
    for name in ("cp1251", "koi8-r", "cp866"):
        path.write_bytes(RUSSIAN.encode(name))
        (record,) = reading = read(path, charset=name)
        assert record.text == RUSSIAN
    (tmp_path / "b.txt").write_bytes("昨日の夜、川のそばを歩きました。".encode("shift_jis"))
    assert [record.text for record in read(tmp_path / "b.txt", charset="shift_jis")] == [
        "昨日の夜、川のそばを歩きました。"
    ]


def test_a_charset_does_not_change_files_in_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(RUSSIAN, "utf-8")
    reading = read(tmp_path, charset="koi8-r")
    assert [record.text for record in reading] == [RUSSIAN]
    assert reading.charsets == {}


@pytest.mark.parametrize("name", ["latin9000", "utf-16", "hex", "rot13", "undefined", "unicode_escape", "idna", ""])
def test_a_charset_that_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match=r"charset must be an encoding that contains ASCII.* UTF-16 is recognised"):
        read(tmp_path, charset=name)


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes((FRENCH * 200).encode(name))
    reading = read(path)
    assert [record.text for record in reading] == [FRENCH * 200]
    assert reading.charsets == {name: [str(path)]}
    path.write_bytes(np.arange(5000, dtype=np.int16).tobytes())
    with pytest.raises(InputError, match="a binary file"):
        list(read(path))


def test_what_a_page_declares(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    for name, declared in (("koi8-r", "KOI8-R"), ("cp1252", "ISO-8859-1"), ("cp1251", "windows-1251")):
        text = FRENCH if name == "cp1252" else RUSSIAN
        path.write_bytes(f'<html><meta charset="{declared}"><p>{text}</p>'.encode(name))
        reading = read(path)
        assert [record.text for record in reading] == [text]
        assert reading.charsets == {}
    for nonsense in ("hex", "undefined", "utf-16", "unicode_escape", "nothing"):
        path.write_bytes(f'<meta charset="{nonsense}"><p>{FRENCH}</p>'.encode())
        assert [record.text for record in read(path)] == [FRENCH]
    (tmp_path / "b.xml").write_bytes(f'<?xml version="1.0" encoding="koi8-r"?><p>{RUSSIAN}</p>'.encode("koi8-r"))
    (record,) = read(tmp_path, glob="*.xml")
    assert RUSSIAN in record.text


def test_mail_that_does_not_tell_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(b"From: a@b.c\nSubject: Hello\n\n" + FRENCH.encode("cp1252"))
    assert [record.text for record in read(path)] == [f"Hello. {FRENCH}"]


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
