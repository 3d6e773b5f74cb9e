"""Gossamer in LangChain: a vector store, a retriever, and our encoders as embeddings. Extra `langchain`.

    store = GossamerVectorStore(embedding, path="notes.gsm")
    store.add_documents(documents)
    retriever = GossamerRetriever(index=store.index, min_confidence=0.05)

The store returns documents as they were added. The retriever, and a store made with `concepts=True`, add what the index
knows to their metadata: `concepts`, the labels from the root of the tree down, and `score`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from gossamer.errors import MissingExtraError, ParameterError
from gossamer.index import EncoderSpec, Index, encode_texts, load_encoder
from gossamer.integrations.common import concepts_of, no_encoder, open_or_create
from gossamer.results import Document as Stored
from gossamer.results import Hit, Hits

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from pydantic import ConfigDict
except ModuleNotFoundError as error:
    raise MissingExtraError("The integration with LangChain", "langchain") from error

Filter = Mapping[str, Any] | Callable[[Document], bool]
"""A filter of `Index.search`, as {"year": {"$gte": 2020}}, or a function of a document."""


class GossamerEmbeddings(Embeddings):
    """An encoder of Gossamer as embeddings of LangChain: `minilm`, `st:<model>`, `model2vec:<model>`, a callable, …"""

    def __init__(self, encoder: EncoderSpec = "minilm") -> None:
        self.encoder = load_encoder(encoder)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text."""
        return encode_texts(self.encoder, texts).tolist() if texts else []

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query, which some models encode differently."""
        vector: list[float] = encode_texts(self.encoder, [text], kind="query")[0].tolist()
        return vector


class GossamerVectorStore(VectorStore):
    """An `Index` as a vector store: in memory, or with `path` in a folder, which is opened if it is there.

    `embedding` makes the vectors; with `GossamerEmbeddings` the index can be used by `gossamer search`, too. An open
    `index` of your own, with its own encoder, takes the place of both. Texts are not split: use a text splitter.
    `hybrid` adds BM25 to the scores of text queries, see `Index.search`.
    """

    def __init__(
        self,
        embedding: Embeddings | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        index: Index | None = None,
        hybrid: bool | float = True,
        concepts: bool = False,
    ) -> None:
        if (embedding is None) == (index is None) or (index is not None and path is not None):
            raise ParameterError("GossamerVectorStore takes an embedding, with a path or without, or an open index")
        self.index = open_or_create(path, _encoder(embedding), max_tokens=None) if index is None else index
        self._embedding, self._hybrid, self._concepts = embedding, hybrid, concepts

    @property
    def embeddings(self) -> Embeddings | None:
        """The embeddings the store was made with; None with an index of its own encoder."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> GossamerVectorStore:
        """A store with these texts; further arguments are those of the constructor."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts; returns their ids. An id that is there already is replaced; one that is None is made up."""
        listed = list(texts)
        named = [id or str(uuid4()) for id in ids] if ids is not None else [str(uuid4()) for _ in listed]
        return self.index.add(listed, named, metadatas)

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents by their ids, or all of them. Ids that are not there are no error."""
        self.index.delete(ids) if ids is not None else self.index.delete(where={})
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Those of the documents with these ids that are there."""
        return [_document(found) for found in self.index.get(list(ids), skip_unknown=True)]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The k best documents; `filter` and the arguments of `Index.search` may be given."""
        return self._documents(self._search(query, k, **kwargs))

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """The same for a vector."""
        return self._documents(self._search(None, k, vector=embedding, **kwargs))

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """The same with scores, the higher the better: cosine in the whitened space, plus the part of words."""
        hits = self._search(query, k, **kwargs)
        return list(zip(self._documents(hits), [hit.score for hit in hits], strict=True))

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: min(max(score, 0.0), 1.0)

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """The k best documents that differ from each other: `Index.search` with a diversity of 1 − `lambda_mult`.

        The index decides how many candidates it needs; `fetch_k` is not used.
        """
        return self._documents(self._search(query, k, diversity=1.0 - lambda_mult, **kwargs))

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """The same for a vector."""
        return self._documents(self._search(None, k, vector=embedding, diversity=1.0 - lambda_mult, **kwargs))

    def _search(self, query: str | None, k: int, *, filter: Filter | None = None, **options: Any) -> Hits:
        options.setdefault("hybrid", self._hybrid)
        return self.index.search(query, k, where=_where(filter), **options)

    def _documents(self, hits: Hits) -> list[Document]:
        return [_answer(hit) if self._concepts else _document(hit) for hit in hits]


class GossamerRetriever(BaseRetriever):
    """The answers of an index, each with its `score` and the labels of its `concepts` in the metadata.

    With `min_confidence` (0.05 is a good start) there are no answers where nothing here answers the question. With
    `explain` the metadata has an `explanation`, too. All but `index` can be given to `invoke` as well.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    index: Index
    k: int = 4
    filter: Any = None
    min_confidence: float = 0.0
    hybrid: bool | float = True
    diversity: float = 0.0
    within: int | None = None
    explain: bool = False

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun | None = None, **kwargs: Any
    ) -> list[Document]:
        names = ("k", "filter", "min_confidence", "hybrid", "diversity", "within", "explain")
        options = {name: getattr(self, name) for name in names} | kwargs
        where = _where(options.pop("filter"))
        return [_answer(hit) for hit in self.index.search(query, where=where, **options)]


def _encoder(embedding: Embeddings | None) -> EncoderSpec:
    """What makes the vectors of an index: one of our encoders, or the functions of an embedding model."""
    if embedding is None:
        return no_encoder
    if isinstance(embedding, GossamerEmbeddings):
        return embedding.encoder

    def langchain_embedding(texts: list[str], kind: str = "document") -> list[list[float]]:
        if kind == "query":
            return [embedding.embed_query(text) for text in texts]
        return embedding.embed_documents(texts)

    return langchain_embedding


def _where(filter: Filter | None) -> Mapping[str, Any] | Callable[[Stored], bool] | None:
    if not callable(filter):
        return filter
    wanted = filter
    return lambda document: wanted(_document(document))


def _document(found: Stored | Hit) -> Document:
    return Document(id=found.id, page_content=found.text, metadata=found.metadata)


def _answer(hit: Hit) -> Document:
    metadata = {**hit.metadata, "concepts": concepts_of(hit), "score": hit.score}
    if hit.explanation is not None:
        metadata["explanation"] = " ".join(hit.explanation.sentences)
    return Document(id=hit.id, page_content=hit.text, metadata=metadata)
