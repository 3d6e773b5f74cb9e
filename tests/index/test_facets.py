"""Values of metadata fields are counted as a loop over the documents would count them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bag import encode
from gossamer import Index, errors
from gossamer.index import facets as counting

METADATA: list[dict[str, Any]] = [
    {"kind": "a" if at % 3 else "b", "year": 2000 + at % 5, "odd": at % 2 == 1, "tags": ["x", "y"][: at % 3]}
    for at in range(40)
]
METADATA[7] = {
    "kind": None,
    "year": 2001.5,
    "nested": {"a": 1},
    "title": "a \"quoted\" 'title' \\ here",
    "long": "x" * 101,
}


@pytest.fixture
def index() -> Index:
    made = Index(encode)
    made.add([f"the sun and the moon {at}" for at in range(40)], [f"d{at}" for at in range(40)], METADATA)
    return made


def counted(metadata: list[dict[str, Any]]) -> dict[str, Counter[tuple[type, Any]]]:
    found: dict[str, Counter[tuple[type, Any]]] = {}
    for fields in metadata:
        for name, value in fields.items():
            for each in value if isinstance(value, list) else [value]:
                if each is not None and not isinstance(each, dict) and len(str(each)) <= 100:
                    found.setdefault(name, Counter())[(type(each), each)] += 1
    return found


def as_counters(found: Any) -> dict[str, Counter[tuple[type, Any]]]:
    return {
        facet.field: Counter({(type(each.value), each.value): each.count for each in facet.values})
        for facet in found.fields
    }


def test_of_all_documents_and_of_those_that_match(index: Index) -> None:
    found = index.facets(most=100)
    assert as_counters(found) == counted(METADATA)
    assert found.counted == found.documents == 40
    some = index.facets(where={"year": {"$gte": 2003}}, most=100)
    assert as_counters(some) == counted([each for each in METADATA if each["year"] >= 2003])
    concept = index.concepts(1)[1]
    inside = [METADATA[int(id[1:])] for id in index.ids(within=concept.id)]
    assert as_counters(index.facets(within=concept.id, most=100)) == counted(inside)


def test_of_the_best_answers(index: Index) -> None:
    best = [hit.metadata for hit in index.search("moon 12", 7)]
    assert as_counters(index.facets("moon 12", k=7, most=100)) == counted(best)
    assert index.facets("moon", where={"kind": "nothing"}) == index.facets(where={"kind": "nothing"})


def test_the_most_frequent_come_first_and_ranges_are_told(index: Index) -> None:
    (year,) = (facet for facet in index.facets(most=2).fields if facet.field == "year")
    assert [each.count for each in year.values] == sorted((each.count for each in year.values), reverse=True)
    assert len(year.values) == 2
    assert (year.distinct, year.count, year.least, year.most) == (6, 40, 2000, 2004)


def test_of_very_many_documents_a_sample_is_counted(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SAMPLE", 10)
    found = index.facets()
    assert (found.counted, found.documents) == (10, 40)
    assert sum(each.count for facet in found.fields if facet.field == "year" for each in facet.values) == 10


def test_an_empty_index_and_wrong_arguments(index: Index) -> None:
    with Index(encode) as empty:
        assert empty.facets().fields == empty.facets("moon").fields == ()
    with pytest.raises(errors.ParameterError, match="most"):
        index.facets(most=0)
    with pytest.raises(errors.UnknownIdError):
        index.facets(within=999_999)
    with pytest.raises(errors.FilterError):
        index.facets(where={"a": {"$near": 1}})
