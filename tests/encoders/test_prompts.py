"""Prompts by model name, as the model cards give them."""

from __future__ import annotations

import pytest

from gossamer.encoders.prompts import prompts_for


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("intfloat/e5-small-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("/models/E5-base/", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct", "Instruct: ", ""),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence", ""),
        ("BAAI/bge-large-zh", "为这个句子", ""),
        ("BAAI/bge-m3", "", ""),
        ("gpt2", "", ""),
        ("intfloat-e5/some-other", "", ""),
        ("google/gate5-large", "", ""),
    ],
)
def test_prompts(model: str, query: str, document: str) -> None:
    prompts = prompts_for(model)
    assert prompts.get("query", "").startswith(query)
    assert bool(prompts.get("query")) == bool(query)
    assert prompts.get("document", "") == document
