"""The examples of integrations run, and print what they promise."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("example", "framework", "said"),
    [
        ("langchain_retriever", "langchain_core", ["Bake the bread", "not here: []", "topics: ["]),
        ("llama_index_store", "llama_index", ["hunts deer", "is number 1 of 9", "9 passages), for example:"]),
        ("haystack_pipeline", "haystack", ["An owl hunts mice", "since 2022: ['Bake the bread", "topics: ["]),
    ],
)
def test_an_example_runs(example: str, framework: str, said: list[str]) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"needs {framework}: make test-integrations")
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{example}.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "HAYSTACK_TELEMETRY_ENABLED": "False"},
    )
    assert done.returncode == 0, done.stderr
    assert [each for each in said if each not in done.stdout] == []


def loaded(name: str) -> Any:
    """An example as a module, to run it in this process."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_scikit_learn(capsys: pytest.CaptureFixture[str]) -> None:
    loaded("scikit_learn").main()
    told = capsys.readouterr().out
    assert told.count("statistics.") >= 3
    assert "are the first to merge" in told
    assert "a question belongs to cluster" in told


@pytest.mark.parametrize("name", ["parquet", "faiss", "chroma", "lancedb"])
def test_transfer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    library = {"parquet": "pyarrow", "chroma": "chromadb"}.get(name, name)
    pytest.importorskip(library, reason=f"needs the extra {name}")
    loaded("transfer").main(name)
    assert f"{name}: 6 taken over, bread is nearest to cake" in capsys.readouterr().out


@pytest.mark.extra
def test_bertopic() -> None:
    for name in ("bertopic", "hdbscan"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}, which no extra installs: pip install bertopic")
    command = [sys.executable, str(EXAMPLES / "bertopic_topics.py")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Topic: 5" in told, "the tree of topics has all six"
    assert "a question: [" in told
