"""Tables of other libraries become documents."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from bag import encode
from gossamer import Index
from gossamer.errors import DtypeError, InputError, ParameterError

COLUMNS: dict[str, list[Any]] = {
    "key": [1, 2, 3],
    "title": ["Moon", None, "Bread"],
    "body": ["the moon is gold", "wolf and river", "bread and milk"],
    "year": [2019, 2020, None],
    "day": [datetime.date(2024, 1, 5), None, datetime.date(2025, 2, 1)],
    "price": [Decimal("1.5"), Decimal(2), None],
}


def as_pandas() -> Any:
    return pytest.importorskip("pandas").DataFrame(COLUMNS)


def as_polars() -> Any:
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def as_lazy() -> Any:
    return as_polars().lazy()


def as_arrow() -> Any:
    return pytest.importorskip("pyarrow").table(COLUMNS)


def as_dataset() -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict({**COLUMNS, "price": [1.5, 2.0, None]})


def as_dicts() -> Any:
    return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


@pytest.mark.parametrize("made", [as_pandas, as_polars, as_lazy, as_arrow, as_dataset, as_dicts])
def test_every_kind_of_table(made: Callable[[], Any]) -> None:
    with Index(encode) as index:
        assert index.add_table(made(), text=["title", "body"], id="key") == ["1", "2", "3"]
        first, second, third = index.get(["1", "2", "3"])
    assert first.text == "Moon\nthe moon is gold"
    assert second.text == "wolf and river"
    assert first.metadata["day"].startswith("2024-01-05")
    assert first.metadata["price"] == 1.5
    assert second.metadata == {"year": 2020, "price": 2.0}
    assert "year" not in third.metadata


def test_metadata_can_be_chosen() -> None:
    with Index(encode) as index:
        index.add_table(as_dicts(), text="body", metadata=["year"])
        assert [document.metadata for document in index.get(index.ids())] == [{"year": 2019}, {"year": 2020}, {}]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"text": "bodi"}, ParameterError, "no column 'bodi': did you mean 'body'"),
        ({"text": "title"}, InputError, "row 1 has no text in 'title': drop such rows"),
        ({"text": "key"}, DtypeError, "convert the column to strings"),
        ({"text": "body", "id": "year"}, InputError, "row 2 has no id"),
        ({"text": "body", "metadata": "year"}, ParameterError, "metadata is a list of names"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_added(arguments: dict[str, Any], error: type, says: str) -> None:
    with Index(encode) as index:
        with pytest.raises(error, match=says):
            index.add_table(as_dicts(), **arguments)
        with pytest.raises(DtypeError, match="row 1 is str, not a dict"):
            index.add_table([{"body": "moon"}, "moon"], text="body")
        assert len(index) == 0


def test_add_names_add_table() -> None:
    table = pytest.importorskip("pyarrow").table({"body": ["a"]})
    with Index(encode) as index:
        with pytest.raises(DtypeError, match=r"add_table\(table, text="):
            index.add(table)
        with pytest.raises(DtypeError, match="to add texts, use add"):
            index.add_table("a text", text="body")
        with pytest.raises(DtypeError, match="use add"):
            index.add_table(["a text"], text="body")
        assert len(index) == 0
