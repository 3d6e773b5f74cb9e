"""Actors and a node of a cluster are killed under load: queries go on, and no acknowledged document is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `two_nodes` saw."""
    program = [sys.executable, "-m", "cluster.two_nodes", str(tmp_path_factory.mktemp("nodes"))]
    out = subprocess.run(program, cwd=TESTS, capture_output=True, text=True, timeout=440)
    lines = [line for line in out.stdout.splitlines() if line.startswith("SEEN ")]
    assert lines, out.stderr[-3000:]
    found: dict[str, Any] = json.loads(lines[-1].removeprefix("SEEN "))
    return found


def test_queries_go_on_without_a_shard_and_say_so(seen: dict[str, Any]) -> None:
    assert seen["shard: partial"]
    assert seen["shard: whole again"]
    assert seen["errors"] == []
    assert seen["searches"] > 20


def test_changes_survive_the_keeper(seen: dict[str, Any]) -> None:
    assert seen["keeper: changes go on"]
    assert seen["keeper: whole"]


def test_a_node_that_dies_is_replaced(seen: dict[str, Any]) -> None:
    assert seen["node: whole again"]
    assert seen["node: shards moved"] >= 1
    assert seen["node: changes go on"]


def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(seen: dict[str, Any]) -> None:
    assert seen["acknowledged"] > 5
    assert (seen["lost"], seen["twice"], seen["copies"]) == ([], 0, 1)
    assert seen["documents"][0] == seen["documents"][1]


def test_a_replica_answers_for_a_shard_that_died(seen: dict[str, Any]) -> None:
    assert (seen["replica: partial"], seen["replica: errors"], seen["replica: lost"]) == (0, [], [])
