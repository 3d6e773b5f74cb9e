"""Components that retrieve from a `GossamerDocumentStore`: by embedding, and by words."""

from __future__ import annotations

from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from gossamer.integrations.haystack.document_store import GossamerDocumentStore


class _Retriever:
    """What both retrievers have: a store, filters, and how many documents to find."""

    def __init__(
        self,
        document_store: GossamerDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, GossamerDocumentStore):
            raise TypeError("document_store must be a GossamerDocumentStore")
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1, got {top_k}")
        self.document_store, self.filters, self.top_k = document_store, filters, top_k
        self.filter_policy = filter_policy

    def _request(self, filters: dict[str, Any] | None, top_k: int | None) -> dict[str, Any]:
        merged = apply_filter_policy(self.filter_policy, self.filters, filters)
        return {"filters": merged, "top_k": self.top_k if top_k is None else top_k}

    def _as_dict(self, **more: Any) -> dict[str, Any]:
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
            **more,
        )

    @classmethod
    def _from_dict(cls, data: dict[str, Any]) -> Any:
        given = dict(data["init_parameters"])
        given["document_store"] = GossamerDocumentStore.from_dict(given["document_store"])
        given["filter_policy"] = FilterPolicy.from_str(given["filter_policy"])
        return default_from_dict(cls, {**data, "init_parameters": given})


@component
class GossamerEmbeddingRetriever(_Retriever):
    """The documents nearest to an embedding, each with its score and the labels of its `concepts` in the metadata.

    With `min_confidence` (0.05 is a good start) there are none where nothing here answers the query. `diversity`
    prefers documents that differ from each other. See `Index.search` for both.
    """

    def __init__(
        self,
        document_store: GossamerDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
        *,
        min_confidence: float = 0.0,
        diversity: float = 0.0,
        return_embedding: bool = False,
    ) -> None:
        _Retriever.__init__(self, document_store, filters, top_k, filter_policy)  # @component makes another class
        self.min_confidence, self.diversity, self.return_embedding = min_confidence, diversity, return_embedding

    def to_dict(self) -> dict[str, Any]:
        """The component as a dict."""
        return self._as_dict(
            min_confidence=self.min_confidence, diversity=self.diversity, return_embedding=self.return_embedding
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GossamerEmbeddingRetriever:
        """The component of `to_dict`."""
        found: GossamerEmbeddingRetriever = cls._from_dict(data)
        return found

    def _all(self, query: str | None, filters: dict[str, Any] | None, top_k: int | None) -> dict[str, Any]:
        options = {"min_confidence": self.min_confidence, "diversity": self.diversity}
        return {"query": query, "return_embedding": self.return_embedding, **options, **self._request(filters, top_k)}

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        query: str | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Find documents. With a `query` its words count, too."""
        return {
            "documents": self.document_store.embedding_retrieval(query_embedding, **self._all(query, filters, top_k))
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        query: str | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Find documents, in another thread."""
        find = self.document_store.embedding_retrieval_async
        return {"documents": await find(query_embedding, **self._all(query, filters, top_k))}


@component
class GossamerBM25Retriever(_Retriever):
    """The documents that hold words of a query, by BM25."""

    def to_dict(self) -> dict[str, Any]:
        """The component as a dict."""
        return self._as_dict()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GossamerBM25Retriever:
        """The component of `to_dict`."""
        found: GossamerBM25Retriever = cls._from_dict(data)
        return found

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Find documents."""
        return {"documents": self.document_store.bm25_retrieval(query, **self._request(filters, top_k))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Find documents, in another thread."""
        return {"documents": await self.document_store.bm25_retrieval_async(query, **self._request(filters, top_k))}
