"""`gossamer eval` from end to end on a small collection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run
from kitchen import write_beir


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_beir(tmp_path_factory.mktemp("eval") / "kitchen")


def test_comparing_shows_writes_and_resumes(kitchen: Path, run: Run, tmp_path: Path) -> None:
    arguments = ("eval", "compare", kitchen, "--model", "lsa", "--cache", tmp_path / "cache")
    methods = "dot@raw,bm25,best-first@pca,guided,hybrid"
    shown = run(*arguments, "--methods", methods, "--orders", "2", "--out", tmp_path / "out", columns=160)
    for word in ("kitchen", "120 documents, 5 queries", "best-first", "nDCG@10", "wrote 3 files"):
        assert word in shown.output
    assert len(list((tmp_path / "cache" / "rankings").iterdir())) == 5 + 2 * 2
    told = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert [row["method"] for row in told["tables"][0]["rows"]] == ["dot", "bm25", "best-first", "guided", "hybrid"]
    assert "±" in told["tables"][0]["rows"][2]
    assert (tmp_path / "out" / "compare" / "results.csv").read_text().startswith("method,vectors,Recall@5")
    again = json.loads(run(*arguments, "--methods", methods, "--json").stdout)
    same = [row["nDCG@10"] for row in told["tables"][0]["rows"]]
    assert [row["nDCG@10"] for row in again["tables"][0]["rows"]] == same
    assert all(20 < value < 100.001 for value in same), same


def test_a_narrow_terminal_gets_the_telling_columns(kitchen: Path, run: Run, tmp_path: Path) -> None:
    shown = run(
        "eval", "compare", kitchen, "--model", "lsa", "--cache", tmp_path, "--methods", "dot@raw,bm25", "--quiet"
    )
    assert "nDCG@10" in shown.stdout
    assert not shown.stderr


def test_list(run: Run) -> None:
    told = json.loads(run("eval", "compare", "--list", "--json").stdout)
    assert "guided" in told["rankers"]
    assert {"raw", "paper", "pca", "living", "default", "cobweb"} <= set(told["vectors"])
    assert {"path-sum-decay", "best-first-500"} <= set(told["rankers"])
    assert "best-first" in run("eval", "compare", "--list").stdout
    assert run("eval", "compare", ok=False).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("compare", "nowhere"), "there is no collection 'nowhere'"),
        (("compare", "{kitchen}", "--methods", "magic"), "there is no ranker 'magic'"),
        (("compare", "{kitchen}", "--baseline", "magic"), "there is no ranker 'magic'"),
        (("compare", "{kitchen}", "--model", "word2vec"), "no encoder 'word2vec'"),
        (("compare", "{kitchen}", "--queries", "5", "--documents", "3"), "more than 3 documents"),
        (("paper", "--table", "10"), "there is no table 10"),
        (("paper", "--data", "{kitchen}/none"), "no data folder at"),
        (("defaults", "--data", "{kitchen}/none"), "no data folder at"),
        (("robustness", "--data", "{kitchen}/none"), "no data folder at"),
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
