"""`gossamer eval` from end to end on a small collection."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import bag
from cli.conftest import Run
from evaluate.conftest import write_beir
from gossamer_lab.evaluate.datasets import beir

pytest.importorskip("ir_measures", reason="needs the extra eval")
pytest.importorskip("faiss", reason="needs the extra eval")
pytest.importorskip("hnswlib", reason="needs the extra eval")


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_beir(tmp_path_factory.mktemp("eval") / "kitchen")


def test_run_shows_writes_and_resumes(kitchen: Path, run: Run, tmp_path: Path) -> None:
    arguments = ("eval", "run", kitchen, "--model", "lsa", "--cache", tmp_path / "cache")
    methods = "dot@raw,bm25,best-first@pca,guided,hybrid"
    shown = run(*arguments, "--methods", methods, "--orders", "2", "--out", tmp_path / "out", columns=160)
    for word in ("kitchen", "120 documents, 5 queries", "best-first", "nDCG@10", "wrote 5 files"):
        assert word in shown.output
    assert len(list((tmp_path / "cache" / "rankings").iterdir())) == 5 + 2 * 2
    told = json.loads((tmp_path / "out" / "run.json").read_text())
    assert [row["method"] for row in told["tables"][0]["rows"]] == ["dot", "bm25", "best-first", "guided", "hybrid"]
    assert "±" in told["tables"][0]["rows"][2]
    assert (tmp_path / "out" / "run" / "results.csv").read_text().startswith("method,vectors,Recall@5")
    assert len((tmp_path / "out" / "run" / "queries.csv").read_text().splitlines()) == 6
    again = json.loads(run(*arguments, "--methods", methods, "--json").stdout)
    same = [row["nDCG@10"] for row in told["tables"][0]["rows"]]
    assert [row["nDCG@10"] for row in again["tables"][0]["rows"]] == same
    assert all(20 < value < 100.001 for value in same), same


def test_a_narrow_terminal_gets_the_telling_columns(kitchen: Path, run: Run, tmp_path: Path) -> None:
    shown = run("eval", "run", kitchen, "--model", "lsa", "--cache", tmp_path, "--methods", "dot@raw,bm25", "--quiet")
    assert "nDCG@10" in shown.stdout
    assert not shown.stderr


def test_ready_vectors(kitchen: Path, run: Run, tmp_path: Path) -> None:
    collection = beir(kitchen)
    np.save(tmp_path / "d.npy", bag.encode(list(collection.texts)))
    np.save(tmp_path / "q.npy", bag.encode(list(collection.queries)))
    files = ("--document-vectors", tmp_path / "d.npy", "--query-vectors", tmp_path / "q.npy")
    told = json.loads(
        run("eval", "run", kitchen, *files, "--methods", "dot@raw", "--cache", tmp_path / "c", "--json").stdout
    )
    assert "32 dimensions" in told["data"]


def test_list(run: Run) -> None:
    told = json.loads(run("eval", "run", "--list", "--json").stdout)
    assert "guided" in told["rankers"]
    assert set(told["vectors"]) == {"raw", "paper", "pca", "default"}
    assert "best-first" in run("eval", "run", "--list").stdout
    assert run("eval", "run", ok=False).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "nowhere"), "there is no collection 'nowhere'"),
        (("run", "{kitchen}", "--methods", "magic"), "there is no ranker 'magic'"),
        (("run", "{kitchen}", "--baseline", "magic"), "there is no ranker 'magic'"),
        (("run", "{kitchen}", "--document-vectors", "x.npy"), "go together"),
        (("run", "{kitchen}", "--model", "word2vec"), "no encoder 'word2vec'"),
        (("run", "{kitchen}", "--queries", "5", "--documents", "3"), "more than 3 documents"),
        (("paper", "--table", "9"), "there is no table 9"),
        (("paper", "--data", "{kitchen}/none"), "there is no folder of data"),
        (("defaults", "--data", "{kitchen}/none"), "there is no folder of data"),
        (("robustness", "--data", "{kitchen}/none"), "there is no folder of data"),
    ],
)
def test_errors_are_one_sentence(
    arguments: tuple[str, ...], says: str, kitchen: Path, run: Run, tmp_path: Path
) -> None:
    words = [each.replace("{kitchen}", str(kitchen)) for each in arguments]
    result = run("eval", *words, "--cache", tmp_path, ok=False)
    assert result.exit_code == 1
    assert says in result.stderr
    assert "Traceback" not in result.output
