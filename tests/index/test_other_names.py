"""What people try first who know another library: it works, or the error says what it is called here."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gossamer
from bag import encode
from gossamer import Index, VectorIndex
from gossamer.errors import (
    DtypeError,
    EmptyTextError,
    ParameterError,
    UnknownEncoderError,
    UnknownFieldWarning,
    UnknownIdError,
)
from gossamer.results.other_names import (
    _VECTORS,
    ADD,
    DOCUMENTS,
    NEAR_DUPLICATES,
    NEW,
    SEARCH,
    TABLE,
    TOPICS,
    UPDATE,
    Instead,
)


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
        (lambda ix: ix.get_or_create_collection("a"), r"Index.create\(path\) for a new one"),
        (lambda ix: ix.similarity_search_with_score("a"), r"search\(query"),
        (lambda ix: ix.visualize_hierarchy(), "gossamer tree --html"),
        (lambda ix: ix.merge_topics([1, 2]), r"rename_concept\(id"),
        (lambda ix: ix.to_pandas(), r"documents\(where"),
        (lambda ix: ix.export("x.parquet"), r"to_parquet\(path\)"),
        (lambda ix: ix.search("moon").ids, "it is a list, take the id, text and score of each"),
        (lambda ix: ix.search("moon")[0].page_content, "a Hit has no 'page_content': here it is text"),
        (lambda ix: ix.search("moon")[0].distance, "here it is score, the larger the better"),
        (lambda ix: ix.search("moon")[0].txet, "a Hit has no 'txet'$"),
        (lambda ix: ix.search("moon").to_df(), r"Hits has no 'to_df': here it is to_pandas\(\), or rows\(\)"),
        (lambda ix: ix.topics(2).get_topic_info(), r"Topics has no 'get_topic_info': here it is to_pandas\(\)"),
        (lambda ix: ix.topics(2).labels, "the label of each of concepts"),
        (lambda ix: type(ix).load("x.gsm"), r"an Index has no 'load': here it is Index.open\(path\)"),
        (lambda ix: type(ix).get_or_create("x.gsm"), r"Index.create\(path\) for a new one"),
        (lambda ix: type(ix).from_texts(["a"]), r"then add\(texts\)"),
        (lambda ix: type(ix).from_pandas(None), r"add_table\(table, text=…\)"),
    ],
)
def test_methods_of_other_libraries(index: Index, attempt: Callable[[Any], object], says: str) -> None:
    with pytest.raises(AttributeError, match=says):
        attempt(index)


@pytest.mark.parametrize(
    ("attempt", "says"),
    [
        (lambda vx: vx.query([1, 0]), r"a VectorIndex has no 'query': here it is search\(Q, k=10\)"),
        (lambda vx: vx.knn_query([1, 0]), r"search\(Q"),
        (lambda vx: vx.get("a"), r"here it is path\(id\), where a document lies; an Index keeps what was added"),
        (lambda vx: vx.ntotal, r"len\(vx\)"),
        (lambda vx: vx.train([[1, 0]]), "nothing to train"),
        (
            lambda vx: type(vx).read_index("x"),
            r"a VectorIndex has no 'read_index': here it is VectorIndex.load\(path\)",
        ),
        (lambda vx: vx.serach([1, 0]), r"a VectorIndex has no .serach.$"),
    ],
)
def test_methods_of_libraries_for_vectors(attempt: Callable[[Any], object], says: str) -> None:
    index = VectorIndex(dim=2)
    with pytest.raises(AttributeError, match=says):
        attempt(index)


def test_hints_for_vectors_name_what_there_is_and_hide_nothing() -> None:
    assert not set(_VECTORS) & set(dir(VectorIndex))
    named = {re.split(r"\W", name.removeprefix("VectorIndex."))[0] for name in _VECTORS.values()}
    assert named - {"len"} <= set(dir(VectorIndex))


@pytest.mark.parametrize(
    ("attempt", "says"),
    [
        (lambda ix: ix.search("moon", n_results=3), r"search\(\) has no argument 'n_results': here it is k$"),
        (lambda ix: ix.search("moon", filter={"n": 1}), "here it is where"),
        (lambda ix: ix.search(query_texts=["moon"], n_results=3), "here it is query"),
        (lambda ix: ix.add(documents=["a"], ids=["b"]), r"add\(\) has no argument 'documents': here it is texts"),
        (lambda ix: ix.add(["a"], metadatas=[{}]), "here it is metadata"),
        (lambda ix: ix.search("moon", rerank=lambda query: [0.0]), "takes 1 positional argument"),
        (lambda ix: ix.get(where={"n": 1}), r"get\(\) has no argument 'where': here it is documents\(where=…\)"),
        (lambda ix: ix.add_table([{"t": "a"}], text="t", ids="t"), r"has no argument .ids.: here it is id$"),
        (lambda ix: type(ix)(embedding_function=encode), r"Index\(\) has no argument 'embedding_function': .* encoder"),
        (
            lambda ix: type(ix).create("x.gsm", model="minilm"),
            r"create\(\) has no argument 'model': here it is encoder",
        ),
        (lambda ix: ix.search("moon", include=["documents"]), "hits have all of it"),
        (lambda ix: ix.search("moon", where_document={"$contains": "a"}), "in quotes in the query"),
        (lambda ix: ix.update("bread.txt", metadatas={"a": 1}), "here it is metadata"),
        (lambda ix: ix.update("bread.txt", text="new"), r"'text': add\(\[text\], \[id\]\) replaces"),
        (lambda ix: ix.topics(nr_topics=2), r"topics\(\) has no argument 'nr_topics': here it is n$"),
        (lambda ix: ix.documents(limit=2), r"itertools.islice\(index.documents\(\), n\)"),
        (lambda ix: ix.near_duplicates(threshold=0.9), "pass chance"),
        (lambda ix: type(ix).create("x.gsm", exist_ok=True), r"use Index.open\(path\) if Path\(path\).exists\(\) else"),
        (lambda ix: type(ix).create("x.gsm", overwrite=True), "remove the folder yourself"),
        (lambda ix: ix.topics(2)[0], r"take concepts\[0\], rows\(\) or to_pandas\(\)"),
        (lambda ix: ix["bread.txt"], r"use get\(ids\), or documents\(\) for all"),
        (lambda ix: list(ix), r"use get\(ids\), or documents\(\) for all"),
    ],
)
def test_arguments_of_other_libraries(index: Index, attempt: Callable[[Any], object], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        attempt(index)
    assert len(index) == 3


def test_hints_name_arguments_that_there_are() -> None:
    for method, names in (
        (Index.search, SEARCH),
        (Index.add, ADD),
        (Index.add_table, TABLE),
        (Index, NEW),
        (Index.create, NEW),
        (Index.update, UPDATE),
        (Index.topics, TOPICS),
        (Index.documents, DOCUMENTS),
        (Index.near_duplicates, NEAR_DUPLICATES),
    ):
        there = inspect.signature(method).parameters
        assert {name.partition(",")[0] for name in names.values() if not isinstance(name, Instead)} <= set(there)
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
    with pytest.raises(DtypeError, match=r"list of dicts, with 'key', 'body': use add_table\(rows"):
        index.add([{"key": "a", "body": "text"}])  # type: ignore[list-item]
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DtypeError, match="add_table"):
        index.add(["a"], metadata=pandas.DataFrame({"year": [1]}))
    assert len(index) == 3


def test_hits_are_copied_and_pickled_as_before(index: Index) -> None:
    hits = index.search("moon")
    for other in (copy.deepcopy(hits), pickle.loads(pickle.dumps(hits))):
        assert (other, other.visited) == (hits, hits.visited)
    assert not hasattr(hits, "_repr_png_")
    assert not hasattr(hits[0], "_repr_png_")


def test_an_empty_query_says_what_to_do(index: Index) -> None:
    with pytest.raises(EmptyTextError, match=r"say what to look for, or use documents\(where=…\)"):
        index.search(" ")


def test_a_table_without_its_column_of_texts(index: Index) -> None:
    with pytest.raises(ParameterError, match=r"text='body'\): there are 'key', 'note'"):
        index.add_table([{"key": "a", "note": "text"}])


def test_the_package_names_its_beginning() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'PersistentClient': here it is Index.create\(path\)"):
        _ = gossamer.PersistentClient
    assert not hasattr(gossamer, "Collection")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Collection", r"'Collection' from 'gossamer': here it is Index.create\(path\) for a new index"),
        ("BERTopic", r"docs/migrate/bertopic\.md"),
        ("FAISS", r"docs/migrate/faiss\.md"),
        ("IndexFlatL2", r"here it is VectorIndex\(dim\)"),
        ("SentenceTransformer", "here it is the encoder of an index"),
        ("Nothing", r"cannot import name 'Nothing' from 'gossamer' \("),
    ],
)
def test_what_is_imported_by_the_name_it_has_elsewhere(name: str, says: str) -> None:
    with pytest.raises(ImportError, match=says):
        exec(f"from gossamer import Index, {name}")


def test_hints_of_the_package_name_what_there_is() -> None:
    assert not set(gossamer._ELSEWHERE) & set(gossamer.__all__)


def test_one_passage_is_one(index: Index) -> None:
    assert "1 passage, depth" in repr(index.search("moon")[0].path[-1])
    assert "3 passages, depth 0" in repr(index.concepts()[0])


def test_a_part_of_an_id(index: Index) -> None:
    with pytest.raises(UnknownIdError, match=r"holds 3 documents: did you mean 'sky/moon.txt'\?"):
        index.explain("moon", "moon")


def test_the_warning_names_the_line_of_the_caller(index: Index) -> None:
    with pytest.warns(UnknownFieldWarning) as told:
        index.search("moon", where={"yaer": 1})
    assert told[0].filename == __file__
