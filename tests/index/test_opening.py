"""An index that was opened: moments of concepts are computed when something asks for them, and not before."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gossamer import Index, VectorIndex
from gossamer.errors import NotAnIndexError

WORDS = ["sun", "moon", "star", "sea", "river", "stone", "tree", "leaf", "bird", "fish", "wolf", "bear", "bread"]
QUERIES = ["sun and moon", "a wolf by the river", "bread"]


def encode(texts: list[str]) -> npt.NDArray[np.float32]:
    """Each word has a direction of its own, and each text some noise, so that no two vectors are the same."""
    rows = np.zeros((len(texts), 16), np.float32)
    for row, text in zip(rows, texts, strict=True):
        row += np.random.default_rng(sum(text.encode())).normal(size=16).astype(np.float32) * 0.05
        for at, word in enumerate(WORDS):
            row[at] += text.count(word)
    return rows


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opening") / "a.gsm"
    with Index.create(path, encode) as index:
        texts = [f"{WORDS[i % 13]} and {WORDS[i % 11]} of {WORDS[i % 7]}, number {i}" for i in range(1500)]
        index.add(texts, metadata=[{"n": i % 50} for i in range(1500)])
        index.settle()
    return path


def found(index: Index) -> list[object]:
    """Answers with all that is told of them: ids, scores, paths with figures of their concepts."""
    below = index.concepts(1)[1].id
    options: list[dict[str, Any]] = [{}, {"hybrid": False}, {"where": {"n": {"$lt": 3}}}, {"within": below}]
    options += [{"diversity": 0.5}, {"group_by": "n"}, {"recall": 0.99}]
    searches = [list(index.search(query, 5, **each)) for query in QUERIES for each in options]
    return [*searches, index.search(QUERIES, 5), index.concepts(2), index.outline(), index.more_like("7")]


def test_searches_and_maps_compute_no_moments(path: Path) -> None:
    with Index.open(path, encode) as index:
        assert index.state.vectors is not None
        index.state.vectors.tree.arrays  # noqa: B018 -- computes them
        expected, why = found(index), index.explain(QUERIES[0], "7")
    with Index.open(path, encode) as index:
        assert index.state.vectors is not None
        tree = index.state.vectors.tree
        t = tree.skeleton
        missing = np.arange(len(t.mean)) != t.row[tree.root]
        t.mean[missing] = t.m2[missing] = np.nan
        assert found(index) == expected
        assert not tree.has_moments
        assert index.info().memory["moments of concepts"] == 0
        assert index.explain(QUERIES[0], "7") == why
        assert tree.has_moments


def test_what_comes_after_an_opening_grows_the_same_tree(path: Path, tmp_path: Path) -> None:
    """Whether the moments were computed before, or for the addition."""
    trees = []
    for first in (False, True):
        copy = shutil.copytree(path, tmp_path / f"{first}.gsm")
        with Index.open(copy, encode) as index:
            assert index.state.vectors is not None
            if first:
                index.topics(5)
            index.add(["a wolf that eats bread", "the moon over a sea"], ["x", "y"])
            index.check()
            trees.append([index.concepts(30), index.search("wolf", 5)])
    assert trees[0] == trees[1]


def test_folders_of_another_kind_are_told(tmp_path: Path) -> None:
    VectorIndex(3).save(tmp_path / "vectors")
    Index.create(tmp_path / "a.gsm", encode).close()
    with pytest.raises(NotAnIndexError, match=r"no documents\.sqlite, and VectorIndex\.load reads what save wrote"):
        Index.open(tmp_path / "vectors")
    with pytest.raises(NotAnIndexError, match=r"no manifest\.json \(Index\.open opens an Index\)"):
        VectorIndex.load(tmp_path / "a.gsm")
