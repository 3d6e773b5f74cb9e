"""Gossamer in Haystack: a document store, and retrievers by embedding and by words. Extra `haystack`.

document_store  documents in an index
filters         filters of Haystack → filters of an index
hashed_words    vectors for documents that come without one
retrievers      components of a pipeline
"""

from gossamer.errors import MissingExtraError

try:
    import haystack as _haystack  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtraError("The integration with Haystack", "haystack") from error

from gossamer.integrations.haystack.document_store import GossamerDocumentStore
from gossamer.integrations.haystack.retrievers import GossamerBM25Retriever, GossamerEmbeddingRetriever

__all__ = ["GossamerBM25Retriever", "GossamerDocumentStore", "GossamerEmbeddingRetriever"]
