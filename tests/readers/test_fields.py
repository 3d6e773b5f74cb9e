"""Which field is the text, which the id, and what becomes metadata."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import InputError
from gossamer.readers import ID_FIELDS, TEXT_FIELDS, Record, read
from gossamer.readers.values import DROP, clean, json_value, typed


def one(tmp_path: Path, fields: dict[str, Any], **options: Any) -> Record:
    (tmp_path / "rows.jsonl").write_text("\n" + json.dumps(fields))
    (record,) = read(tmp_path, **options)
    return record


@pytest.mark.parametrize("name", TEXT_FIELDS)
def test_the_usual_names_of_text(tmp_path: Path, name: str) -> None:
    assert one(tmp_path, {"x": "no", name: "yes"}).text == "yes"


def test_the_first_name_that_holds_something_is_taken(tmp_path: Path) -> None:
    record = one(tmp_path, {"abstract": "c", "body": "b", "text": ""})
    assert (record.text, record.metadata) == ("b", {"abstract": "c", "text": ""})


@pytest.mark.parametrize(
    ("title", "text", "whole"),
    [
        ("Trees", "They grow.", "Trees. They grow."),
        ("Do they?", "They do.", "Do they? They do."),
        (" Trees ", "", "Trees"),
        ("", "They grow.", "They grow."),
        (None, "They grow.", "They grow."),
    ],
)
def test_the_title_comes_first(tmp_path: Path, title: str | None, text: str, whole: str) -> None:
    record = one(tmp_path, {"title": title, "text": text})
    assert record.text == whole
    assert record.metadata == {"title": title}


def test_a_title_alone_is_text(tmp_path: Path) -> None:
    assert one(tmp_path, {"title": "Trees"}).text == "Trees"


def test_a_chosen_text_field_stands_alone(tmp_path: Path) -> None:
    record = one(tmp_path, {"title": "T", "text": "t", "summary": "s"}, text_field="summary")
    assert (record.text, record.metadata) == ("s", {"title": "T", "text": "t"})
    assert one(tmp_path, {"title": "T", "text": "t"}, text_field="title").text == "T"


def test_several_text_fields_are_joined(tmp_path: Path) -> None:
    fields = {"title": "Trees", "story": "They grow.", "coda": "Slowly", "year": 2020}
    record = one(tmp_path, fields, text_field=["title", "story", "coda"])
    assert record.text == "Trees. They grow. Slowly"
    assert record.metadata == {"title": "Trees", "year": 2020}, "a title stays, to be shown"
    reading = read(tmp_path, text_field=["coda", "story", "coda"])
    assert [(each.text, each.metadata) for each in reading] == [
        ("Slowly. They grow.", {"title": "Trees", "year": 2020})
    ]
    assert [choice.text for choice in reading.fields] == ["coda + story"]


def test_a_row_may_lack_one_of_several_text_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"head": "One", "body": "a"}\n{"body": "b"}\n{"head": "Three", "body": null}\n{"x": 1}\n')
    reading = read(path, text_field=["head", "body"])
    assert [record.text for record in reading] == ["One. a", "b", "Three"]
    assert reading.empty == 1


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_misspelt_field_names_the_near_ones(tmp_path: Path, name: str) -> None:
    row = (
        '{"Headline": "One", "headlong": "x", "body": "a"}' if name == "a.jsonl" else "Headline,headlong,body\nOne,x,a"
    )
    (tmp_path / name).write_text(row)
    says = r"there is no field 'headlin' among .*\. Did you mean 'Headline' or 'headlong'\? Choose another text_field"
    for wrong in ("headlin", ["headlin", "body"], ["body", "headlin"]):
        with pytest.raises(InputError, match=says):
            list(read(tmp_path / name, text_field=wrong))
    with pytest.raises(InputError, match=r"no field 'bdoy'.*Did you mean 'body'\? Choose another id_field"):
        list(read(tmp_path / name, text_field="body", id_field="bdoy"))


@pytest.mark.parametrize(("value", "text"), [(["One.", "Two."], "One. Two."), (7, "7"), (1.5, "1.5")])
def test_text_that_is_not_quite_text(tmp_path: Path, value: Any, text: str) -> None:
    assert one(tmp_path, {"text": value}).text == text


@pytest.mark.parametrize("value", [{"a": 1}, [1], True])
def test_what_is_no_text_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InputError, match=r"rows\.jsonl:2: the field 'text' holds .*, not text"):
        one(tmp_path, {"text": value})


def test_no_text_field_lists_the_fields_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rows\.jsonl:2: no text: .* is among 'name', 'x'\. Choose a text_field"):
        one(tmp_path, {"name": "n", "x": 1})
    with pytest.raises(InputError, match="no field 'y' among 'name', 'x'"):
        one(tmp_path, {"name": "n", "x": 1}, text_field="y")


@pytest.mark.parametrize("name", ID_FIELDS)
def test_the_usual_names_of_ids(tmp_path: Path, name: str) -> None:
    record = one(tmp_path, {"text": "t", name: 17})
    assert (record.id, record.metadata) == ("17", {})


@pytest.mark.parametrize("value", [None, "", "  ", True, [1], {"$oid": "x"}])
def test_an_unusable_id_falls_back_to_the_line(tmp_path: Path, value: Any) -> None:
    record = one(tmp_path, {"text": "t", "id": value})
    assert record.id == "rows.jsonl:2"
    assert record.metadata == {"id": value}


def test_a_chosen_id_field(tmp_path: Path) -> None:
    record = one(tmp_path, {"text": "t", "id": 1, "key": "k"}, id_field="key")
    assert (record.id, record.metadata) == ("k", {"id": 1})
    with pytest.raises(InputError, match="no id: there is no field 'nokey'; the fields are"):
        one(tmp_path, {"text": "t", "id": 1}, id_field="nokey")
    with pytest.raises(InputError, match="no id: the field 'key' is empty; the fields are"):
        one(tmp_path, {"text": "t", "key": " "}, id_field="key")


def test_the_rest_is_metadata_nested_as_it_is(tmp_path: Path) -> None:
    rest = {"a": {"b": [1, None, {"c": True}]}, "é": 1.5, "n": 2**62}
    assert one(tmp_path, {"text": "t", "id": 1, **rest}).metadata == rest


def test_what_json_cannot_hold_is_mended_or_dropped() -> None:
    moment = datetime(2020, 1, 2, 3, 4, 5)
    uuid = UUID(int=5)
    value = {
        "nan": float("nan"),
        "inf": [float("inf")],
        "bytes": b"x",
        "in list": [1, b"x", 2],
        "date": date(2020, 1, 2),
        "moment": moment,
        "time": time(3, 4),
        "decimal": Decimal("1.50"),
        "uuid": uuid,
        "nul": "a\0b",
        "half": "\ud800x",
        3: (1, 2),
    }
    assert json_value(value) == {
        "nan": None,
        "inf": [None],
        "in list": [1, 2],
        "date": "2020-01-02",
        "moment": "2020-01-02T03:04:05",
        "time": "03:04:00",
        "decimal": 1.5,
        "uuid": str(uuid),
        "nul": "a\ufffdb",
        "half": "\ufffdx",
        "3": [1, 2],
    }
    assert json_value(b"x") is DROP


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=json_values)
def test_json_stays_as_it_is(value: Any) -> None:
    text = json.dumps(value)
    if "\\u0000" not in text and "\\ud" not in text:
        assert json_value(value) == value


@given(text=st.text(st.characters()))
def test_clean_text_can_be_stored(text: str) -> None:
    mended = clean(text)
    assert "\0" not in mended.encode().decode()
    assert clean(mended) == mended


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"x": json.loads("[" * 64 + "]" * 64)}, r"metadata nested more than 64 levels deep\. Make them flatter"),
        ({"x": json.loads("[" * 480 + "]" * 480)}, "metadata nested more than 64 levels deep"),
        ({"n": 2**63}, r"the number 9223372036854775808 .*\. Write it as text"),
        ({"k" * 1001: 1}, "a metadata key of 1,001 characters"),
        ({"long": "x" * 1_000_000}, "metadata of 1,000,012 characters of JSON"),
        ({"id": "x" * 1001}, "an id of 1,001 characters"),
        ({"text": "x" * (2**24 + 1)}, "a text of 16,777,217 characters"),
    ],
    ids=["65 levels", "480 levels", "number", "key", "long", "id", "text"],
)
def test_what_an_index_would_refuse_is_a_problem_of_its_line(tmp_path: Path, fields: Any, what: str) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "t", **fields}) + '\n{"text": "fine"}\n')
    with pytest.raises(InputError, match=rf"a\.jsonl:1: the document has {what}"):
        list(read(tmp_path))
    reading = read(tmp_path, on_error="skip")
    assert [record.text for record in reading] == ["fine"]
    assert reading.broken == 1


def test_names_of_fields_without_end_do_not_fill_a_message(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({f"{at}{'x' * 10_000}": 1 for at in range(1000)}))
    with pytest.raises(InputError) as caught:
        list(read(tmp_path))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2020", 2020),
        ("-5", -5),
        ("0", 0),
        ("007", "007"),
        ("1.50", 1.5),
        ("-0.5e3", -500.0),
        ("1e5", "1e5"),
        ("1.2.3", "1.2.3"),
        ("١٢", "١٢"),
        (" 7 ", 7),
        ("True", True),
        ("false", False),
        ("nan", "nan"),
        ("9" * 30, "9" * 30),
        (" text ", " text "),
        ("", DROP),
        ("  ", DROP),
    ],
)
def test_fields_of_tables_are_what_they_say(text: str, value: Any) -> None:
    assert typed(text) == value
    assert type(typed(text)) is type(value)


def test_a_table_of_numbers_in_a_folder_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# a comment\n1,2,3\n4,5,6\n")
    (tmp_path / "b.json").write_text('{"name": "x"}')
    reading = read(tmp_path, on_error="auto")
    assert list(reading) == []
    assert (reading.broken, reading.unread) == (
        0,
        {(".csv", "no field with text"): 1, (".json", "no field with text"): 1},
    )
    with pytest.raises(InputError, match=r"no text: .*--text-field name\)"):
        list(read(tmp_path / "b.json", on_error="auto"))
