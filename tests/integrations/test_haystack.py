"""Haystack's own suites for document stores, plain, extended and async, and what only our components offer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
pytest.importorskip("haystack.testing.document_store", reason="needs the group integrations: make test-integrations")

from haystack import Pipeline
from haystack.core.errors import DeserializationError
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
from haystack.errors import FilterError
from haystack.testing import document_store as suites
from haystack.testing import document_store_async as async_suites

from gossamer.integrations.haystack import GossamerBM25Retriever, GossamerDocumentStore, GossamerEmbeddingRetriever
from gossamer.integrations.haystack.hashed_words import HashedWords
from integrations.texts import IDS, METADATA, TEXTS


def same(received: list[Document], expected: list[Document]) -> None:
    """Equal in everything; embeddings to single precision, in which they are stored."""
    assert [replace(each, embedding=None) for each in received] == [replace(each, embedding=None) for each in expected]
    for one, other in zip(received, expected, strict=True):
        assert (one.embedding is None) == (other.embedding is None)
        if one.embedding is not None:
            assert one.embedding == np.float32(other.embedding).tolist()


class _Writes:
    """The one test that is meant to be written by each store: what happens without a policy."""

    def test_write_documents(self, document_store: GossamerDocumentStore) -> None:
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError, match="is there already"):
            document_store.write_documents([document])
        same(document_store.filter_documents(), [document])


class TestDocumentStore(
    _Writes,
    suites.DocumentStoreBaseExtendedTests,
    suites.CountDocumentsByFilterTest,
    suites.CountUniqueMetadataByFilterTest,
    suites.GetMetadataFieldsInfoTest,
    suites.GetMetadataFieldMinMaxTest,
    suites.GetMetadataFieldUniqueValuesTest,
):
    assert_documents_are_equal = staticmethod(same)

    @pytest.fixture
    def document_store(self) -> Iterator[GossamerDocumentStore]:
        store = GossamerDocumentStore()
        yield store
        store.index.close()


class TestDocumentStoreAsync(
    async_suites.CountDocumentsAsyncTest,
    async_suites.WriteDocumentsAsyncTest,
    async_suites.DeleteDocumentsAsyncTest,
    async_suites.DeleteAllAsyncTest,
    async_suites.DeleteByFilterAsyncTest,
    async_suites.FilterDocumentsAsyncTest,
    async_suites.UpdateByFilterAsyncTest,
    async_suites.CountDocumentsByFilterAsyncTest,
    async_suites.CountUniqueMetadataByFilterAsyncTest,
    async_suites.GetMetadataFieldsInfoAsyncTest,
    async_suites.GetMetadataFieldMinMaxAsyncTest,
    async_suites.GetMetadataFieldUniqueValuesAsyncTest,
):
    assert_documents_are_equal = staticmethod(same)

    @pytest.fixture
    def document_store(self, tmp_path: Path) -> Iterator[GossamerDocumentStore]:
        store = GossamerDocumentStore(tmp_path / "store.gsm")
        yield store
        store.index.close()

    async def test_write_documents_async(self, document_store: GossamerDocumentStore) -> None:
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


@pytest.mark.parametrize(
    ("module", "ours", "named"),
    [
        (suites, TestDocumentStore, {"test_write_documents"}),
        (async_suites, TestDocumentStoreAsync, {"test_write_documents_async"}),
    ],
)
def test_no_test_of_the_suites_is_left_out_or_overridden(module: Any, ours: type, named: set[str]) -> None:
    theirs = {kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__}
    tests = {name: kind for kind in theirs for name in vars(kind) if name.startswith("test_")}
    assert len(tests) > 30
    assert [name for name, kind in tests.items() if not issubclass(ours, kind)] == []
    assert {name for name in tests if getattr(ours, name).__module__ == __name__} == named


def written(store: GossamerDocumentStore) -> GossamerDocumentStore:
    vectors = HashedWords(64)(TEXTS)
    parts = zip(IDS, TEXTS, METADATA, vectors.tolist(), strict=True)
    store.write_documents([Document(id=id, content=text, meta=meta, embedding=e) for id, text, meta, e in parts])
    return store


def test_a_pipeline_is_saved_and_loaded(tmp_path: Path) -> None:
    store = written(GossamerDocumentStore(tmp_path / "store.gsm"))
    pipeline = Pipeline()
    pipeline.add_component(
        "near", GossamerEmbeddingRetriever(store, top_k=2, diversity=0.1, filter_policy=FilterPolicy.MERGE)
    )
    question = HashedWords(64)(["hunts mice in the forest"])[0].tolist()
    found = pipeline.run({"near": {"query_embedding": question}})["near"]["documents"]
    assert {document.id for document in found} <= {"fox", "owl", "wolf"}
    assert found[0].meta["concepts"]
    assert found[0].embedding is None
    saved = pipeline.dumps()
    store.index.close()
    with pytest.raises(DeserializationError, match="not on the trusted-module allowlist"):
        Pipeline.loads(saved)  # whom to trust is the user's decision, not ours
    again = Pipeline.loads(saved, allowed_modules=["gossamer.*"])
    assert again.run({"near": {"query_embedding": question}})["near"]["documents"] == found
    loaded = again.get_component("near")
    assert (loaded.diversity, loaded.filter_policy) == (0.1, FilterPolicy.MERGE)
    loaded.document_store.index.close()


async def test_by_words(tmp_path: Path) -> None:
    store = written(GossamerDocumentStore())
    retriever = GossamerBM25Retriever(store, top_k=5)
    found = retriever.run("oven butter")["documents"]
    assert {document.id for document in found} == {"bread", "cake", "pie"}
    assert found[0].score == pytest.approx(1.0)
    late = {"field": "meta.year", "operator": ">", "value": 2021}
    assert [each.id for each in (await retriever.run_async("oven butter", filters=late))["documents"]] == ["bread"]
    again = GossamerBM25Retriever.from_dict(retriever.to_dict())
    assert again.document_store.count_documents() == 0, "a store in memory is saved without its documents"
    again.document_store.index.close()
    store.index.close()


def test_documents_without_an_embedding_are_found_by_words_alone() -> None:
    store = written(GossamerDocumentStore())
    store.write_documents([Document(id="late", content="A forest where nobody hunts.")])
    question = HashedWords(64)(["A forest where nobody hunts."])[0].tolist()
    assert "late" not in [each.id for each in store.embedding_retrieval(question, top_k=20)]
    assert store.bm25_retrieval("nobody")[0].id == "late"
    by_text = {"field": "content", "operator": "==", "value": TEXTS[0]}
    assert [each.id for each in store.embedding_retrieval(question, by_text)] == ["fox"]
    assert store.filter_documents(by_text)[0].id == "fox"
    store.index.close()


@pytest.mark.model
def test_an_encoder_finds_what_came_without_an_embedding() -> None:
    store = GossamerDocumentStore(encoder="minilm")
    store.write_documents([Document(id=id, content=text) for id, text in zip(IDS, TEXTS, strict=True)])
    (found, *_) = store.embedding_retrieval(store.index.vectors(["mars"])[0].tolist(), return_embedding=True)
    assert found.id == "mars"
    assert len(found.embedding or []) == 384
    store.index.close()


def test_the_first_embedding_decides_the_dimension(tmp_path: Path) -> None:
    store = GossamerDocumentStore(tmp_path / "store.gsm")
    assert store.bm25_retrieval("nothing here") == []
    store.write_documents(
        [Document(id="a", content="no vector"), Document(id="b", content="one", embedding=[1.0, 2.0])]
    )
    store.index.close()
    again = GossamerDocumentStore(tmp_path / "store.gsm")
    assert [each.embedding for each in again.filter_documents()] == [None, [1.0, 2.0]]
    assert [each.id for each in again.embedding_retrieval([1.0, 0.0])] == ["b"]
    assert again.bm25_retrieval("vector")[0].id == "a"
    again.write_documents([Document(id="c", content="another without")])
    with pytest.raises(ValueError, match="2 are expected"):
        again.write_documents([Document(content="other", embedding=[1.0, 2.0, 3.0])])
    again.delete_all_documents(recreate_index=True)
    again.write_documents([Document(content="other", embedding=[1.0, 2.0, 3.0])])
    again.index.close()


def test_what_cannot_be_written() -> None:
    store = GossamerDocumentStore()
    with pytest.raises(ValueError, match="has no text"):
        store.write_documents([Document(content="good"), Document(id="bad", content=None)])
    assert store.count_documents() == 0
    twice = [Document(id="1", content="one"), Document(id="1", content="two")]
    with pytest.raises(DuplicateDocumentError):
        store.write_documents(twice)
    assert store.write_documents(twice, DuplicatePolicy.OVERWRITE) == 1
    assert store.filter_documents()[0].content == "two"
    with pytest.raises(FilterError):
        store.filter_documents({"field": "meta.a", "operator": "~", "value": 1})
    with pytest.raises(TypeError, match="GossamerDocumentStore"):
        GossamerBM25Retriever("store")  # type: ignore[arg-type]
    store.index.close()
