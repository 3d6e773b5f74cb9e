"""CSV and TSV."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import InputError
from gossamer.readers import Record, read
from gossamer.readers.fields import Job
from gossamer.readers.formats.tables import read_csv
from gossamer.readers.opening import TooLargeError
from gossamer.readers.record import Account
from gossamer.readers.walk import Source


def rows(tmp_path: Path, content: str | bytes, name: str = "a.csv", **options: str) -> list[Record]:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read(path, **options))  # type: ignore[arg-type]


def test_fields_become_what_they_say(tmp_path: Path) -> None:
    (record,) = rows(tmp_path, 'id,text,year,price,code,flag,none\n7,"Hi, ""you""",2020,1.50,007,true,\n')
    assert (record.id, record.text) == ("7", 'Hi, "you"')
    assert record.metadata == {"year": 2020, "price": 1.5, "code": "007", "flag": True}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_told_from_the_header(tmp_path: Path, delimiter: str) -> None:
    content = delimiter.join(["id", "text", '"a,b;c|d\te"']) + "\n" + delimiter.join(["1", '"x, y; z | w"', "2"])
    (record,) = rows(tmp_path, content)
    assert (record.id, record.text, record.metadata) == ("1", "x, y; z | w", {"a,b;c|d\te": 2})


def test_one_column_is_enough(tmp_path: Path) -> None:
    assert [record.text for record in rows(tmp_path, "text\nhello there\nshalom\n")] == ["hello there", "shalom"]


def test_byte_order_mark_compression_and_windows_lines(tmp_path: Path) -> None:
    content = gzip.compress("\ufeffid,text\r\n1,naïve\r\n".encode())
    (record,) = rows(tmp_path, content, "a.csv.gz")
    assert (record.id, record.text) == ("1", "naïve")


def test_fields_longer_than_the_modules_limit(tmp_path: Path) -> None:
    long = "word " * 100_000
    (record,) = rows(tmp_path, f"id,text\n1,{long}\n")
    assert record.text == long


def test_lines_are_counted_where_rows_span_several(tmp_path: Path) -> None:
    found = rows(tmp_path, 'text,x\n"one\ntwo\nthree",1\nfour,2\n')
    assert [(record.id, record.text) for record in found] == [("a.csv:2", "one\ntwo\nthree"), ("a.csv:5", "four")]


def test_short_rows_lack_fields_and_long_ones_are_broken(tmp_path: Path) -> None:
    content = "id,text,x\n1,one\n2,two,3,4\n3,three,5\n\n"
    with pytest.raises(InputError, match=r"a\.csv:3: 4 fields, but the header has 3\. Quote"):
        rows(tmp_path, content)
    reading = read(tmp_path, on_error="skip")
    assert [(record.id, record.metadata) for record in reading] == [("1", {}), ("3", {"x": 5})]
    assert reading.broken == 1


def test_an_open_quote_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv:3: not valid CSV .*open quote"):
        rows(tmp_path, 'id,text\n1,one\n2,"two\n3,three\n')


def test_reading_goes_on_behind_a_bad_quote(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text\n1,"one"x\n2,two\n')
    reading = read(tmp_path, on_error="skip")
    assert [record.id for record in reading] == ["2"]
    assert reading.broken == 1


def test_headers(tmp_path: Path) -> None:
    (record,) = rows(tmp_path, ", text ,x\n0,hello,1\n")
    assert record.metadata == {"column_1": 0, "x": 1}
    with pytest.raises(InputError, match=r"a\.csv:1: two columns are called 'x'"):
        rows(tmp_path, "text,x,x\na,1,2\n")


@pytest.mark.parametrize("content", ["", "\n", "id,text\n"])
def test_nothing_in_it(tmp_path: Path, content: str) -> None:
    assert rows(tmp_path, content) == []


def test_tsv_with_quotes_that_mean_nothing(tmp_path: Path) -> None:
    """They may come long after the beginning: no look at the first lines tells."""
    calm = "".join(f"{number}\ttext\n" for number in range(3000))
    wild = ['"Foo" is a word', '"open', "three", 'it is"', '"all of it"', '"']
    content = "id\ttext\n" + calm + "".join(f"x\t{text}\n" for text in wild)
    found = rows(tmp_path, content, "a.tsv")
    assert [record.text for record in found[3000:]] == ['"Foo" is a word', '"open', "three", 'it is"', "all of it", '"']


def test_tsv_rows_of_another_width_are_broken(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.tsv:1502: 1 fields, but the header has 2"):
        rows(tmp_path, "id\ttext\n" + "1\tone\n" * 1500 + "alone\n", "a.tsv")


def test_tsv_with_quotes_that_mean_something(tmp_path: Path) -> None:
    found = rows(tmp_path, 'id\ttext\n1\t"a\tb ""c""\nd"\n2\tplain, text\n', "a.tsv")
    assert [record.text for record in found] == ['a\tb "c"\nd', "plain, text"]


def test_tsv_whose_sample_ends_inside_a_quoted_field(tmp_path: Path) -> None:
    long = "\n".join(["line"] * 2000)
    (record,) = rows(tmp_path, f'id\ttext\n1\t"{long}"\n', "a.tsv")
    assert record.text == long


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(table=st.lists(st.tuples(texts.filter(str.strip), texts), min_size=1, max_size=5), tab=st.booleans())
def test_what_the_csv_module_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, str]], tab: bool
) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter="\t" if tab else ",", quoting=csv.QUOTE_ALL)
    writer.writerow(["text", "note"])
    writer.writerows(table)
    found = rows(tmp_path_factory.mktemp("csv"), out.getvalue(), "a.tsv" if tab else "a.csv")
    assert [record.text for record in found] == [text for text, _ in table]
    for record, (_, note) in zip(found, table, strict=True):
        assert str(record.metadata.get("note", "")).strip().lower() in (
            note.strip().lower(),
            str(_number(note)).lower(),
        )


def _number(note: str) -> float | str:
    try:
        return float(note)
    except ValueError:
        return note


def test_a_header_beyond_the_limit_of_the_csv_module(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"text,{'x' * 200_000}\nhello,1\n")
    with pytest.raises(InputError, match=r"a\.csv:2: the document has a metadata key of 200,000 characters"):
        list(read(tmp_path))


def test_a_row_that_never_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,x\n" + "fine,1\n" * 500 + "row," + '"line\n",' * 200 + "\nlater,1\n")
    records = read_csv(Source(path, "a.csv", 0, named=True), Job(Account(), longest_row=1000))
    assert len([next(records) for _ in range(500)]) == 500
    with pytest.raises(
        TooLargeError, match=r"the row that begins at line 502 has more than 1,000 characters"
    ) as caught:
        next(records)
    assert caught.value.cure == "Look for an open quote"
