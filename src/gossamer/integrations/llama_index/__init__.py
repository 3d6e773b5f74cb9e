"""Gossamer in LlamaIndex: a vector store, and retrievers of explained passages and of concepts. Extra `llama-index`.

vector_store    nodes in an index
nodes           nodes of LlamaIndex ↔ documents of an index
filters         metadata filters of LlamaIndex → filters of an index
retrievers      answers with explanations; concepts for broad questions
"""

from gossamer.errors import MissingExtraError

try:
    import llama_index.core as _core  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtraError("The integration with LlamaIndex", "llama-index") from error

from gossamer.integrations.llama_index.retrievers import GossamerRetriever, HierarchicalRetriever
from gossamer.integrations.llama_index.vector_store import GossamerVectorStore

__all__ = ["GossamerRetriever", "GossamerVectorStore", "HierarchicalRetriever"]
