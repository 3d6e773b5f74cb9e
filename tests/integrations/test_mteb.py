"""Gossamer as a search model of MTEB: its protocol always, and `mteb.evaluate` where mteb is installed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.conftest import TEXTS
from gossamer import Index
from gossamer.cli.evaluation import DEPTH, METHODS, evaluate, read_collection
from gossamer.errors import DiskError, MissingExtraError, StateError
from gossamer.integrations.mteb import GossamerSearch

EXAMPLES = Path(__file__).parents[2] / "examples"
COLLECTIONS = ("cranfield", "scifact")
"""Read where they lie: in $GOSSAMER_DATA or ../shared."""
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


def test_a_missing_extra_is_named(model: GossamerSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb.models", None)
    with pytest.raises(MissingExtraError, match=r"gossamer\[mteb\]"):
        _ = model.mteb_model_meta


def test_a_conversation_is_one_query(model: GossamerSearch) -> None:
    turns = [{"role": "user", "content": "who hunts"}, {"role": "user", "content": "mice in the snow"}]
    assert next(iter(model.search([{"id": "q", "text": turns}], top_k=1, **BESIDES)["q"])) == "fox"


class Recording(GossamerSearch):
    """Keeps what it found: MTEB rounds its measures to five digits."""

    found: dict[str, dict[str, float]]

    def search(self, *args: Any, **kwargs: Any) -> dict[str, dict[str, float]]:
        self.found = super().search(*args, **kwargs)
        return self.found


@pytest.mark.extra
@pytest.mark.filterwarnings("ignore")  # of libraries of MTEB's
@pytest.mark.parametrize("method", ["hybrid", "dense"])
@pytest.mark.parametrize("name", ["small", *(pytest.param(each, marks=pytest.mark.data) for each in COLLECTIONS)])
def test_mteb_agrees_with_eval_run(name: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.syspath_prepend(EXAMPLES)
    mteb = pytest.importorskip("mteb", reason="needs the extra mteb, which installs torch")
    trec, tasks = importlib.import_module("pytrec_eval"), importlib.import_module("mteb_tasks")
    folder = tmp_path / name if name == "small" else Path(name)
    if name == "small":
        folder.mkdir()
        for file, lines in tasks.SMALL.items():
            (folder / file).write_text("\n".join(lines))
    try:
        judged = read_collection(str(folder))
    except DiskError as error:
        pytest.skip(str(error))
    with Index("lsa") as index:
        index.add(judged.documents.values(), judged.documents.keys())
        index.settle()
        ours, _ = evaluate(index, judged, method)
    model = Recording("lsa", hybrid=METHODS[method], depth=DEPTH + 1)
    (result,) = mteb.evaluate(
        model, tasks.local_task(folder), cache=None, co2_tracker=False, show_progress_bar=False
    ).task_results
    rounded = [100 * result.scores["test"][0][each] for each in ("ndcg_at_10", "recall_at_10", "mrr_at_10")]
    assert rounded == pytest.approx(ours, abs=6e-4)
    answers = {query: dict(judged.answers[query]) for query in judged.queries}
    exact = trec.RelevanceEvaluator(answers, {"ndcg_cut.10", "recall.10"}).evaluate(model.found).values()
    means = [100 * np.mean([each[measure] for each in exact]) for measure in ("ndcg_cut_10", "recall_10")]
    assert means == pytest.approx(ours[:2], abs=1e-6)
