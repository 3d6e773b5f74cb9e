"""A document store of Haystack: documents in an index."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from gossamer.integrations.common import BY_WORDS, concepts_of, open_or_create
from gossamer.integrations.haystack.filters import as_where
from gossamer.integrations.haystack.hashed_words import HashedWords
from gossamer.results import Document as Stored
from gossamer.results import Hit

_HASHED: Final = "_no_embedding"
"""The metadata field of documents that came without an embedding to an index without an encoder."""

_FIELDS: Final = vars(Document(id="-"))
"""The fields of a document, as they are unless told otherwise."""

P = ParamSpec("P")
T = TypeVar("T")


def _in_a_thread(method: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    @wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call


class GossamerDocumentStore:
    """An `Index` as a document store: in memory, or with `path` in a folder, which is opened if it is there.

    Embeddings come with the documents. Those without one are found by their words; with an `encoder` (`minilm`, …) the
    index encodes them, and they are found by meaning, too. `embedding_dim` counts only where documents without an
    embedding come before all others. Documents need text. Embeddings are kept in single precision.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        encoder: str | None = None,
        embedding_dim: int = 768,
        return_embedding: bool = True,
    ) -> None:
        self.path, self.encoder = None if path is None else os.fspath(path), encoder
        self.embedding_dim, self.return_embedding = embedding_dim, return_embedding
        self._open()

    def _open(self) -> None:
        words = HashedWords()  # of any dimension, until it is known which the index has
        split = None if self.encoder is None else 200
        self.index = open_or_create(self.path, self.encoder, without=words, max_tokens=split)
        info = self.index.info()
        self._words = words if info.encoder.startswith("callable:") else None
        words.dim = info.dim or self.embedding_dim
        self._any_hashed = bool(info.documents and self.index.ids(where={_HASHED: {"$exists": True}}))

    def to_dict(self) -> dict[str, Any]:
        """The arguments the store was made with. Documents of a store in memory are not in it."""
        return default_to_dict(
            self,
            path=self.path,
            encoder=self.encoder,
            embedding_dim=self.embedding_dim,
            return_embedding=self.return_embedding,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GossamerDocumentStore:
        """The store of `to_dict`."""
        store: GossamerDocumentStore = default_from_dict(cls, data)
        return store

    # -- documents ---------------------------------------------------------------------------------

    def count_documents(self) -> int:
        """How many documents there are."""
        return len(self.index)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """The documents that match, in order of arrival."""
        found = list(self._stored(filters))
        embeddings = self._embeddings(found, self.return_embedding)
        return [self._document(each, embeddings.get(each.id)) for each in found]

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Add documents; returns how many. Without a policy an id that is there already is an error."""
        if not isinstance(documents, list) or not all(isinstance(each, Document) for each in documents):
            raise ValueError("write_documents takes a list of Documents")
        for document in documents:
            if not (document.content or "").strip():
                raise ValueError(
                    f"document {document.id!r} has no text, which is what an index is made of: leave it out"
                )
        present = {each.id for each in self.index.get([each.id for each in documents], skip_unknown=True)}
        new = _unique(documents, policy, present)
        with_vectors = [each for each in new if each.embedding is not None]
        if self._words is not None:
            self._add_hashed(new, self._words)
        else:
            self._add(with_vectors, [each.embedding for each in with_vectors])
            self._add([each for each in new if each.embedding is None])
        return len(new)

    def _add_hashed(self, documents: list[Document], words: HashedWords) -> None:
        """Add documents of which some may have no embedding, in their order: all or none."""
        dims = {len(each.embedding) for each in documents if each.embedding is not None}
        if dims and words.dim not in dims and self.index.info().dim is None:
            words.dim = min(dims)
        hashed = iter(words([str(each.content) for each in documents if each.embedding is None]))
        vectors = [next(hashed) if each.embedding is None else each.embedding for each in documents]
        self._add(documents, vectors, mark=True)
        self._any_hashed = self._any_hashed or any(each.embedding is None for each in documents)

    def _add(self, documents: list[Document], vectors: list[Any] | None = None, *, mark: bool = False) -> None:
        if documents:
            metadata = [
                {**each.meta, _HASHED: True} if mark and each.embedding is None else each.meta for each in documents
            ]
            self.index.add(
                [str(each.content) for each in documents], [each.id for each in documents], metadata, vectors=vectors
            )

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents by their ids. Ids that are not there are no error."""
        self.index.delete(document_ids)

    def delete_all_documents(self, recreate_index: bool = False) -> None:
        """Delete all documents. With `recreate_index` the index is made anew, and may have another dimension then."""
        if not recreate_index:
            self.index.delete(where={})
            return
        folder = self.index.info().path
        self.index.close()
        if folder is not None:
            shutil.rmtree(folder)
        self._open()

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match; returns how many."""
        return self.index.delete(where=as_where(filters, self._document) or {})

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Set metadata fields of the documents that match; returns how many. The value None takes a field away."""
        ids = self.index.ids(where=as_where(filters, self._document))
        self.index.update(ids, meta)
        return len(ids)

    # -- metadata ----------------------------------------------------------------------------------

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """How many documents match."""
        return len(self.index.ids(where=as_where(filters, self._document)))

    def count_unique_metadata_by_filter(self, filters: dict[str, Any], metadata_fields: list[str]) -> dict[str, int]:
        """How many different values each field has among the documents that match."""
        names = [field.removeprefix("meta.") for field in metadata_fields]
        metadata = [each.metadata for each in self._stored(filters)]
        return {name: len(_distinct(each.get(name) for each in metadata)) for name in names}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The fields and the kind of their values: keyword, int, float or boolean."""
        kinds = {bool: "boolean", int: "int", float: "float"}
        return {
            name: {"type": kinds.get(type(value), "keyword")}
            for each in self._stored(None)
            for name, value in each.metadata.items()
            if value is not None and name != _HASHED
        }

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The least and the greatest value of a field; None for both where values have no common order."""
        found = [each.metadata.get(metadata_field.removeprefix("meta.")) for each in self._stored(None)]
        values: list[Any] = [value for value in found if isinstance(value, int | float | str)]
        if len({isinstance(value, str) for value in values}) != 1:
            return {"min": None, "max": None}
        return {"min": min(values), "max": max(values)}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """The different values of a field that contain `search_term`, a page of them, and how many there are in all."""
        name, term = metadata_field.removeprefix("meta."), (search_term or "").lower()
        values = _distinct(each.metadata.get(name) for each in self._stored(filters))
        found = sorted(
            (value for value in values if term in str(value).lower()), key=lambda v: (str(v), type(v).__name__)
        )
        return found[from_ : from_ + size], len(found)

    # -- searching ---------------------------------------------------------------------------------

    def embedding_retrieval(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        *,
        query: str | None = None,
        return_embedding: bool = False,
        **options: Any,
    ) -> list[Document]:
        """The documents nearest to an embedding, best first, each with its `concepts` in the metadata.

        With a `query` its words count, too. `options` are those of `Index.search`, `min_confidence` among them.
        """
        if top_k < 1:
            return []
        where = as_where(filters, self._document)
        if self._any_hashed:
            where = _and_with_embedding(where)
        hits = self.index.search(query, top_k, vector=query_embedding, where=where, **options)
        embeddings = self._embeddings(hits, return_embedding)
        return [_answer(hit, hit.score, embeddings.get(hit.id)) for hit in hits]

    def bm25_retrieval(self, query: str, filters: dict[str, Any] | None = None, top_k: int = 10) -> list[Document]:
        """The documents that hold words of a query, best first. Scores are BM25 as a share of the best one."""
        if top_k < 1:
            return []
        hits = self.index.search(query, top_k, hybrid=BY_WORDS, where=as_where(filters, self._document))
        return [_answer(hit, hit.lexical / BY_WORDS) for hit in hits if hit.lexical > 0.0]

    def _stored(self, filters: dict[str, Any] | None) -> Iterator[Stored]:
        return self.index.documents(where=as_where(filters, self._document))

    def _document(self, stored: Stored, embedding: list[float] | None = None) -> Document:
        meta = {name: value for name, value in stored.metadata.items() if name != _HASHED}
        return Document(id=stored.id, content=stored.text, meta=meta, embedding=embedding)

    def _embeddings(self, found: Sequence[Stored | Hit], wanted: bool) -> dict[str, list[float]]:
        """By id the embeddings of the documents that came with one, or that the index encoded; none if unwanted."""
        ids = [each.id for each in found if _HASHED not in each.metadata] if wanted else []
        return dict(zip(ids, self.index.vectors(ids).tolist(), strict=True)) if ids else {}

    count_documents_async = _in_a_thread(count_documents)
    filter_documents_async = _in_a_thread(filter_documents)
    write_documents_async = _in_a_thread(write_documents)
    delete_documents_async = _in_a_thread(delete_documents)
    delete_all_documents_async = _in_a_thread(delete_all_documents)
    delete_by_filter_async = _in_a_thread(delete_by_filter)
    update_by_filter_async = _in_a_thread(update_by_filter)
    count_documents_by_filter_async = _in_a_thread(count_documents_by_filter)
    count_unique_metadata_by_filter_async = _in_a_thread(count_unique_metadata_by_filter)
    get_metadata_fields_info_async = _in_a_thread(get_metadata_fields_info)
    get_metadata_field_min_max_async = _in_a_thread(get_metadata_field_min_max)
    get_metadata_field_unique_values_async = _in_a_thread(get_metadata_field_unique_values)
    embedding_retrieval_async = _in_a_thread(embedding_retrieval)
    bm25_retrieval_async = _in_a_thread(bm25_retrieval)


def _answer(hit: Hit, score: float, embedding: list[float] | None = None) -> Document:
    """A document whose fields are set at once: Haystack's constructor would take a twentieth of the whole search."""
    meta = {**hit.metadata, "concepts": concepts_of(hit)}
    meta.pop(_HASHED, None)
    found = Document.__new__(Document)
    vars(found).update(_FIELDS, id=hit.id, content=hit.text, meta=meta, score=score, embedding=embedding)
    return found


def _unique(documents: list[Document], policy: DuplicatePolicy, present: set[str]) -> list[Document]:
    """The documents to write, each id once: of equal ones the last with OVERWRITE, else the first."""
    if policy == DuplicatePolicy.OVERWRITE:
        return list({each.id: each for each in documents}.values())
    new: dict[str, Document] = {}
    for each in documents:
        if each.id not in present and each.id not in new:
            new[each.id] = each
        elif policy != DuplicatePolicy.SKIP:
            raise DuplicateDocumentError(f"document {each.id!r} is there already: write with OVERWRITE or SKIP")
    return list(new.values())


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Values that differ in kind or in what they say; none of them None."""
    return list({(type(value), repr(value)): value for value in values if value is not None}.values())


def _and_with_embedding(where: Any) -> Any:
    """A condition, and that a document came with an embedding."""
    if callable(where):
        return lambda stored: _HASHED not in stored.metadata and where(stored)
    has_embedding = {_HASHED: {"$exists": False}}
    return {"$and": [where, has_embedding]} if where else has_embedding
