"""Arguments that cannot be meant raise errors of ours, which say what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bag import encode
from gossamer import Index, VectorIndex
from gossamer.errors import DtypeError, GossamerError, InputError, ParameterError


@pytest.fixture
def index() -> Index:
    index = Index(encode)
    index.add(["a red moon", "warm bread", "a deep river"], ids=["sky", "bread", "river"])
    return index


@pytest.mark.parametrize(
    ("attempt", "kind", "says"),
    [
        (lambda ix: ix.more_like(["sky", "bread"]), DtypeError, "id is that of one document, a string, got list"),
        (lambda ix: ix.explain("moon", ["sky", "bread"]), DtypeError, "id is that of one document"),
        (lambda ix: ix.more_like(7), DtypeError, r"ids are strings, got int 7: convert it with str\(\)"),
        (lambda ix: ix.get(7), DtypeError, r"ids are strings, got int 7: convert it with str\(\)"),
        (lambda ix: ix.delete(np.int64(7)), DtypeError, "ids are strings, got int64 .*7"),
        (lambda ix: ix.search(np.ones(3)), DtypeError, "query must be a string, got float64.* pass vector="),
        (lambda ix: ix.search({"query": "moon"}), DtypeError, "query must be a string, got dict"),
        (
            lambda ix: ix.add("a", metadata={"b": 1, "year": float("nan")}),
            DtypeError,
            r"JSON \(the field 'year': Out of",
        ),
        (lambda ix: ix.add("a", metadata={"a": [object()]}), DtypeError, r"the field 'a': object has no JSON form"),
        (lambda ix: ix.search("moon", rerank=lambda q, hits: ["a"] * len(hits)), DtypeError, "a number for each of"),
        (lambda ix: ix.search("moon", rerank=lambda q, hits: None), GossamerError, "a number for each of"),
        (lambda ix: ix.add(None), DtypeError, "texts must be a string or a list of strings, got NoneType"),
        (lambda ix: ix.add(5), DtypeError, "got int"),
        (lambda ix: ix.add("a moon", passages=[]), InputError, "passages of 0 documents for 1 texts"),
        (lambda ix: ix.add("a moon", passages=[[]]), InputError, "row 0 has no passages"),
        (
            lambda ix: ix.add("a moon", passages=[["a moon"]]),
            DtypeError,
            r"row 0 is no list of passages, as passages\(ids",
        ),
        (lambda ix: ix.add("a moon", passages=ix.passages("sky")), InputError, "does not have the passage at 0"),
        (
            lambda ix: ix.add("a red moon", passages=ix.passages("sky"), vectors=[[1.0]]),
            ParameterError,
            "one of the two",
        ),
        (lambda ix: ix.assign(None), DtypeError, "list of strings, got NoneType"),
        (lambda ix: ix.topics(2).assign(5), DtypeError, "list of strings, got int"),
        (lambda ix: ix.topics(levels=3), ParameterError, r"as in \[8, 40, 200\], got 3"),
        (lambda ix: ix.topics(levels="8"), ParameterError, r"as in \[8, 40, 200\], got '8'"),
        (lambda ix: ix.changes(since="yesterday"), ParameterError, "write it as in '2026-05-01'"),
        (lambda ix: ix.changes(since=99), ParameterError, "still to come: the newest operation is number 1"),
        (lambda ix: ix.backup(None), DtypeError, "a path is a string or a pathlib.Path, got NoneType"),
        (lambda ix: type(ix).open(None), DtypeError, "got NoneType: pass 'notes.gsm', for example"),
        (lambda ix: type(ix).open(5), DtypeError, "got int"),
        (lambda ix: type(ix).create(b"a.gsm"), DtypeError, "got bytes"),
        (lambda ix: type(ix).repair(None), DtypeError, "got NoneType"),
    ],
)
def test_what_cannot_be_meant(index: Index, attempt: Callable[[Any], object], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        attempt(index)
    assert len(index) == 3


@pytest.mark.parametrize(
    ("attempt", "says"),
    [
        (lambda ix: ix.search("moon", wehre={}), r"^Index\.search\(\) got an unexpected keyword argument 'wehre'"),
        (lambda ix: ix.concepts(dept=2), r"^Index\.concepts\(\) got an unexpected keyword argument 'dept'"),
        (lambda ix: ix.get(), r"^Index\.get\(\) missing 1 required positional argument: 'ids'"),
        (lambda ix: ix.more_like("sky", wehre={}), r"^Index\.more_like\(\) got an unexpected keyword argument 'wehre'"),
        (lambda ix: VectorIndex(2).cut(m=3), r"^VectorIndex\.cut\(\) got an unexpected keyword argument 'm'"),  # type: ignore[call-arg]
    ],
)
def test_messages_of_python_name_the_class_that_was_called(
    index: Index, attempt: Callable[[Any], object], says: str
) -> None:
    with pytest.raises(TypeError, match=says):
        attempt(index)


def test_queries_may_be_a_column(index: Index) -> None:
    expected = index.search(["moon", "bread"], k=1)
    assert index.search(np.array(["moon", "bread"]), k=1) == expected  # type: ignore[call-overload]
    assert index.search((each for each in ("moon", "bread")), k=1) == expected  # type: ignore[call-overload]


def test_changes_since_a_date_as_text(index: Index) -> None:
    index.add([f"the moon number {n}" for n in range(9)])
    assert index.changes(since="2020-01-01") == index.changes(since="2020-01-01T00:00:00Z") == index.changes(since=0)
    assert index.changes(since="2999-01-01") == []
