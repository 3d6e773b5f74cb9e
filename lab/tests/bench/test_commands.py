"""The command line of the benchmarks: tables, JSON, a picture, and errors of one sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from gossamer.encoders.lsa import LsaEncoder
from gossamer_lab.cli.bench import bench

runner = CliRunner()


def test_search_on_given_vectors_with_json_and_picture(files: tuple[Path, Path], tmp_path: Path) -> None:
    out, png = tmp_path / "out.json", tmp_path / "out.png"
    arguments = ["--vectors", str(files[0]), "--queries", str(files[1]), "--json", str(out), "--plot", str(png)]
    done = runner.invoke(bench, ["search", "--quick", "--repeats", "1", "--rows", "1200", *arguments])
    assert done.exit_code == 0, done.output
    assert "recall and time" in done.stdout
    report = json.loads(out.read_text())
    assert report["data"].startswith("corpus: 1,200 documents, 40 queries")
    assert report["settings"] == {"threads": 1, "rounds": 1, "k": 10, "vectors": "whitened"}
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("command", ["build", "memory", "filter"])
def test_every_command_runs_on_given_vectors(command: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    arguments = ["--vectors", str(files[0]), "--queries", str(files[1]), "--json", str(tmp_path / "out.json")]
    done = runner.invoke(bench, [command, "--quick", "--rows", "1200", *arguments])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["task"] == command
    assert report["sections"][0]["rows"]


def test_without_vectors_the_error_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GOSSAMER_DATA", raising=False)
    done = runner.invoke(bench, ["search"])
    assert done.exit_code == 1
    assert done.stderr.startswith("error: there is no folder of vectors: no data folder at ../shared")
    assert done.stderr.count("\n") == 1


def test_half_of_the_vectors_is_an_error(files: tuple[Path, Path]) -> None:
    done = runner.invoke(bench, ["build", "--vectors", str(files[0])])
    assert done.exit_code == 1
    assert "--vectors and --queries go together" in done.stderr


def test_vectors_with_holes_are_an_error(files: tuple[Path, Path], tmp_path: Path) -> None:
    np.save(tmp_path / "holes.npy", np.full((5, 16), np.nan))
    done = runner.invoke(bench, ["memory", "--vectors", str(tmp_path / "holes.npy"), "--queries", str(files[1])])
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")


def test_too_few_vectors_to_measure_are_an_error(files: tuple[Path, Path]) -> None:
    arguments = ["--vectors", str(files[0]), "--queries", str(files[1]), "--rows", "300"]
    done = runner.invoke(bench, ["search", "--quick", *arguments])
    assert done.exit_code == 1
    assert "300 documents are too few" in done.stderr


def test_help_names_every_command() -> None:
    done = runner.invoke(bench, ["--help"])
    assert done.exit_code == 0
    for command in ("build", "search", "scale", "memory", "filter", "stream"):
        assert command in done.stdout


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A data folder with texts and vectors, as the ready ones are."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{at}" for at in range(200)])
    corpus, queries = ([" ".join(rng.choice(words, 9)) for _ in range(count)] for count in (400, 120))
    folder = tmp_path / "shared" / "embeddings"
    folder.mkdir(parents=True)
    setup = json.dumps({"corpus": corpus, "queries": queries, "targets": []})
    (folder / "qqp-setup.json.gz").write_bytes(gzip.compress(setup.encode()))
    for name, texts in (("corpus", corpus), ("queries", queries)):
        np.save(folder / f"qqp-minilm-{name}.npy", rng.normal(size=(len(texts), 16)).astype(np.float16))
    return tmp_path / "shared"


def test_text_and_words_on_texts(questions: Path, tmp_path: Path) -> None:
    arguments = ["--data", str(questions), "--count", "10", "--json", str(tmp_path / "out.json")]
    done = runner.invoke(bench, ["text", *arguments])
    assert done.exit_code == 0, done.output
    latency, batch, vectors, size = json.loads((tmp_path / "out.json").read_text())["tables"]
    assert {row["call"] for row in latency["rows"]} >= {"dense", "hybrid", "filter, 1 %", "explain", "flat scan"}
    assert len(batch["rows"]) == 4
    assert [row["call"] for row in vectors["rows"]] == ["VectorIndex.search"]  # so few are compared, not walked to
    assert all(row["value"] >= 0 for row in size["rows"])
    done = runner.invoke(bench, ["words", "--collection", "qqp", *arguments])
    assert done.exit_code == 0, done.output
    (engines,) = json.loads((tmp_path / "out.json").read_text())["tables"]
    assert [row["engine"] for row in engines["rows"]] == ["gossamer", "Tantivy", "SQLite FTS5"]


def test_growth_and_an_index_of_texts(questions: Path, tmp_path: Path) -> None:
    """With `lsa`, which is fitted on the texts, nothing has to be downloaded."""
    corpus = questions / "data" / "qqp" / "corpus.jsonl.gz"
    corpus.parent.mkdir(parents=True)
    rng = np.random.default_rng(1)
    texts = [" ".join(f"word{at}" for at in rng.integers(0, 300, 9)) for _ in range(2100)]
    corpus.write_bytes(gzip.compress("\n".join(json.dumps({"text": text}) for text in texts).encode()))
    encoder = LsaEncoder().fit(texts)
    setup = json.loads(gzip.decompress((questions / "embeddings" / "qqp-setup.json.gz").read_bytes()))
    np.save(questions / "embeddings" / "qqp-minilm-queries.npy", encoder.encode(setup["queries"], kind="query"))
    out = tmp_path / "out"
    chosen = ["--size", "2000", "--size", "2500", "--system", "gossamer", "--system", "faiss HNSW", "--model", "lsa"]
    chosen += ["--data", str(questions), "--cache", str(tmp_path / "cache"), "--out", str(out)]
    done = runner.invoke(bench, ["scale", *chosen])
    assert done.exit_code == 0, done.output
    (tmp_path / "cache" / "scale" / "texts.json").unlink()
    done = runner.invoke(bench, ["scale", *chosen, "--resume"])
    assert done.exit_code == 0, done.output
    building, searching, growth, stages, text = json.loads((out / "scale.json").read_text())["tables"]
    assert [(row["documents"], row["system"]) for row in building["rows"]] == [
        (2000, "gossamer"), (2000, "faiss HNSW"), (2500, "gossamer"), (2500, "faiss HNSW"),
    ]  # fmt: skip
    assert all(row["seconds"] > 0 and row["peak, MB"] >= 0 for row in building["rows"])
    assert all(row["best recall"] > 0.9 for row in searching["rows"])
    assert {row["system"] for row in growth["rows"]} <= {"gossamer", "faiss HNSW"}
    assert next(row["value"] for row in stages["rows"] if row["what"] == "folder") > 0
    assert text["rows"][0]["dense"] > 0
    assert (out / "scale" / "scale.png").read_bytes().startswith(b"\x89PNG")
