"""The quality of trees: measures by hand and by brute force, and the whole command on a tiny labelled collection."""

from __future__ import annotations

import json
import random
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from gossamer.cli.app import app
from gossamer.errors import DiskError, InputError
from gossamer_lab.data.embedded import silent
from gossamer_lab.job import Job
from gossamer_lab.trees import criteria, methods, quality, topics
from gossamer_lab.trees.labelled import Labelled, load
from gossamer_lab.trees.measures import Dendrogram, dendrogram_purity, nmi

THEMES = {
    "cooking": "bread oven flour butter sugar dough bake crust yeast salt",
    "space": "moon star orbit planet rocket comet galaxy telescope launch gravity",
    "sport": "goal match referee league striker penalty stadium coach tackle season",
}


def longs(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


# -- measures ------------------------------------------------------------------------------------------


def test_purity_of_a_tree_by_hand() -> None:
    """Four documents, a a b a: ((0 1) 2) 3. Pairs of a: 0-1 meets in a pure node, 0-3 and 1-3 at the root, 3 of 4."""
    tree = Dendrogram(longs(4, 4, 5, 6, 5, 6, -1), longs(0, 1, 2, 3))
    assert dendrogram_purity(tree, longs(0, 0, 1, 0)) == pytest.approx((1 + 3 / 4 + 3 / 4) / 3)
    assert dendrogram_purity(tree, longs(0, 0, 1, 1)) == pytest.approx((1 + 2 / 4) / 2)
    assert dendrogram_purity(tree, longs(0, 1, 2, 3)) == 1.0  # no pair, nothing wrong


def test_documents_may_share_a_leaf() -> None:
    tree = Dendrogram(longs(2, 2, -1), longs(0, 0, 1))
    assert dendrogram_purity(tree, longs(0, 0, 1)) == 1.0
    assert dendrogram_purity(tree, longs(0, 1, 1)) == pytest.approx(2 / 3)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Dendrogram, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    leaves = draw(st.integers(2, 9))
    parent, free = [-1] * leaves, list(range(leaves))
    while len(free) > 1:
        children = draw(st.permutations(free))[: draw(st.integers(2, len(free)))]
        for child in children:
            parent[child] = len(parent)
        free = [node for node in free if node not in children] + [len(parent)]
        parent.append(-1)
    documents = draw(st.integers(leaves, leaves + 4))
    leaf = [*range(leaves), *(draw(st.integers(0, leaves - 1)) for _ in range(documents - leaves))]
    classes = [draw(st.integers(0, 2)) for _ in range(documents)]
    return Dendrogram(longs(*parent), longs(*leaf)), longs(*classes)


@given(trees())
def test_purity_of_a_tree_by_brute_force(case: tuple[Dendrogram, np.ndarray[tuple[int], np.dtype[np.int64]]]) -> None:
    tree, classes = case

    def above(node: int) -> list[int]:
        return [node, *above(int(tree.parent[node]))] if node >= 0 else []

    paths = [above(int(leaf)) for leaf in tree.leaf]
    shares = []
    for i, j in combinations(range(len(classes)), 2):
        if classes[i] == classes[j]:
            meeting = next(node for node in paths[i] if node in paths[j])
            members = [classes[k] for k, path in enumerate(paths) if meeting in path]
            shares.append(members.count(classes[i]) / len(members))
    assert dendrogram_purity(tree, classes) == pytest.approx(np.mean(shares) if shares else 1.0)


def test_a_dendrogram_must_be_in_order() -> None:
    with pytest.raises(InputError, match="root last"):
        Dendrogram(longs(-1, 0, 0), longs(1, 2))


def test_agreement_of_groups() -> None:
    classes = longs(0, 0, 1, 1, 2, 2)
    assert nmi(longs(2, 2, 0, 0, 1, 1), classes) == pytest.approx(1.0)
    assert nmi(longs(0, 0, 0, 0, 0, 0), classes) == 0.0


# -- data and methods ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sorted by class, as such files often are."""
    rng = random.Random(1)
    place = tmp_path_factory.mktemp("labelled")
    rows = [
        {"_id": f"{label}-{i}", "text": " ".join(rng.choices(words.split(), k=8)), "label": label}
        for label, words in THEMES.items()
        for i in range(40)
    ]
    (place / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return place


def loaded(folder: Path, most: int | None = None) -> Labelled:
    return load(str(folder), Job(), model="lsa", most=most)


def test_loading(folder: Path, tmp_path: Path) -> None:
    data = loaded(folder)
    assert (len(data), data.n_classes, len(data.E)) == (120, 3, 120)
    assert np.array_equal(data.classes, np.repeat([0, 1, 2], 40))
    part = loaded(folder, most=30)
    assert (len(part), len(part.E)) == (30, 30)
    assert part.texts == loaded(folder, most=30).texts
    (tmp_path / "corpus.jsonl").write_text('{"text": "no label"}\n')
    with pytest.raises(InputError, match="a text and a label"):
        load(str(tmp_path), Job(), model="lsa", most=None)
    with pytest.raises(DiskError, match=r"has no corpus\.jsonl"):
        load(str(tmp_path / "none"), Job(), model="lsa", most=None)


def test_every_method_finds_clear_classes(folder: Path) -> None:
    rows = quality.measure(loaded(folder), {**methods.whole_methods(), **methods.tree_methods()}, 2, silent)
    assert len(rows) >= 6
    for name, row in rows.items():
        assert isinstance(row["NMI"], float)
        if name == methods.BERTOPIC:  # it chooses the number of groups itself
            continue
        assert row["groups"] == 3
        assert row["NMI"] > (0.4 if "Cobweb" in name else 0.9), name
    for name in (methods.WARD, methods.WARD_WHITENED, methods.DEFAULT):
        purity_of_tree = rows[name]["dendrogram purity"]
        assert isinstance(purity_of_tree, float)
        assert purity_of_tree > 0.9
    assert rows[methods.DEFAULT]["NMI ±"] == 0.0  # a tree that is agglomerated does not depend on the order


@pytest.mark.extra
def test_bertopic_where_it_is_installed(folder: Path) -> None:
    pytest.importorskip("bertopic")
    found = methods.bertopic(loaded(folder), 0)
    assert found.groups.min() >= 0
    assert len(found.groups) == 120


def test_the_top_of_a_tree(folder: Path) -> None:
    top = topics.measure("themes", loaded(folder).E, 2, silent)
    assert top.exact
    assert list(top.groups) == list(topics.SIZES)
    assert 1 / 5 <= top.largest[5] < 1.0
    assert top.worst_ratio == max(top.largest[n] / top.k_means[n] for n in topics.SIZES)
    assert 2 <= top.shown <= 12
    assert top.largest_shown < 1.0


# -- the command ---------------------------------------------------------------------------------------


def test_the_whole_command(folder: Path, tmp_path: Path) -> None:
    arguments = ["--collection", str(folder), "--model", "lsa", "--orders", "1", "--out", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, ["eval", "tree", *arguments])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert "120 documents, 3 classes" in report["data"]
    tables = {table["key"]: table["rows"] for table in report["tables"]}
    assert list(tables) == ["tree-bars", "tree-labelled", "tree-topics", "tree-ward"]
    figures = {row["method"]: row["NMI"] for row in tables["tree-labelled"] if row["method"] != methods.DEFAULT}
    assert set(figures) >= {methods.KMEANS, methods.WARD, methods.COBWEB}
    (bars,) = tables["tree-bars"]
    ours = next(row["NMI"] for row in tables["tree-labelled"] if row["method"] == methods.DEFAULT)
    assert bars["NMI, topics / k-means"] == pytest.approx(ours / figures[methods.KMEANS])
    assert bars["≥ 0.98"] == (bars["NMI, topics / k-means"] >= 0.98)
    assert bars["topics(n) are n"] == all(row["groups"] == row["n"] for row in tables["tree-topics"])
    assert bars["largest topic / k-means, worst n"] == max(row["ratio"] for row in tables["tree-topics"])
    assert len(tables["tree-ward"]) == 2 + len(criteria.ACUITIES)
    page = (tmp_path / "tree.md").read_text()
    assert "| Gossamer |" in page
    assert (tmp_path / "tree" / "ward.png").read_bytes().startswith(b"\x89PNG")


def test_errors_are_a_sentence(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["eval", "tree", "--collection", str(tmp_path / "nothing")])
    assert done.exit_code == 1
    assert re.fullmatch(r"error: [^\n]+ has no corpus\.jsonl[^\n]+\n", done.stderr)
