"""An index on disk that grows: what is read back, from a snapshot or the log, is the tree that was in memory."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bag import encode, sentence
from gossamer import Index, VectorIndex

TEXTS = [sentence(random.Random(at), 4 + at % 4) for at in range(1500)]
QUESTIONS = ["the wolf and the bear", "sun moon star", "a river of milk", "kabar lodan mifel"]


def vectors_of(index: Index) -> VectorIndex:
    assert index.state.vectors is not None
    return index.state.vectors


def state(index: Index) -> dict[str, bytes]:
    """The tree, whitener, links and ids; but for the table of hashes, which depends on how much room was made when."""
    bundle = vectors_of(index).to_bundle()
    arrays = {name: array.tobytes() for name, array in bundle.arrays.items()}
    return {name: array for name, array in arrays.items() if not name.endswith((".bucket", ".chain"))} | {
        "settings": repr(bundle.params).encode()
    }


def answers(index: Index) -> list[Any]:
    return [[(hit.id, hit.score) for hit in index.search(question, k=7)] for question in QUESTIONS]


def add(index: Index, first: int, last: int, step: int) -> None:
    for at in range(first, last, step):
        some = range(at, min(last, at + step))
        index.add([TEXTS[i] for i in some], [f"t{i}" for i in some])


def grow_until_renewing(index: Index, first: int, step: int = 7) -> int:
    """Add texts until a renewal is under way; returns the number of the next one."""
    while not vectors_of(index).renewing:
        add(index, first, first + step, step)
        first += step
    return first


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that grew in batches of seven, past the sizes at which the whitener is fitted and links are made."""
    path = tmp_path_factory.mktemp("grown") / "a.gsm"
    with Index.create(path, encode) as index:
        add(index, 0, 400, 400)
        add(index, 400, 1200, 7)
        index.delete([f"t{i}" for i in range(50)])
        add(index, 1200, 1230, 1)
        assert vectors_of(index).whitener is not None
    return path


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def test_what_is_closed_and_opened_again_is_the_same(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path / "a.gsm")
    with Index.open(path, encode) as index:
        grow_until_renewing(index, 1230)
        index.settle()
        assert not vectors_of(index).renewing
        before, found = state(index), answers(index)
    for mode in ("r", "w"):
        with Index.open(path, encode, mode=mode) as index:
            index.check()
            assert state(index) == before
            assert answers(index) == found


def test_closing_in_the_middle_of_a_renewal_lets_it_take_effect(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path / "a.gsm")
    with Index.open(path, encode) as index:
        grow_until_renewing(index, 1230)
        built = vectors_of(index).tree.stats().operators["merge"]
    with Index.open(path, encode, mode="r") as index:
        assert vectors_of(index).settled
        assert vectors_of(index).tree.stats().operators["merge"] > built
        index.check()


@pytest.mark.parametrize("snapshot", [True, False])
def test_after_a_crash_the_log_gives_the_same_tree(folder: Path, tmp_path: Path, snapshot: bool) -> None:
    """In the middle of a renewal, and after one was settled in between: both are replayed, also from the beginning."""
    path = copied(folder, tmp_path / "a.gsm")
    with Index.open(path, encode) as index:
        at = grow_until_renewing(index, 1230)
        index.settle()
        add(index, at, at + 3, 1)
        at = grow_until_renewing(index, at + 3)
        index.delete([f"t{i}" for i in range(60, 65)])
        crashed = copied(path, tmp_path / "b.gsm")
        for saved in crashed.glob("snapshot-*"):
            if not snapshot:
                shutil.rmtree(saved)
        with Index.open(crashed, encode, mode="r") as reader:
            assert vectors_of(reader).renewing
            assert answers(reader) == answers(index)
        with Index.open(crashed, encode) as again:
            assert state(again) == state(index)
            for each in (index, again):
                add(each, at, at + 60, 6)
                each.settle()
                each.check()
            assert state(again) == state(index)
            assert answers(again) == answers(index)


def test_a_reader_follows_the_writer_through_renewals(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path / "a.gsm")
    with Index.open(path, encode) as writer, Index.open(path, encode, mode="r") as reader:
        at = grow_until_renewing(writer, 1230)
        assert answers(reader) == answers(writer)
        writer.settle()
        add(writer, at, at + 20, 5)
        assert answers(reader) == answers(writer)
        assert state(reader) == state(writer)


def test_the_size_of_batches_is_part_of_the_sequence_but_not_the_machine(tmp_path: Path) -> None:
    """The same calls on disk and in memory, where vectors as they came are kept in two ways: the same tree."""
    with Index.create(tmp_path / "a.gsm", encode) as on_disk, Index(encode) as in_memory:
        for index in (on_disk, in_memory):
            add(index, 0, 1030, 1030)
            add(index, 1030, 1250, 11)
            index.settle()
        disk, memory = (vectors_of(index).tree.to_bundle().arrays for index in (on_disk, in_memory))
        assert all(np.array_equal(disk[name], memory[name]) for name in disk)
        assert answers(on_disk) == answers(in_memory)
