"""CobwebTree: what people call, and what happens when they call it wrongly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import CobwebTree
from gossamer.errors import (
    CorruptError,
    DimensionError,
    DtypeError,
    FormatVersionError,
    InputError,
    NotAnIndexError,
    NotFiniteError,
    ParameterError,
    UnknownIdError,
)
from gossamer.files.bundle import MANIFEST, checksum
from gossamer.tree.structure import sibling_leaves

FIXTURE = Path(__file__).parent.parent / "fixtures" / "tree-v1"


def blobs(n: int, dim: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(5, dim))[rng.integers(0, 5, n)] * 3 + rng.normal(size=(n, dim))).astype(np.float32)


@pytest.mark.parametrize("dim", [1, 2, 127, 128, 129, 1000, 4096])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("acuity", [CobwebTree.PAPER_ACUITY, 5.0])
def test_any_dimension_and_scale(dim: int, scale: float, acuity: float) -> None:
    """Products of variances would leave float64's range at 1e6 if blocks were not sized by the data."""
    tree = CobwebTree(dim, acuity)
    tree.insert_many(blobs(30, dim) * np.float32(scale))
    assert np.isfinite(tree.arrays.h[: tree.n_nodes]).all()
    tree.check()


def test_clusters_become_concepts() -> None:
    rng = np.random.default_rng(1)
    centres = np.eye(4) * 50
    tree = CobwebTree(4, acuity=5.0)
    tree.insert_many(np.repeat(centres, 20, axis=0)[rng.permutation(80)] + rng.normal(size=(80, 4)))
    groups = sorted(int(np.round(child.mean / 50).argmax()) for child in tree.node(tree.root).child_nodes)
    assert groups == [0, 1, 2, 3]


def test_duplicates_share_a_leaf_and_stay_apart() -> None:
    tree = CobwebTree(3)
    tree.insert_many(blobs(50, 3))
    first, second = tree.insert([1, 2, 3]), tree.insert([1, 2, 3])
    assert tree.leaf(first) == tree.leaf(second)
    assert tree.node(tree.leaf(first)).documents == (first, second)
    tree.remove(first)
    assert tree.node(tree.leaf(second)).documents == (second,)
    with pytest.raises(UnknownIdError, match="was removed"):
        tree.leaf(first)
    tree.check()


def test_negative_zero_is_zero() -> None:
    tree = CobwebTree(2)
    assert tree.insert([0.0, 1.0]) != tree.insert([-0.0, 1.0])
    assert tree.n_nodes == 1


def test_document_numbers_are_never_used_again() -> None:
    tree = CobwebTree(2)
    tree.insert_many(blobs(10, 2))
    tree.remove(range(10))
    assert (tree.n_documents, tree.n_nodes, tree.root, tree.depth) == (0, 0, -1, 0)
    tree.check()
    assert tree.insert([0, 0]) == 10


def test_freed_slots_are_used_again_and_living_ids_keep_their_meaning() -> None:
    tree = CobwebTree(4)
    tree.insert_many(blobs(200, 4))
    highest = tree.arrays.meta[1]
    tree.remove(range(100))
    kept = {node: tree.node(node).documents for node in map(tree.leaf, range(100, 200))}
    tree.insert_many(blobs(100, 4, seed=9))
    assert {node: tree.node(node).documents for node in kept} == kept
    assert tree.arrays.meta[1] <= highest + 20
    tree.check()


def test_stats_count_what_happened() -> None:
    tree = CobwebTree(4)
    tree.insert_many(blobs(300, 4))
    stats = tree.stats()
    assert stats.documents == stats.leaves == 300
    assert sum(stats.branching.values()) == stats.nodes - stats.leaves
    assert sum(children * nodes for children, nodes in stats.branching.items()) == stats.nodes - 1
    assert stats.widest == max(stats.branching)
    assert stats.depth == max(len(tree.path(document)) for document in range(300)) - 1
    assert stats.operators["new"] + stats.operators["fringe"] + stats.operators["join"] == 300
    assert stats.operators["merge"] - stats.operators["split"] + stats.operators["fringe"] == stats.nodes - stats.leaves


def test_views_are_read_only_and_know_when_their_node_is_gone() -> None:
    tree = CobwebTree(2)
    documents = tree.insert_many([[0, 0], [1, 1], [9, 9]])
    root = tree.node(tree.root)
    np.testing.assert_allclose(root.mean, [10 / 3, 10 / 3])
    np.testing.assert_allclose(root.variance, np.var([0, 1, 9]) + 5.0)
    assert (root.count, root.parent, root.is_leaf) == (3, None, False)
    with pytest.raises(ValueError, match="read-only"):
        root.mean[0] = 7
    with pytest.raises(AttributeError):
        root.count = 7  # type: ignore[misc]
    leaf = tree.leaf(0)
    tree.remove(documents)
    with pytest.raises(UnknownIdError, match="no node"):
        tree.node(leaf)
    for nonsense in (-1, 10**6, "root", None, True):
        with pytest.raises(UnknownIdError):
            tree.node(nonsense)  # type: ignore[arg-type]


def test_an_interrupted_insertion_leaves_a_valid_tree() -> None:
    tree = CobwebTree(3)

    def stop(done: int, total: int) -> None:
        assert total == 10_000
        if done > 4000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tree.insert_many(blobs(10_000, 3), progress=stop)
    assert 4000 < tree.n_documents < 10_000
    tree.check()
    tree.insert_many(blobs(10, 3))
    tree.check()


def test_progress_ends_at_the_total() -> None:
    seen: list[tuple[int, int]] = []
    CobwebTree(2).insert_many(blobs(9000, 2), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (9000, 9000)
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (np.zeros((2, 3)), DimensionError, "3 dimensions, but 2"),
        (np.zeros((2, 2, 2)), DimensionError, "3 axes"),
        ([[1, 2], [3]], DimensionError, "differ in length"),
        ([[1, np.nan]], NotFiniteError, "row 0"),
        ([[1, 2], [np.inf, 0]], NotFiniteError, "row 1"),
        ([[1e30, 0]], InputError, "rescale"),
        ([["a", "b"]], DtypeError, "dtype"),
        (np.zeros((1, 2), complex), DtypeError, "complex"),
        (np.zeros((1, 2), bool), DtypeError, "bool"),
        (None, DtypeError, "object"),
    ],
)
def test_bad_vectors_change_nothing(X: object, error: type[InputError], words: str) -> None:
    tree = CobwebTree(2)
    tree.insert_many([[0, 0], [1, 1]])
    with pytest.raises(error, match=words):
        tree.insert_many(X)  # type: ignore[arg-type]
    assert tree.n_documents == 2
    tree.check()


def test_other_bad_calls() -> None:
    for dim in (0, -1, 4097, 2.5, "2", True):
        with pytest.raises(DimensionError):
            CobwebTree(dim)  # type: ignore[arg-type]
    for acuity in (0, -1, np.nan, np.inf, "auto", True, 10**400, [1.0], np.float32(np.inf)):
        with pytest.raises(ParameterError):
            CobwebTree(2, acuity=acuity)  # type: ignore[arg-type]
    tree = CobwebTree(2)
    tree.insert_many([[0, 0], [1, 1]])
    with pytest.raises(UnknownIdError, match="numbers so far end at 1"):
        tree.remove([0, 2])
    with pytest.raises(UnknownIdError, match="twice"):
        tree.remove([0, 0])
    for wrong in (1.0, None, True, [None]):
        with pytest.raises(UnknownIdError, match="named by their numbers"):
            tree.remove(wrong)  # type: ignore[arg-type]
    assert CobwebTree(2, acuity=np.float32(2)).acuity == 2.0  # type: ignore[arg-type]
    with pytest.raises(DimensionError, match="insert_many"):
        tree.insert([[0, 0], [1, 1]])
    assert tree.n_documents == 2
    assert len(tree.insert_many(np.zeros((0, 2)))) == 0


# -- disk -------------------------------------------------------------------------------------------


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def flip(file: Path) -> None:
    blob = bytearray(file.read_bytes())
    blob[len(blob) // 2] ^= 1
    file.write_bytes(blob)


@pytest.mark.parametrize("harm", [truncate, flip, Path.unlink])
@pytest.mark.parametrize("which", ["arrays", "manifest"])
def test_a_harmed_file_is_refused(tmp_path: Path, harm: Callable[[Path], None], which: str) -> None:
    tree = CobwebTree(3)
    tree.insert_many(blobs(20, 3))
    tree.save(tmp_path / "t")
    harm(next((tmp_path / "t").glob(f"{which}*")))
    with pytest.raises((CorruptError, NotAnIndexError)):
        CobwebTree.load(tmp_path / "t")


def test_a_changed_setting_is_refused(tmp_path: Path) -> None:
    CobwebTree(3).save(tmp_path)
    file = tmp_path / MANIFEST
    file.write_text(file.read_text().replace('"acuity": 5.0', '"acuity": 6.0'))
    with pytest.raises(CorruptError, match="altered"):
        CobwebTree.load(tmp_path)


def test_a_newer_format_is_refused_with_the_cure(tmp_path: Path) -> None:
    CobwebTree(3).save(tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    manifest["version"] = 99
    manifest["checksum"] = checksum(manifest)
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(FormatVersionError, match=r"version 99.*upgrade"):
        CobwebTree.load(tmp_path)


def test_saving_never_overwrites_what_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(NotAnIndexError):
        CobwebTree(3).save(tmp_path)
    with pytest.raises(NotAnIndexError):
        CobwebTree(3).save(tmp_path / "thesis.tex")
    with pytest.raises(NotAnIndexError):
        CobwebTree.load(tmp_path / "nowhere")


def test_saving_again_leaves_one_file_of_arrays(tmp_path: Path) -> None:
    tree = CobwebTree(3)
    for seed in range(3):
        tree.insert_many(blobs(5, 3, seed))
        tree.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert CobwebTree.load(tmp_path).n_documents == 15


def test_format_version_1_stays_readable() -> None:
    """Frozen when version 1 was made; see `tests/fixtures/README.md`."""
    tree = CobwebTree.load(FIXTURE)
    tree.check()
    assert (tree.dim, tree.n_documents) == (4, 30)
    assert tree.acuity == 2.5
    assert tree.insert([0, 0, 0, 0]) == 40
    tree.check()


@given(st.integers(1, 80), st.integers(0, 1000))
def test_sibling_leaves_are_below_the_same_parent(n: int, seed: int) -> None:
    tree = CobwebTree(3)
    tree.insert_many(np.random.default_rng(seed).normal(size=(n, 3)))
    t = tree.arrays
    leaves = np.unique(t.leaf[:n])
    for leaf, other in zip(leaves.tolist(), sibling_leaves(t, leaves).tolist(), strict=True):
        assert t.n_children[other] == 0
        assert (leaf == other) == (n == 1)
        assert n == 1 or tree.node(leaf).parent in tree.path(int(t.first_document[other]))
