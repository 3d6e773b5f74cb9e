"""A stream beside a bulk build: orders, measures by hand, what grows, and the whole command on tiny collections."""

from __future__ import annotations

import json
import random
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from typer.testing import CliRunner

from bench.conftest import made_up
from gossamer import VectorIndex
from gossamer_lab.bench.stream import quality, systems
from gossamer_lab.bench.stream.measures import Concepts, Kept, assigned_right, kept, recall_at_10
from gossamer_lab.bench.stream.orders import BURSTY, ORDERS, RANDOM, REMOVALS, SORTED, Stream
from gossamer_lab.bench.stream.quality import played
from gossamer_lab.bench.stream.systems import Look, OfIndex, OnlineBertopic, OnlineKMeans
from gossamer_lab.cli.bench import bench
from gossamer_lab.engine import Longs, group_of_each, structure
from gossamer_lab.trees.labelled import Labelled

THEMES = {
    "cooking": "bread oven flour butter sugar dough bake crust yeast salt",
    "space": "moon star orbit planet rocket comet galaxy telescope launch gravity",
    "sport": "goal match referee league striker penalty stadium coach tackle season",
}


def labelled(rows: int = 400, classes: int = 4) -> Labelled:
    """Clear classes, in vectors of eight dimensions."""
    rng = np.random.default_rng(5)
    labels = np.sort(rng.integers(0, classes, rows))
    E = (rng.normal(size=(classes, 8))[labels] * 4.0 + rng.normal(size=(rows, 8))).astype(np.float32)
    return Labelled("clear", tuple(f"thing{label} number{i}" for i, label in enumerate(labels)), labels, E)


# -- orders --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ORDERS)
def test_at_the_end_every_document_is_there(name: str) -> None:
    classes = np.repeat(np.arange(5), [300, 40, 7, 100, 1])
    stream = ORDERS[name](classes, np.random.default_rng(0))
    present: set[int] = set()
    for document, removed in stream:
        assert (document in present) == removed
        present ^= {document}
    assert present == set(range(len(classes)))
    again = ORDERS[name](classes, np.random.default_rng(0))
    assert np.array_equal(stream.documents, again.documents)
    other = ORDERS[name](classes, np.random.default_rng(1))
    assert not np.array_equal(stream.documents, other.documents)


def test_what_each_order_is() -> None:
    classes = np.repeat(np.arange(4), 500)
    runs = {}
    for name, order in ORDERS.items():
        stream = order(classes, np.random.default_rng(0))
        runs[name] = [len(list(run)) for _, run in groupby(classes[stream.documents].tolist())]
    assert runs[SORTED] == [500] * 4
    assert max(runs[RANDOM]) < 20
    assert 10 < len(runs[BURSTY]) < 100
    assert max(runs[BURSTY][:10]) <= 200
    removals = ORDERS[REMOVALS](classes, np.random.default_rng(0)).removed
    assert removals[3::4].all()
    assert removals.sum() == len(removals) // 4


def test_documents_at_a_size_are_those_when_it_is_first_reached() -> None:
    stream = Stream(np.array([5, 3, 5, 4, 2, 5]), np.array([False, False, True, False, False, False]))
    assert [rows.tolist() for rows in stream.present_at([1, 2, 3, 4])] == [[5], [3, 5], [2, 3, 4], [2, 3, 4, 5]]


class Recorder:
    def __init__(self) -> None:
        self.done: list[str] = []

    def add(self, row: int) -> None:
        self.done.append(f"+{row}")

    def remove(self, row: int) -> None:
        self.done.append(f"-{row}")

    def look(self, rows: Longs, n: int) -> Look | None:
        return None


def test_a_stream_is_played_and_stops_at_each_size() -> None:
    stream = Stream(np.array([5, 3, 5, 4, 5]), np.array([False, False, True, False, False]))
    system, seen = Recorder(), []
    for rows, seconds in played(stream, system, [2, 3]):
        assert seconds >= 0.0
        seen.append((rows.tolist(), list(system.done)))
    assert seen == [([3, 5], ["+5", "+3"]), ([3, 4, 5], ["+5", "+3", "-5", "+4", "+5"])]


# -- measures ------------------------------------------------------------------------------------------


def test_recall_counts_answers_as_good_as_the_tenth() -> None:
    index = VectorIndex(16)
    index.add(made_up(300))
    Q = made_up(20, seed=3)
    assert recall_at_10(index, Q) == 1.0

    class Poor:
        """Finds the five best of ten, and then others that are worse."""

        def search(self, Q: Any, k: int, method: str = "guided") -> Any:
            found = index.search(Q, k, "path-sum")
            if method == "guided":
                found.scores[:, 5:] -= 1.0
            return found

        def __len__(self) -> int:
            return 300

    poor: Any = Poor()
    assert recall_at_10(poor, Q) == pytest.approx(0.5)


def concepts(**members: list[int]) -> Concepts:
    matrix = np.zeros((12, len(members)))
    for column, documents in enumerate(members.values()):
        matrix[documents, column] = 1.0
    return Concepts(np.array([int(name[1:]) for name in members]), csc_matrix(matrix))


def test_a_concept_is_the_same_if_half_of_all_its_members_are() -> None:
    before = concepts(c1=[0, 1, 2, 3], c4=[4, 5, 6, 7], c6=[8, 9], c9=[0, 1, 2])
    after = concepts(c1=[0, 1, 2, 3, 10, 11], c4=[8, 9], c7=[4, 5, 6], c9=[2, 8, 9])
    assert before.overlap(after)[0].tolist() == pytest.approx([4 / 6, 0.0, 0.0, 1 / 6])
    # 1 has grown; 4 is another group now, the old one is 7; 6 is gone, its group is 4; 9 is in 1, and another by name.
    assert kept(before, after) == Kept(ids=0.25, groups=1.0)
    assert kept(before, concepts(c5=[0, 4, 8])) == Kept(0.0, 0.0)
    assert kept(Concepts(np.zeros(0, np.int64), csc_matrix((12, 0))), after) is None


def test_concepts_are_those_of_the_tree() -> None:
    data = labelled()
    rows = np.arange(0, 400, 2)
    index = OfIndex.built_at_once(data.E, rows).index
    found = Concepts.of(index, rows, len(data), 20)
    assert index.tree.root in found.ids
    for place, node in enumerate(found.ids.tolist()):
        members = np.flatnonzero(found.members[:, [place]].toarray().ravel())
        assert members.tolist() == sorted(index.documents_below(node))
        assert len(members) >= 20
    assert kept(found, found) == Kept(1.0, 1.0)


def test_ids_need_not_be_in_order_of_arrival() -> None:
    data = labelled(120)
    system = OfIndex(data.E, VectorIndex(8))
    for row in (7, 3, 90, 40, 41, 110, 3, 60):
        if row in system.index:
            system.remove(row)
        else:
            system.add(row)
    rows = np.array([7, 40, 41, 60, 90, 110])
    parent, leaf = structure(system.index, rows)
    counts = np.bincount(leaf, minlength=len(parent))
    for node, above in enumerate(parent[:-1]):
        counts[above] += counts[node]
    assert counts[-1] == 6
    assert len(np.unique(group_of_each(system.index, rows, 3))) == 3


class Assigning(VectorIndex):
    """Assigns by the nearest document, or by one of the wrong class."""

    wrong: bool = False

    def assign(self, E: Any) -> list[tuple[int, ...]]:
        nearest = [int(self.search(x, 1).ids[0, 0]) for x in E]
        return self.paths([(id + 200) % 400 // 2 * 2 for id in nearest] if self.wrong else nearest)


def test_assigned_documents_come_to_their_own_class() -> None:
    data = labelled(classes=2)
    rows = np.arange(0, 400, 2)
    index = Assigning(8)
    index.add(data.E[rows], rows.tolist())
    index.rebuild()
    right = assigned_right(index, data.E, data.classes, rows, 2)
    assert right is not None
    assert right > 0.95
    index.wrong = True
    assert assigned_right(index, data.E, data.classes, rows, 2) == pytest.approx(1.0 - right, abs=0.1)
    assert assigned_right(index, data.E, data.classes, np.arange(400), 2) is None


# -- what grows ----------------------------------------------------------------------------------------


def test_k_means_learns_in_batches_and_cannot_unlearn() -> None:
    data = labelled()
    system = OnlineKMeans(data, 0)
    rows = np.random.default_rng(0).permutation(400)
    for row in rows[:99]:
        system.add(int(row))
    system.remove(int(rows[0]))
    assert system.look(rows[1:99], 4) is None
    for row in rows[99:]:
        system.add(int(row))
    look = system.look(rows[1:], 4)
    assert look is not None
    assert look.tree is not None
    assert len(look.groups) == len(look.tree.leaf) == 399
    assert set(look.groups.tolist()) == set(range(4))


def test_cobweb_alone_never_rebuilds() -> None:
    data = labelled(1300)
    index = systems.cobweb_alone(data.E.shape[1])
    for row in range(1300):
        index.add(data.E[row : row + 1], [row])
    assert sum(index.tree.stats().operators.values()) >= 1299
    index.check()


@pytest.mark.extra
def test_bertopic_where_it_is_installed() -> None:
    pytest.importorskip("bertopic")
    data = labelled()
    system = OnlineBertopic(data, 0)
    for row in np.random.default_rng(0).permutation(400).tolist():
        system.add(row)
    look = system.look(np.arange(400), 4)
    assert look is not None
    assert look.tree is None
    assert len(look.groups) == 400


# -- the command ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(1)
    place = tmp_path_factory.mktemp("labelled") / "themes"
    place.mkdir()
    rows = [
        {"text": " ".join(rng.choices(words.split(), k=8)), "label": label}
        for label, words in THEMES.items()
        for _ in range(60)
    ]
    (place / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return place


def test_the_whole_command(folder: Path, tmp_path: Path) -> None:
    arguments = ["--collection", str(folder), "--model", "lsa", "--out", str(tmp_path), "--json", str(tmp_path / "all")]
    done = CliRunner().invoke(bench, ["stream", *arguments])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "all").read_text())
    assert "180 documents, 3 classes" in report["data"]
    assert report["machine"]["gossamer"]
    end, others, way = report["tables"]
    assert [row["order"] for row in end["rows"]] == list(ORDERS)
    for row in end["rows"]:
        assert row["purity ratio"] == pytest.approx(row["purity, stream"] / row["purity, bulk"])
        assert row["NMI ratio"] == pytest.approx(row["NMI, stream"] / row["NMI, bulk"])
        assert row["both ≥ 0.97"] == (min(row["purity ratio"], row["NMI ratio"]) >= 0.97)
        assert row["lowest of both, from 75%"] <= min(row["purity ratio"], row["NMI ratio"])
        assert row["recall@10, lowest"] > 0.98
        assert 0.0 <= row["ids kept"] <= row["groups kept"] <= 1.0
    assert {row["system"] for row in others["rows"]} == set(systems.systems())
    assert [row["documents"] for row in way["rows"]] == [45, 90, 135, 164, 180] * 4
    assert json.loads((tmp_path / "stream.json").read_text())["tables"] == report["tables"]
    assert "| sorted by class |" in (tmp_path / "stream.md").read_text()
    assert (tmp_path / "stream" / "stream.png").read_bytes().startswith(b"\x89PNG")


def test_errors_are_a_sentence(folder: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(bench, ["stream", "--collection", str(folder), "--order", "sorted"])
    assert done.exit_code == 1
    assert done.stderr.startswith("error: there is no order 'sorted': choose among random, sorted by class, bursty, ")
    rows = [{"text": f"word {i}", "label": str(i % 2)} for i in range(8)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    done = CliRunner().invoke(bench, ["stream", "--collection", str(tmp_path), "--model", "lsa"])
    assert done.exit_code == 1
    assert "has 8 documents: a stream needs at least 20" in done.stderr


def test_what_is_missing_is_named() -> None:
    names = set(systems.systems())
    assert {systems.GOSSAMER, systems.COBWEB, systems.KMEANS} <= names
    assert bool(systems.missing()) == (systems.BERTOPIC not in names)
    assert quality.check_orders([RANDOM, SORTED]) == (RANDOM, SORTED)
