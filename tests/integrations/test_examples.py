"""The examples of integrations run, and print what they promise."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

RUNS: list[Any] = [
    ("ann_benchmark --count 5", "h5py", ["4,000 × 32, angular, built in", "recall=1.0): recall 1.000, "]),
    ("haystack_pipeline", "haystack", ["An owl hunts mice", "since 2022: ['Bake the bread", "topics: ["]),
    ("langchain_retriever", "langchain_core", ["Bake the bread", "not here: []", "topics: ["]),
    ("llama_index_store", "llama_index", ["hunts deer", "is number 1 of 9", "9 passages), for example:"]),
    ("mcp_client", "mcp", ["tools: search", "#17", "A pack of wolves hunts deer", "[4] 1."]),
    ("scikit_learn", "sklearn", ["statistics.", "are the first to merge", "a question belongs to cluster"]),
    ("transfer chroma", "chromadb", ["chroma: 6 taken over, bread is nearest to cake"]),
    ("transfer faiss", "faiss", ["faiss: 6 taken over, bread is nearest to cake"]),
    ("transfer lancedb", "lancedb", ["lancedb: 6 taken over, bread is nearest to cake"]),
    ("transfer parquet", "pyarrow", ["parquet: 6 taken over, bread is nearest to cake"]),
    pytest.param(
        "mteb_tasks", "mteb", ["hybrid: ndcg_at_10 1.00000", "dense: ndcg_at_10 1.00000"], marks=pytest.mark.extra
    ),
    pytest.param("bertopic_topics", "bertopic", ["Topic: 5", "a question: ["], marks=pytest.mark.extra),
]
"""The example with its arguments, the package that it needs, and what it prints."""
ELSEWHERE = {"client", "quickstart", "texts"}
"""Examples that other tests run, and what the examples share."""

# What the frameworks and their own dependencies warn of.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _offline_and_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_every_example_is_run() -> None:
    named = {getattr(each, "values", each)[0].split()[0] for each in RUNS}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == named | ELSEWHERE


@pytest.mark.parametrize(("example", "needs", "said"), RUNS)
def test_an_example_runs(
    example: str, needs: str, said: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"needs {needs}: see CONTRIBUTING.md")
    if needs == "bertopic":
        monkeypatch.setitem(sys.modules, "umap", None)  # not used, and compiled for ten seconds when it is imported
    module, *arguments = example.split()
    with capsys.disabled():  # the client of MCP keeps the stderr of its import for the servers that it starts
        imported = importlib.import_module(module)
    imported.main(*arguments)
    told = capsys.readouterr().out
    assert [each for each in said if each not in told] == [], told
