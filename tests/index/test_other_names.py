"""What people try first who know another library: it works, or the error says what it is called here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bag import encode
from gossamer import Index
from gossamer.errors import DtypeError, ParameterError, UnknownEncoderError, UnknownFieldWarning, UnknownIdError
from gossamer.index.other_names import ADD, SEARCH


@pytest.fixture
def index() -> Index:
    index = Index(encode)
    index.add(["a red moon", "warm bread", "a deep river"], ids=["sky/moon.txt", "bread.txt", "river.txt"])
    return index


@pytest.mark.parametrize(
    ("attempt", "says"),
    [
        (lambda ix: ix.query("moon"), r"search\(query"),
        (lambda ix: ix.upsert(["a"], ["b"]), r"add\(texts"),
        (lambda ix: ix.remove(["b"]), r"delete\(ids"),
        (lambda ix: ix.count(), r"len\(index"),
        (lambda ix: ix.persist(), r"backup\(path"),
        (lambda ix: ix.get_topic_info(), r"topics\(n\)"),
    ],
)
def test_methods_of_other_libraries(index: Index, attempt: Callable[[Any], object], says: str) -> None:
    with pytest.raises(AttributeError, match=says):
        attempt(index)


@pytest.mark.parametrize(
    ("attempt", "says"),
    [
        (lambda ix: ix.search("moon", n_results=3), r"search\(\) has no argument 'n_results': here it is k$"),
        (lambda ix: ix.search("moon", filter={"n": 1}), "here it is where"),
        (lambda ix: ix.search(query_texts=["moon"], n_results=3), "here it is query"),
        (lambda ix: ix.add(documents=["a"], ids=["b"]), r"add\(\) has no argument 'documents': here it is texts"),
        (lambda ix: ix.add(["a"], metadatas=[{}]), "here it is metadata"),
        (lambda ix: ix.search("moon", rerank=lambda query, hits: len(hits, n=3)), r"len\(\) takes no keyword"),  # type: ignore[call-arg]
    ],
)
def test_arguments_of_other_libraries(index: Index, attempt: Callable[[Any], object], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        attempt(index)
    assert len(index) == 3


def test_hints_name_arguments_that_there_are() -> None:
    for method, names in ((Index.search, SEARCH), (Index.add, ADD)):
        there = inspect.signature(method).parameters
        assert {name.partition(",")[0] for name in names.values()} <= set(there)
        assert not set(names) & set(there)


def test_a_name_that_nobody_has_is_a_usual_error(index: Index) -> None:
    with pytest.raises(AttributeError, match=r"an Index has no .serach.$"):
        index.serach("moon")  # type: ignore[attr-defined]
    assert not hasattr(index, "_repr_png_")


@pytest.mark.parametrize("path", ["notes.gsm", Path("notes")])
def test_a_path_is_no_encoder(path: Any) -> None:
    with pytest.raises(ParameterError, match=r"Index.create\(path\)"):
        Index(path)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("all-MiniLM-L6-v2", "minilm"),
        ("sentence-transformers/all-MiniLM-L6-v2", "minilm"),
        ("text-embedding-3-small", "openai:text-embedding-3-small"),
        ("nomic-embed-text", "ollama:nomic-embed-text"),
        ("mini-lm", "minilm"),
        ("intfloat/e5-large-v2", "st:intfloat/e5-large-v2"),
    ],
)
def test_a_model_by_the_name_it_has_elsewhere(name: str, meant: str) -> None:
    with pytest.raises(UnknownEncoderError, match=f"did you mean '{meant}'"):
        Index(name)


def test_what_is_no_list_of_texts(index: Index) -> None:
    with pytest.raises(DtypeError, match=r"add\(d.values\(\)"):
        index.add({"a": "text"})
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DtypeError, match="add_table"):
        index.add(["a"], metadata=pandas.DataFrame({"year": [1]}))
    assert len(index) == 3


def test_a_part_of_an_id(index: Index) -> None:
    with pytest.raises(UnknownIdError, match=r"holds 3 documents: did you mean 'sky/moon.txt'\?"):
        index.explain("moon", "moon")


def test_the_warning_names_the_line_of_the_caller(index: Index) -> None:
    with pytest.warns(UnknownFieldWarning) as told:
        index.search("moon", where={"yaer": 1})
    assert told[0].filename == __file__
