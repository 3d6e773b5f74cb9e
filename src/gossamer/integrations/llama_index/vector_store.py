"""A vector store of LlamaIndex: nodes in an index."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any, Final

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from gossamer.index import Index
from gossamer.integrations.common import BY_WORDS, concepts_of, open_or_create
from gossamer.integrations.llama_index.filters import as_where
from gossamer.integrations.llama_index.nodes import SOURCE, as_metadata, as_node

_WEIGHTS: Final[dict[VectorStoreQueryMode, bool | float]] = {
    VectorStoreQueryMode.DEFAULT: False,
    VectorStoreQueryMode.MMR: False,
    VectorStoreQueryMode.HYBRID: True,
    VectorStoreQueryMode.SEMANTIC_HYBRID: True,
    VectorStoreQueryMode.TEXT_SEARCH: BY_WORDS,
    VectorStoreQueryMode.SPARSE: BY_WORDS,
}


class GossamerVectorStore(BasePydanticVectorStore):
    """An `Index` as a vector store: in memory, or with `path` in a folder, which is opened if it is there.

    Modes: default, hybrid (adds BM25), mmr. text_search and sparse need an index with an encoder of its own. With
    `concepts` the nodes that a query finds have the labels of their concepts in the metadata.
    """

    stores_text: bool = True
    flat_metadata: bool = False
    path: str | None = None
    concepts: bool = False
    _index: Index = PrivateAttr()

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        index: Index | None = None,
        concepts: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(path=None if path is None else os.fspath(path), concepts=concepts, **kwargs)
        self._index = open_or_create(path, None) if index is None else index

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex knows the class."""
        return "GossamerVectorStore"

    @property
    def client(self) -> Index:
        """The index."""
        return self._index

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes, which have embeddings; returns their ids. An id that is there already is replaced."""
        listed = list({node.node_id: node for node in nodes}.values())
        if listed:
            texts = [node.get_content(metadata_mode=MetadataMode.NONE) for node in listed]
            metadata = [as_metadata(node) for node in listed]
            vectors = [node.get_embedding() for node in listed]
            self._index.add(texts, [node.node_id for node in listed], metadata, vectors=vectors)
        return [node.node_id for node in nodes]

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """The nodes with these ids that match, or all that match."""
        found = self._index.documents(where=as_where(filters))
        if node_ids is None:
            return [as_node(each) for each in found]
        wanted = None if filters is None else {each.id for each in found}
        there = self._index.get(node_ids, skip_unknown=True)
        return [as_node(each) for each in there if wanted is None or each.id in wanted]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document."""
        if len(self._index):
            self._index.delete(where={SOURCE: ref_doc_id})

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Delete the nodes with these ids that match, or all that match; nothing where neither is given."""
        if node_ids is not None or filters is not None:
            self._index.delete([node.node_id for node in self.get_nodes(node_ids, filters)])

    def clear(self) -> None:
        """Delete all nodes."""
        self._index.delete(where={})

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Copy the index into the folder `persist_path`. With a `path` of its own a store is durable without it."""
        if fs is not None:
            raise ValueError("an index is a folder on this machine: leave fs out")
        self._index.backup(persist_path)

    @classmethod
    def from_persist_path(cls, persist_path: str, **kwargs: Any) -> GossamerVectorStore:
        """The store that `persist` wrote."""
        return cls(persist_path, **kwargs)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The nodes nearest to a query; further arguments are those of `Index.search`, as `min_confidence`."""
        weight = _WEIGHTS.get(query.mode)
        if weight is None:
            raise ValueError(f"mode {query.mode.value!r} is not there: {', '.join(mode.value for mode in _WEIGHTS)}")
        options: dict[str, Any] = {"hybrid": weight, "where": self._where(query), **kwargs}
        if query.mode == VectorStoreQueryMode.MMR:
            options["diversity"] = 1.0 - (0.5 if query.mmr_threshold is None else query.mmr_threshold)
        text = query.query_str if options["hybrid"] else None
        hits = self._index.search(text, query.similarity_top_k, vector=query.query_embedding, **options)
        if options["hybrid"] == BY_WORDS:
            hits[:] = [hit for hit in hits if hit.lexical > 0.0]
        nodes = [as_node(hit) for hit in hits]
        if self.concepts:
            for node, hit in zip(nodes, hits, strict=True):
                node.metadata["concepts"] = concepts_of(hit)
        return VectorStoreQueryResult(nodes, [hit.score for hit in hits], [hit.id for hit in hits])

    def _where(self, query: VectorStoreQuery) -> Any:
        """The filters of a query, and its ids of nodes and documents; an empty list is no restriction."""
        where, nodes, documents = as_where(query.filters), query.node_ids, query.doc_ids
        if not nodes and not documents:
            return where
        if not nodes and not callable(where):
            of_documents = {SOURCE: {"$in": documents}}
            return of_documents if where is None else {"$and": [where, of_documents]}
        matching = set(self._index.ids(where=where))
        return lambda each: (
            each.id in matching
            and (not nodes or each.id in nodes)
            and (not documents or each.metadata.get(SOURCE) in documents)
        )

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """`add`, in another thread."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """`query`, in another thread."""
        return await asyncio.to_thread(self.query, query, **kwargs)
