"""The paper's tables, the choice of defaults and the robustness table, on data made up to have their form."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

import bag
from gossamer_lab.data.datasets import beir
from gossamer_lab.evaluate import defaults, robustness
from gossamer_lab.job import Job
from gossamer_lab.methods.rankers import has_hnswlib
from gossamer_lab.paper import paper
from gossamer_lab.paper.setting import Setting, Sizes
from kitchen import write_beir

SMALL = Sizes(
    documents=600, queries=5, scaling={"qqp": (300, 600), "msmarco": (120,)}, latency=(300, 600, 1_200),
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
    for name in ("msmarco", *defaults.HELD_BACK):
        collection = beir(write_beir(root / "data" / name))
        path = root / "data" / name / "queries.jsonl"
        rows = [{**json.loads(line), "source": "v21"} for line in path.read_text().splitlines()]
        path.write_text("\n".join(map(json.dumps, rows)))
        np.save(root / "embeddings" / f"{name}-minilm-corpus.npy", bag.encode(list(collection.texts)))
        np.save(root / "embeddings" / f"{name}-minilm-queries.npy", bag.encode(list(collection.queries)))
    return root


def setting(shared: Path, cache: Path) -> Setting:
    return Setting(Job(shared, cache, quick=True), SMALL)


def test_every_part_of_the_paper(shared: Path, tmp_path: Path) -> None:
    quick = setting(shared, tmp_path)
    report = paper.report(quick)
    keys = [table.key for table in report.tables]
    assert keys == [
        "qqp-minilm", "qqp-t5", "qqp-smollm2", "msmarco-minilm", "scaling-qqp-recall-5", "scaling-qqp-ndcg-10",
        "scaling-msmarco-recall-5", "scaling-msmarco-ndcg-10", "latency", "build",
        "decoder-hubs", "decoder-case", "growth",
    ]  # fmt: skip
    assert all(table.rows for table in report.tables)
    for table in (report.tables[0], report.tables[8]):
        assert any("hnsw" in str(row["method"]) for row in table.rows) == has_hnswlib()
        assert any("hnsw is left out" in note for note in table.notes) != has_hnswlib()
    growth = report.tables[-1].rows
    assert all(1.0 < float(row["nodes a document"] or 0) < 2.0 for row in growth)
    drawn = paper.draw(report, quick, tmp_path / "out")
    assert {file.name for file in drawn} >= {"latency.png", "hierarchies.png", "scaling-qqp-recall-5.png"}
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in drawn)


def test_texts_are_shown_only_where_asked_for(shared: Path, tmp_path: Path) -> None:
    setup = json.loads(gzip.decompress((shared / "embeddings" / "qqp-setup.json.gz").read_bytes()))
    for texts in (False, True):
        report = paper.report(setting(shared, tmp_path), parts=[5], texts=texts)
        told = json.dumps([[dict(row) for row in table.rows] for table in report.tables])
        assert any(text in told for text in setup["corpus"]) == texts


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
