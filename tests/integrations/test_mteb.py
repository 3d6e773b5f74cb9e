"""Gossamer as a search model of MTEB: its protocol always, and `mteb.evaluate` where mteb is installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.conftest import TEXTS
from gossamer.errors import StateError
from gossamer.integrations.mteb import GossamerSearch

EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = [{"id": id, "title": "A note.", "text": text} for id, (text, _) in TEXTS.items()]
QUERIES = [{"id": "q1", "text": "who hunts mice"}, {"id": "q2", "text": "bake with flour", "instruction": "in an oven"}]
# What MTEB passes besides, none of which matters here.
BESIDES: dict[str, Any] = {
    "task_metadata": None, "hf_split": "test", "hf_subset": "default", "encode_kwargs": {}, "num_proc": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def model() -> GossamerSearch:
    model = GossamerSearch("lsa")
    model.index([*CORPUS, {"id": "empty", "title": "", "text": " "}], **BESIDES)
    return model


def test_scores_by_query_and_document(model: GossamerSearch) -> None:
    found = model.search(QUERIES, top_k=5, **BESIDES)
    assert list(found) == ["q1", "q2"]
    assert next(iter(found["q1"])) in ("fox", "owl")
    assert next(iter(found["q2"])) == "cake"
    for scores in found.values():
        assert len(scores) == 5
        assert (np.diff(np.array(list(scores.values()), np.float32)) < 0).all(), "trec_eval breaks ties by ids"


def test_the_depth_is_limited(model: GossamerSearch) -> None:
    model.depth = 2
    assert [len(each) for each in model.search(QUERIES, top_k=1_000, **BESIDES).values()] == [2, 2]
    model.depth = None
    assert len(model.search(QUERIES, top_k=1_000, **BESIDES)["q1"]) == len(CORPUS)


def test_documents_to_be_ranked_again(model: GossamerSearch) -> None:
    listed = {"q1": ["bread", "owl", "nowhere"], "q2": ["soup"]}
    found = model.search(QUERIES, top_k=10, top_ranked=listed, **BESIDES)
    assert list(found["q1"]) == ["owl", "bread"]
    assert list(found["q2"]) == ["soup"]


def test_equal_texts_get_scores_that_differ() -> None:
    model = GossamerSearch("lsa", hybrid=False)
    with pytest.raises(StateError, match="call index"):
        model.search(QUERIES, top_k=1, **BESIDES)
    model.index([*CORPUS, CORPUS[0] | {"id": "zebra"}, CORPUS[0] | {"id": "ant"}], **BESIDES)
    scores = model.search(QUERIES, top_k=20, **BESIDES)["q1"]
    assert len(set(scores.values())) == len(scores) == len(CORPUS) + 2


def test_a_conversation_is_one_query(model: GossamerSearch) -> None:
    turns = [{"role": "user", "content": "who hunts"}, {"role": "user", "content": "mice in the snow"}]
    assert next(iter(model.search([{"id": "q", "text": turns}], top_k=1, **BESIDES)["q"])) == "fox"


@pytest.mark.extra
def test_mteb_evaluates_local_tasks() -> None:
    """The example: two queries over six texts, both methods perfect."""
    if importlib.util.find_spec("mteb") is None:
        pytest.skip("needs the extra mteb, which installs torch")
    command = [sys.executable, str(EXAMPLES / "mteb_tasks.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    assert "hybrid: ndcg_at_10 1.00000, recall_at_10 1.00000, mrr_at_10 1.00000" in done.stdout
    assert "dense: ndcg_at_10 1.00000" in done.stdout
