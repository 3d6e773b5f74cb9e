"""Searches beside a growing index: vectors that do not run out, threads that rest when told, and the command."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from bench.conftest import made_up
from gossamer import VectorIndex
from gossamer.errors import InputError
from gossamer_lab.bench.stream import waits
from gossamer_lab.bench.stream.stalls import Stalls
from gossamer_lab.bench.stream.waits import Searchers, Wanted, load, mixtures
from gossamer_lab.cli.bench import bench
from gossamer_lab.engine import Floats


def unit(X: Floats) -> Floats:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True), np.float32)


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    for seed, name in enumerate(("qqp", "msmarco")):
        np.save(folder / f"{name}-minilm-corpus.npy", unit(made_up(300, seed=seed)).astype(np.float16))
        np.save(folder / f"{name}-minilm-queries.npy", unit(made_up(30, seed=seed + 5)).astype(np.float16))
    return folder


def test_mixtures_lie_between_near_documents() -> None:
    E = unit(made_up(500))
    mixed = mixtures(E, 700, seed=1)
    assert mixed.shape == (700, 16)
    np.testing.assert_allclose(np.linalg.norm(mixed, axis=1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(mixed, mixtures(E, 700, seed=1))
    cosines = mixed @ E.T
    nearest = np.sort(cosines, axis=1)[:, -2:]
    assert (nearest > 0.75).mean() > 0.95  # of a random pair it is below 0.3
    assert (cosines.max(axis=1) < 0.9999).mean() > 0.95


def test_sources_come_one_after_the_other(sets: Path) -> None:
    growth = load(sets, 700, seed=0)
    assert growth.starts == {"QQP": 0, "MS MARCO": 300, "mixtures": 600}
    assert len(growth.E) == 700
    assert list(growth.queries) == ["QQP", "MS MARCO"]
    assert load(sets, 250, seed=0).starts == {"QQP": 0}


def test_searchers_search_only_while_they_may() -> None:
    index = VectorIndex(16)
    index.add(made_up(300))
    before = threading.active_count()
    with Searchers(index, made_up(20, seed=1), count=3, pause=0.1) as searchers:
        searchers.resume()
        time.sleep(0.2)
        searched = searchers.rest()
        assert len(searched) > 3
        assert (searched > 0).all()
        time.sleep(0.05)
        searchers.resume()
        assert len(searchers.rest()) < len(searched)
    assert threading.active_count() == before


def test_an_error_of_a_searcher_is_raised() -> None:
    class Broken:
        def search(self, q: Any, k: int) -> None:
            raise ValueError("no more")

    broken: Any = Broken()
    with Searchers(broken, made_up(5), count=2, pause=0.0) as searchers:
        searchers.resume()
        time.sleep(0.05)
        with pytest.raises(ValueError, match="no more"):
            searchers.rest()


def test_stalls_are_measured_anew_after_each_look() -> None:
    with Stalls() as stalls:
        stalls.longest()
        time.sleep(0.05)
        assert 0.0 < stalls.longest() < 60.0


def test_there_must_be_something_to_grow() -> None:
    with pytest.raises(InputError, match="grows from 300 to 305"):
        Wanted(300, 305)


def test_the_whole_command(sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_ALONE", 0.1)
    arguments = ["--from", "280", "--to", "680", "--threads", "2", "--data", str(sets), "--out", str(tmp_path)]
    done = CliRunner().invoke(bench, ["stream", "--waits", *arguments])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "stream-waits.json").read_text())
    bars, over_time = (table["rows"] for table in report["tables"])
    assert [row["met"] for row in bars[-1:]] == [True]  # so few are all scored
    assert over_time[0]["documents"] == "280, no additions"
    assert over_time[10]["documents"] == "to 680"
    whole = over_time[-1]
    assert whole["adds"] == sum(row["adds"] for row in over_time[:-1]) == 400
    assert whole["searches"] == sum(row["searches"] for row in over_time[1:-1])
    for row in over_time[1:]:
        shares = [row[f"add ms, {share}"] for share in ("median", "99 %", "99.9 %", "longest")]
        assert shares == sorted(shares)
    assert whole["stall, ms"] == max(row["stall, ms"] for row in over_time[1:-1]) > 0
    assert whole["add ms, longest"] == max(row["add ms, longest"] for row in over_time[1:-1])
    assert "MS MARCO from 301, mixtures from 601" in report["data"]
    assert (tmp_path / "stream-waits" / "waits.png").read_bytes().startswith(b"\x89PNG")


def test_a_growth_can_be_ended_by_the_clock(sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_ALONE", 0.1)
    monkeypatch.setattr(waits, "_warm_up", lambda growth: None)
    monkeypatch.setattr(VectorIndex, "add", _slowly(VectorIndex.add))
    arguments = ["--from", "280", "--to", "680", "--threads", "1", "--data", str(sets), "--minutes", "0.02"]
    done = CliRunner().invoke(bench, ["stream", "--waits", *arguments, "--json", str(tmp_path / "out.json")])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out.json").read_text())
    assert "Stopped after 0.02 minutes" in report["tables"][1]["notes"][-1]
    assert report["tables"][1]["rows"][-1]["adds"] < 400


def _slowly(add: Any) -> Any:
    def slow(*args: Any, **options: Any) -> Any:
        time.sleep(0.01)
        return add(*args, **options)

    return slow
