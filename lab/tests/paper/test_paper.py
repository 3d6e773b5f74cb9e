"""The paper's tables, the choice of defaults and the robustness table, on data made up to have their form."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import bag
from gossamer.errors import InputError
from gossamer_lab.cli.eval import app
from gossamer_lab.data.datasets import beir, load
from gossamer_lab.evaluate import defaults, robustness
from gossamer_lab.job import Job
from gossamer_lab.methods.rankers import has_hnswlib
from gossamer_lab.paper import forms, paper
from gossamer_lab.paper.published import cells
from gossamer_lab.paper.setting import Missing, Setting, Sizes
from gossamer_lab.tables import Report, Table
from kitchen import write_beir

SMALL = Sizes(
    documents=600, queries=20, scaling=(300, 600, 1_200), latency={"qqp": (300, 600), "msmarco": (300, 600)},
    growth=(300, 600, 900, 1_200), timed=5,
)  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """QQP and MS MARCO in small: 1,200 questions with ready vectors of three models, and a folder of passages."""
    root = tmp_path_factory.mktemp("shared")
    (root / "embeddings").mkdir()
    rng = random.Random(0)
    texts = list(dict.fromkeys(bag.sentence(rng, 6) for _ in range(1_300)))[:1_200]
    queries = [f"{text} {bag.sentence(rng, 1)}" for text in texts[:60]]
    setup = {"corpus": texts, "queries": queries, "targets": list(range(60))}
    (root / "embeddings" / "qqp-setup.json.gz").write_bytes(gzip.compress(json.dumps(setup).encode()))
    E, Q = bag.encode(texts), bag.encode(queries)
    for model, added in (("minilm", 0.0), ("t5", 0.5), ("smollm2", 3.0)):
        np.save(root / "embeddings" / f"qqp-{model}-corpus.npy", E * (1 + added * E[:, :1] ** 2) + added)
        np.save(root / "embeddings" / f"qqp-{model}-queries.npy", Q * (1 + added * Q[:, :1] ** 2) + added)
    for name in defaults.HELD_BACK:
        _kitchen(root, name)
    _passages(root)
    return root


def _kitchen(root: Path, name: str) -> None:
    collection = beir(write_beir(root / "data" / name))
    np.save(root / "embeddings" / f"{name}-minilm-corpus.npy", bag.encode(list(collection.texts)))
    np.save(root / "embeddings" / f"{name}-minilm-queries.npy", bag.encode(list(collection.queries)))


def _passages(root: Path) -> None:
    """A pool of 700 passages, and 30 queries with ten of them each, as rows of MS MARCO 2.1."""
    rng = random.Random(1)
    pool = list(dict.fromkeys(bag.sentence(rng, 9) for _ in range(760)))[:700]
    queries = [f"{pool[10 * i]} {bag.sentence(rng, 1)}" for i in range(30)]
    folder = root / "data" / "msmarco"
    folder.mkdir(parents=True)
    rows = [
        {"query": query, "passages": {"passage_text": pool[10 * i : 10 * i + 10], "is_selected": [1] + [0] * 9}}
        for i, query in enumerate(queries)
    ]
    rows.append({"query": "unanswered", "passages": {"passage_text": pool[300:310], "is_selected": [0] * 10}})
    documents = [{"_id": f"p{i}", "text": text} for i, text in enumerate(pool)]
    asked = [{"_id": f"q{i}", "text": text, "source": "v21"} for i, text in enumerate(queries)]
    for name, lines in (("corpus", documents), ("queries", asked), ("v21_rows", rows)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    qrels = ["query-id\tcorpus-id\tscore", *(f"q{i}\tp{10 * i}\t1" for i in range(30))]
    (folder / "qrels.tsv").write_text("\n".join(qrels))
    np.save(root / "embeddings" / "msmarco-minilm-corpus.npy", bag.encode(pool))
    np.save(root / "embeddings" / "msmarco-minilm-queries.npy", bag.encode(queries))


def setting(shared: Path, cache: Path) -> Setting:
    return Setting(Job(shared, cache, quick=True), SMALL)


@pytest.fixture(scope="module")
def report(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return paper.report(setting(shared, tmp_path_factory.mktemp("cache")))


def test_every_table_and_figure_of_the_paper(report: Report, shared: Path, tmp_path: Path) -> None:
    keys = [table.key for table in report.tables if table.key != "decoder-case-qqp"]  # there may be no such query
    assert keys == [
        "table-1", "qqp-encoder", "qqp-encoder-decoder", "qqp-decoder", "table-2", "msmarco-encoder",
        "table-3", "table-C-qqp", "table-C-msmarco", "table-C-msmarco-encoder", "latency-qqp", "build",
        "latency-msmarco", "decoder-hubs-msmarco", "decoder-hubs-qqp",
        "growth", "parts", "joins", "whitening", "weights", "budgets", "orders", "isotropy", "coverage",
    ]  # fmt: skip
    assert all(table.rows or table.notes for table in report.tables)
    assert any("hnsw" in str(row["method"]) for row in report.tables[1].rows) == has_hnswlib()
    drawn = paper.draw(report, setting(shared, tmp_path), tmp_path / "out")
    assert {file.name for file in drawn} == {"latency-qqp.png", "latency-msmarco.png", "hierarchies.png"}
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in drawn)


def table_of(report: Report, key: str) -> Table:
    return next(table for table in report.tables if table.key == key)


def test_a_cell_without_our_figure_has_a_reason(report: Report) -> None:
    second = table_of(report, "table-2")
    texts = [str(text) for row in second.rows for name, text in row.items() if name.startswith(("T5", "GPT-2"))]
    assert texts
    assert all(text.startswith("–") for text in texts)
    assert any("there are no ready vectors of t5" in note for note in second.notes)
    assert any("there are no ready vectors of smollm2" in note for note in second.notes)


def test_structures_stand_side_by_side(report: Report) -> None:
    for key in ("table-1", "table-2", "table-3", "table-C-qqp"):
        named = {str(row["method"]) for row in table_of(report, key).rows}
        assert {"Cobweb, path-sum", "Living tree, path-sum", "Default: living tree, guided"} <= named
    for key in ("latency-qqp", "latency-msmarco"):
        assert {"path-sum@pca", "path-sum@living"} <= {str(row["method"]) for row in table_of(report, key).rows}


def test_at_the_papers_sizes_every_printed_figure_has_ours_beside_it_or_a_reason() -> None:
    """The coverage of a whole run, with figures made up in the place of measured ones."""
    figures = forms.Figures()
    result = SimpleNamespace(method=SimpleNamespace(name="dot@raw"), scores=SimpleNamespace(mean=lambda name: 1.0))
    whole = Setting(Job(quick=True))
    for collection, kind, size in {(cell.collection, cell.kind, cell.documents) for cell in cells()}:
        figures.add(whole, (collection, kind, size), Missing("no vectors") if kind == "decoder" else [result])  # type: ignore[list-item]
    table = forms.coverage(figures, ["1"])
    assert table.rows[0] == {"table": "1", "printed figures": 108, "with ours beside": 12, "with a reason": 36}
    cell = next(cell for cell in cells() if cell.kind == "decoder")
    assert figures.of(cell) == "no vectors"
    assert forms.beside(12.0, 13.5) == "12.00 [13.50]"
    assert forms.beside(None, 13.5, log=True) == "– [13.50 in a log]"


def test_texts_are_shown_only_where_asked_for(shared: Path, tmp_path: Path) -> None:
    setup = json.loads(gzip.decompress((shared / "embeddings" / "qqp-setup.json.gz").read_bytes()))
    for texts in (False, True):
        report = paper.report(setting(shared, tmp_path), parts=[5, 7], texts=texts)
        told = json.dumps([[dict(row) for row in table.rows] for table in report.tables])
        assert any(text in told for text in setup["corpus"]) == texts


def test_published_pages_take_no_texts(shared: Path, tmp_path: Path) -> None:
    out = tmp_path / "docs" / "results"
    done = CliRunner().invoke(app, ["paper", "--texts", "--out", str(out), "--data", str(shared)])
    assert done.exit_code == 2
    assert not out.exists()


def test_local_vectors_stand_for_a_model(shared: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for what in ("corpus", "queries"):
        vectors = np.load(shared / "embeddings" / f"msmarco-minilm-{what}.npy")
        np.save(own / f"msmarco-my-t5-{what}.npy", vectors)
    job = Job(shared, tmp_path, quick=True, vectors=own)
    found = Setting(job, SMALL, models=("my-t5",)).task_or_reason("msmarco", "my-t5", 300)
    assert not isinstance(found, Missing)
    assert Setting(job, SMALL, models=("my-t5",)).by_kind == {"encoder-decoder": "my-t5"}
    missing = Setting(job, SMALL).task_or_reason("msmarco", "st:no-such-model", 300)
    assert isinstance(missing, Missing)
    assert missing.reason


def test_the_authors_form_of_ms_marco(shared: Path) -> None:
    found = load("msmarco-v21", folder=shared, documents=200)
    assert len(found) == 200
    assert len(found.queries) == 20
    assert found.arrival is not None
    first = np.argsort(found.arrival)[:10]
    assert {found.ids[row] for row in first} == {f"p{i}" for i in range(10)}  # the passages of the first query
    assert dict(found.answers["q3"]) == {"p30": 1}
    assert len(load("msmarco-v21", folder=shared).queries) == 30
    with pytest.raises(InputError, match="700 passages here, and 701"):
        load("msmarco-v21", folder=shared, documents=701)


def test_defaults_are_chosen_and_reported(shared: Path, tmp_path: Path) -> None:
    report = defaults.report(Job(shared, tmp_path), choosing={"qqp": 600, "msmarco": None}, weak=600)
    assert [table.key for table in report.tables[:2]] == ["choose-components", "choose-strength"]
    for table in report.tables[:-2]:
        assert [row[""] for row in table.rows].count("chosen") == 1
    last = report.tables[-2]
    assert last.key == "held-back"
    assert list(dict.fromkeys(row["collection"] for row in last.rows)) == ["qqp", "msmarco", *defaults.HELD_BACK]
    assert last.rows[0]["queries"] == 30  # half of sixty


def test_robustness(shared: Path, tmp_path: Path) -> None:
    report = robustness.report(Job(shared, tmp_path, quick=True), documents=1_200)
    rows = {str(row["embedding"]): row for row in report.tables[0].rows}
    assert set(rows) >= {"MiniLM, as it is", "MiniLM, int8", "T5 encoder", "SmolLM2, decoder only"}
    shifted = rows["MiniLM, one direction added"]
    assert float(shifted["mean cosine"] or 0) > 0.5
    assert float(shifted["γ"] or 0) == 1.0
    assert float(shifted["l2@pca"] or 0) == pytest.approx(float(rows["MiniLM, as it is"]["l2@pca"] or 0), abs=3)
