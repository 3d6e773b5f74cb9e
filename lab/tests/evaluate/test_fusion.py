"""Ideas for the ranking: what they compute, and that no collection chooses for itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer_lab.data.datasets import load
from gossamer_lab.data.embedded import embed
from gossamer_lab.engine import enclosing_concepts
from gossamer_lab.evaluate import fusion
from gossamer_lab.evaluate.fusion import IDEAS, Task
from gossamer_lab.evaluate.index import searched
from gossamer_lab.job import Job
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import best, method_of
from kitchen import write_beir


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = write_beir(tmp_path_factory.mktemp("fusion") / "kitchen")
    return Prepared(embed(load(str(folder)), "lsa"), cache=folder)


def test_the_default_and_every_idea_are_measured(prepared: Prepared, tmp_path: Path) -> None:
    found = fusion._measured(Job(cache=tmp_path), Task(prepared))
    assert len(found) == 1 + sum(len(idea.settings) for idea in IDEAS)
    assert all(values.shape == (5,) and (values >= 0).all() for values in found.values())
    task = Task(prepared)
    task.at(slice(0, 5))
    rows = best(fusion._default(task, task.shares()), 10)
    np.testing.assert_array_equal(rows, method_of("hybrid@default").rank(prepared, 10).rows)


def test_concepts_are_the_smallest_of_at_least_a_size(prepared: Prepared) -> None:
    index = prepared.tree("default").index
    n = len(prepared.data.E)
    for size in (2, 8, 64):
        smallest = [
            next(node for node in reversed(path) if index.tree.node(node).count >= size)
            for path in index.paths(range(n))
        ]
        labels = enclosing_concepts(index, np.arange(n), size)
        assert len(set(zip(smallest, labels.tolist(), strict=True))) == len(set(smallest)) == labels.max() + 1


def test_a_setting_is_chosen_by_the_other_collections() -> None:
    """Each collection is best with its own setting, which the other one is worst with."""
    idea = IDEAS[0]
    first, last = idea.settings[0], idea.settings[-1]
    made = {}
    for name, loved in (("a", first), ("b", last)):
        values = {(-1, 0.0): np.full(40, 50.0)}
        for number, each in enumerate(IDEAS):
            for setting in each.settings:
                values[number, setting] = np.full(40, 50.0 + (1.0 if setting == loved else -1.0) * (number == 0))
        made[name] = values
    row = fusion._table(made).rows[0]
    assert (row["a"], row["b"], row["mean"], row["95 %"]) == (-1.0, -1.0, -1.0, "−1.00 to −1.00")


def test_the_index_is_measured_as_users_have_it(prepared: Prepared, tmp_path: Path) -> None:
    job = Job(cache=tmp_path)
    base = np.zeros(5)
    row = searched(job, "kitchen", prepared, base)
    assert (row["collection"], row["documents"], row["passages"], row["queries"]) == ("kitchen", 120, 120, 5)
    assert row["dot product"] == 0.0
    for way in ("dense", "hybrid"):
        gained = row[way]
        assert isinstance(gained, float)
        assert 20.0 < gained <= 100.0
