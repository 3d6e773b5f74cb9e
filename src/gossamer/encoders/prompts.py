"""The texts that some models expect before a document or a query, by the name of the model."""

from __future__ import annotations

import re

from gossamer.encoders.protocol import Kind

_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_BGE_ENGLISH = "Represent this sentence for searching relevant passages: "
_BGE_CHINESE = "为这个句子生成表示以用于检索相关文章："

_PROMPTS: tuple[tuple[str, dict[Kind, str]], ...] = (
    (r"\be5-.*instruct", {"query": _INSTRUCT, "document": ""}),
    (r"\be5-", {"query": "query: ", "document": "passage: "}),
    (r"\bbge-(small|base|large)-en", {"query": _BGE_ENGLISH, "document": ""}),
    (r"\bbge-(small|base|large)-zh", {"query": _BGE_CHINESE, "document": ""}),
)
"""By model name, as the model cards of intfloat/e5 and BAAI/bge prescribe; the first match wins. bge-m3 has none."""


def prompts_for(model: str) -> dict[Kind, str]:
    """The texts that a model of this name expects before a document and a query; empty for most models.

    >>> prompts_for("intfloat/multilingual-e5-small")
    {'query': 'query: ', 'document': 'passage: '}
    """
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    return next((prompts for pattern, prompts in _PROMPTS if re.search(pattern, name)), {})


_MORE: tuple[tuple[str, dict[Kind, str]], ...] = (
    (r"nomic-embed-text", {"query": "search_query: ", "document": "search_document: "}),
    (r"mxbai-embed-large|arctic-embed(?!.*(2|v2))", {"query": _BGE_ENGLISH, "document": ""}),
    (r"embeddinggemma", {"query": "task: search result | query: ", "document": "title: none | text: "}),
)
"""Models that sentence-transformers configures itself, and other libraries and servers do not."""


def prompts_to_add(model: str) -> dict[Kind, str]:
    """The prompts of a model that runs where nothing adds them: on a server, or in fastembed.

    >>> prompts_to_add("nomic-embed-text:latest")["query"]
    'search_query: '
    """
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    return next((prompts for pattern, prompts in _MORE if re.search(pattern, name)), prompts_for(model))
