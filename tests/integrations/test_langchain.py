"""LangChain's own suites for vector stores, retrievers and embeddings, and what only our adapters offer."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("langchain_tests", reason="needs the group integrations: make test-integrations")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import (
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

import bag
from gossamer import Index
from gossamer.errors import ParameterError
from gossamer.integrations.langchain import GossamerEmbeddings, GossamerRetriever, GossamerVectorStore
from integrations.texts import IDS, METADATA, TEXTS


class TestStoreInMemory(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[GossamerVectorStore]:
        store = GossamerVectorStore(self.get_embeddings())
        yield store
        store.index.close()


class TestStoreOnDisk(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[GossamerVectorStore]:
        store = GossamerVectorStore(self.get_embeddings(), path=tmp_path / "store.gsm", concepts=False)
        yield store
        store.index.close()


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return GossamerRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        index = Index(bag.encode)
        index.add(TEXTS, IDS, METADATA)
        return {"index": index}

    @property
    def retriever_query_example(self) -> str:
        return "who hunts in the forest?"


class TestEmbeddings(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return GossamerEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"encoder": bag.encode}


@pytest.mark.model
class TestMinilm(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return GossamerEmbeddings


@pytest.fixture
def store() -> Iterator[GossamerVectorStore]:
    store = GossamerVectorStore.from_texts(TEXTS, GossamerEmbeddings(bag.encode), METADATA, ids=IDS)
    yield store
    store.index.close()


def test_a_filter_is_a_dict_or_a_function(store: GossamerVectorStore) -> None:
    by_dict = store.similarity_search("forest", k=10, filter={"year": {"$gte": 2022}})
    by_function = store.similarity_search("forest", k=10, filter=lambda document: document.metadata["year"] >= 2022)
    assert by_dict == by_function
    assert {document.id for document in by_dict} == {
        id for id, each in zip(IDS, METADATA, strict=True) if each["year"] >= 2022
    }
    vector = bag.encode(["forest"])[0].tolist()
    assert store.similarity_search_by_vector(vector, k=1, filter=lambda document: document.id == "mars")[0].id == "mars"


def test_relevance_scores_are_between_zero_and_one(store: GossamerVectorStore) -> None:
    scored = store.similarity_search_with_relevance_scores(TEXTS[0], k=len(TEXTS))
    assert scored[0][0].id == IDS[0]
    assert scored[0][1] == 1.0
    assert all(0.0 <= score <= 1.0 for _, score in scored)
    assert [score for _, score in scored] == sorted((score for _, score in scored), reverse=True)


def test_marginal_relevance_leaves_out_copies(store: GossamerVectorStore) -> None:
    store.add_texts([TEXTS[0] + " Indeed.", TEXTS[0] + " Truly."])
    plain = store.similarity_search(TEXTS[0], k=3)
    apart = store.max_marginal_relevance_search(TEXTS[0], k=3, lambda_mult=0.3)
    assert all("red fox" in document.page_content for document in plain)
    assert sum("red fox" in document.page_content for document in apart) < 3
    vector = bag.encode([TEXTS[0]])[0].tolist()
    assert len(store.max_marginal_relevance_search_by_vector(vector, k=3)) == 3


def test_a_store_is_found_again(tmp_path: Path) -> None:
    embedding = DeterministicFakeEmbedding(size=6)
    first = GossamerVectorStore.from_documents([Document("kept", id="a")], embedding, path=tmp_path / "notes.gsm")
    first.index.close()
    again = GossamerVectorStore(embedding, path=tmp_path / "notes.gsm")
    assert again.similarity_search("kept") == [Document("kept", id="a")]
    assert again.delete()
    assert again.similarity_search("kept") == []
    again.index.close()


def test_concepts_are_added_when_asked_for(store: GossamerVectorStore) -> None:
    shown = GossamerVectorStore(index=store.index, concepts=True).similarity_search("hunts in the forest", k=1)
    hit = store.index.search("hunts in the forest", k=1)[0]
    assert shown[0].metadata["concepts"] == [concept.label for concept in hit.path[:-1]]
    assert shown[0].metadata["score"] == hit.score
    assert "concepts" not in store.similarity_search("hunts in the forest", k=1)[0].metadata


def words(texts: list[str]) -> npt.NDArray[np.float64]:
    """A dimension for each of 2,048 hashed words: texts that share no word are orthogonal."""
    vectors = np.full((len(texts), 2048), 1e-3)
    for vector, text in zip(vectors, texts, strict=True):
        vector[[zlib.crc32(word.encode()) % 2048 for word in re.findall(r"\w+", text.lower())]] = 1.0
    return vectors


def test_the_retriever_says_when_nothing_answers() -> None:
    store = GossamerVectorStore.from_texts(TEXTS, GossamerEmbeddings(words), METADATA, ids=IDS)
    sure = GossamerRetriever(index=store.index, min_confidence=0.2, explain=True)
    (found,) = sure.invoke(TEXTS[0], k=1)
    assert found.id == IDS[0]
    assert found.metadata["explanation"]
    assert sure.invoke("zzyzx qwerty") == []
    assert sure.invoke("zzyzx qwerty", min_confidence=0.0, k=2)
    assert [document.id for document in sure.invoke(TEXTS[0], filter={"year": 2024})] == ["mars"]
    store.index.close()


def test_a_store_has_one_source_of_vectors(store: GossamerVectorStore) -> None:
    with pytest.raises(ParameterError, match="takes an embedding"):
        GossamerVectorStore()
    with pytest.raises(ParameterError, match="or an open index"):
        GossamerVectorStore(GossamerEmbeddings(bag.encode), index=store.index)
