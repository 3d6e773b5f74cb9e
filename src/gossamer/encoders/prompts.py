"""The words some models want in front of a text, where the model's own files do not say so."""

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
"""By name, first match wins, as the model cards of intfloat/e5 and BAAI/bge prescribe. bge-m3 wants none."""


def prompt_for(model: str, kind: Kind) -> str:
    """What to put before a text for the model of that name; "" for most.

    >>> prompt_for("intfloat/multilingual-e5-small", "document")
    'passage: '
    """
    return prompts_for(model).get(kind, "")


def prompts_for(model: str) -> dict[Kind, str]:
    """Both prompts of the model of that name; empty where it wants none."""
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    return next((prompts for pattern, prompts in _PROMPTS if re.search(pattern, name)), {})
