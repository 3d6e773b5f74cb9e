"""The algorithm for ann-benchmarks and VIBE, called as their runners call it."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gossamer.errors import ParameterError, StateError
from gossamer.integrations.ann_benchmarks import Gossamer

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def data() -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3_050, 16)) * rng.uniform(0.5, 2.0, size=(3_050, 1))
    return rows[:3_000], rows[3_000:]


def nearest(metric: str, train: npt.NDArray[Any], test: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if metric == "euclidean":
        distances = ((test[:, None] - train[None]) ** 2).sum(axis=2)
    else:
        distances = -(test @ train.T) / (1.0 if metric == "ip" else np.linalg.norm(train, axis=1))
    order: npt.NDArray[np.int64] = np.argsort(distances, axis=1, kind="stable")
    return order[:, :10]


@pytest.mark.parametrize("metric", ["euclidean", "angular", "cosine", "ip"])
def test_what_their_runners_call(data: tuple[Any, Any], metric: str) -> None:
    train, test = data
    algorithm, true = Gossamer(metric), nearest(metric, train, test)
    with pytest.raises(StateError, match="call fit"):
        algorithm.query(test[0], 10)
    algorithm.fit(train)
    visited = []
    for recall in (0.9, 1.0):
        algorithm.set_query_arguments(recall)
        assert str(algorithm) == f"Gossamer(living, recall={recall})"
        found = np.array([algorithm.query(each, 10) for each in test])
        share = np.mean([len(np.intersect1d(*each)) for each in zip(found, true, strict=True)]) / 10
        assert share >= recall - 0.02
        visited.append(algorithm.get_additional()["dist_comps"])
        algorithm.batch_query(test, 10)
        assert np.mean(algorithm.get_batch_results() == found) > 0.99
        assert algorithm.get_additional()["dist_comps"] == pytest.approx(2 * visited[-1], rel=0.05)
    assert visited[0] < visited[1] == len(test) * len(train)
    algorithm.done()
    with pytest.raises(StateError):
        algorithm.query(test[0], 10)


BASE = """
class BaseANN:
    def get_memory_usage(self):
        return 1.0
    def query(self, q, n):
        return []
    def get_additional(self):
        return {}
"""
"""What `BaseANN` of ann-benchmarks (f402b2c) offers besides methods that do nothing."""


def test_the_wrapper_is_made_as_their_configuration_says(
    data: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, which no extra installs")
    base = tmp_path / "ann_benchmarks" / "algorithms" / "base"
    base.mkdir(parents=True)
    (base / "module.py").write_text(BASE)
    shutil.copytree(EXAMPLES / "ann_benchmarks", base.parent / "gossamer")
    monkeypatch.syspath_prepend(tmp_path)
    (told,) = yaml.safe_load((base.parent / "gossamer" / "config.yml").read_text())["float"]["any"]
    made = getattr(importlib.import_module(f"{told['module']}.module"), told["constructor"])
    for name in [name for name in sys.modules if name.partition(".")[0] == "ann_benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    assert told["base_args"] == ["@metric"]
    train, test = data
    for group in told["run_groups"].values():
        algorithm = made("euclidean", *chain(*group["args"]))
        algorithm.fit(train)
        for recall in chain(*group["query_args"]):
            algorithm.set_query_arguments(recall)
            assert len(algorithm.query(test[0], 10)) == 10
            assert str(recall) in str(algorithm)
        assert algorithm.get_additional()["dist_comps"] > 10
        assert algorithm.get_memory_usage() == 1.0
        algorithm.done()


def test_other_distances_are_refused() -> None:
    with pytest.raises(ParameterError, match="'hamming' is not supported: choose among angular"):
        Gossamer("hamming")


def test_the_script_runs_on_a_file_in_their_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("h5py", reason="needs h5py, which no extra installs")
    spec = importlib.util.spec_from_file_location("ann_benchmark", EXAMPLES / "ann_benchmark.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.random_file(tmp_path / "random.hdf5")
    rows = script.run(tmp_path / "random.hdf5", 10, "living")
    assert all(row["recall"] >= wanted - 0.01 for row, wanted in zip(rows, script.RECALLS, strict=True))
    assert rows[0]["visited"] < rows[-1]["visited"] == 4_000
    assert capsys.readouterr().out.count("queries/s") == len(rows)
