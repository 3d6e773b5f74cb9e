"""`gossamer cluster`, on clusters that run already."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cluster.themes import corpus
from gossamer.cli.app import app
from gossamer.cluster import Cluster

Told = Callable[..., dict[str, Any]]


@pytest.fixture
def told() -> Told:
    def run(*arguments: object) -> dict[str, Any]:
        done = CliRunner().invoke(app, ["cluster", *map(str, arguments), "--json"])
        assert done.exit_code == 0, done.output
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


def test_a_cluster_is_filled_searched_and_balanced(told: Told, tmp_path: Path) -> None:
    texts, ids, _ = corpus(60)
    rows = [json.dumps({"id": id, "text": text}) for id, text in zip(ids, texts, strict=True)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    with Cluster.create(tmp_path / "c", "lsa", shards=2) as cluster:
        made = told("index", tmp_path / "rows.jsonl", "--to", tmp_path / "c", "--id-field", "id")
        assert (made["documents"], made["added"]) == (60, 60)
        found = told("search", tmp_path / "c", texts[7], "-k", 3)
        assert found["hits"][0]["id"] == ids[7]
        assert (found["asked"], found["partial"], found["shards"]) == ([0, 1], False, 2)
        status = told("status", tmp_path / "c")
        assert status["whole"]
        assert sum(shard["documents"] for shard in status["shards"]) == 60
        moved = told("rebalance", tmp_path / "c")
        assert sum(moved["sizes"]) == 60
        assert cluster.address.startswith("127.")
        plain = CliRunner().invoke(app, ["cluster", "status", str(tmp_path / "c")])
        assert "60 documents in 2 shards" in " ".join(plain.stdout.split())


def test_a_folder_without_a_cluster_is_an_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["cluster", "status", str(tmp_path)])
    assert done.exit_code == 1
    assert "no cluster" in done.stderr
