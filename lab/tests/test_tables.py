"""Tables in every form, and pages that keep their words."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from gossamer_lab.tables import Report, Table, csv_text, fill, markdown, to_json, write

TABLE = Table(
    "one",
    "A title",
    [{"method": "a|b", "score": 12.345, "n": 1000}, {"method": "50 % & more", "score": None, "n": 7, "good": True}],
    ["A note."],
    {"score": 2},
)
MACHINE = {"processor": "an abacus", "gossamer": "0.1.0", "cores": 2, "date": "2026-01-02"}


def report(*tables: Table) -> Report:
    return Report("page", "gossamer eval compare x", "some data", tables or (TABLE,), 3.0, MACHINE)


def test_markdown() -> None:
    assert markdown(TABLE).splitlines() == [
        "**A title**",
        "",
        "| method | score | n | good |",
        "| --- | ---: | ---: | ---: |",
        "| a\\|b | 12.35 | 1,000 |  |",
        "| 50 % & more |  | 7 | yes |",
        "",
        "A note.",
    ]


def test_csv_keeps_all_digits() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(TABLE))))
    assert rows[0] == {"method": "a|b", "score": "12.345", "n": "1000", "good": ""}


def test_negative_numbers_have_a_minus() -> None:
    assert TABLE.written("score", -1.5) == "−1.50"
    assert TABLE.written("score", float("nan")) == ""
    assert Table("t", "T", [], digits={"share": ".1%"}).written("share", 0.1234) == "12.3%"


def test_json_is_plain() -> None:
    told = json.loads(json.dumps(to_json(report())))
    assert told["tables"][0]["rows"][0]["score"] == 12.345
    assert told["machine"] == MACHINE


def test_a_page_names_command_data_date_and_machine(tmp_path: Path) -> None:
    files = write(report(), tmp_path)
    page = (tmp_path / "page.md").read_text()
    for part in ("`gossamer eval compare x`", "some data", "2026-01-02", "an abacus, 2 cores"):
        assert part in page
    assert {file.name for file in files} == {"page.md", "page.json", "one.csv"}
    assert all(file.exists() for file in files)


def test_words_around_tables_are_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Mine\n\nBefore.\n<!-- table one -->\nold\n<!-- end -->\n<!-- table made -->\n<!-- end -->\nAfter.\n"
    )
    write(report(), tmp_path)
    write(report(), tmp_path)
    text = page.read_text()
    assert text.startswith("# Mine\n\nBefore.\n")
    assert text.endswith("After.\n")
    assert "old" not in text
    assert text.count("A title") == 1
    assert text.count("<!-- end -->") == 2


@pytest.mark.parametrize("key", ["one", "o.e"])
def test_only_its_own_place_is_filled(key: str) -> None:
    page = "<!-- table one -->\nx\n<!-- end -->\n<!-- table two -->\ny\n<!-- end -->\n"
    filled = fill(page, report(Table(key, "T", [{"a": "b"}])))
    assert "y" in filled
    assert filled.startswith(page) == (key != "one")  # what has no place yet comes at the end
    assert filled.count("**T**") == 1
