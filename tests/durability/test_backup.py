"""A copy that is taken while the index is written is the index as it was after some operation."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from bag import encode, sentence
from gossamer import Index
from gossamer.errors import LockedError, NotAnIndexError
from gossamer.store import Policy
from gossamer.store.layout import Layout


@pytest.fixture
def index(tmp_path: Path) -> Any:
    rng = random.Random(0)
    with Index.create(tmp_path / "a.gsm", encode) as index:
        index.state.store.policy = Policy(snapshot_after=100)
        for start in range(0, 400, 40):
            index.add([sentence(rng) for _ in range(40)], [f"d{at}" for at in range(start, start + 40)])
            index.delete(f"d{start}")
        yield index


def test_a_copy_is_the_same_index(index: Index, tmp_path: Path) -> None:
    index.settle()  # labels are made in the background, and change what a search shows
    operation = index.backup(tmp_path / "copy.gsm")
    assert operation == index.info().operation
    with Index.open(tmp_path / "copy.gsm", encode) as copy:
        copy.settle()
        copy.check()
        assert copy.info().snapshots == index.info().snapshots
        assert (copy.ids(), copy.search("moon", k=20), copy.concepts(20)) == (
            index.ids(),
            index.search("moon", k=20),
            index.concepts(20),
        )
        copy.add("it goes its own way", "new")
    assert "new" not in index


def test_an_earlier_copy_is_brought_up_to_date(index: Index, tmp_path: Path) -> None:
    target = Layout(tmp_path / "copy.gsm")
    index.backup(target.folder)
    newest = target.snapshots()[0]
    before = {file.name: os.stat(file).st_ino for file in target.snapshot(newest).iterdir()}
    index.add("something more", "new")
    index.backup(target.folder)
    after = {file.name: os.stat(file).st_ino for file in target.snapshot(newest).iterdir()}
    assert before == after, "what did not change is not copied again"
    with Index.open(target.folder, encode, mode="r") as copy:
        assert copy.get("new").text == "something more"
        copy.check()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.gsm", "copy.gsm"]


def test_copies_taken_while_others_write(index: Index, tmp_path: Path) -> None:
    """Operation n adds document n: a copy as of n holds exactly the documents up to n."""
    first, stop = index.info().operation, threading.Event()

    def write() -> None:
        while not stop.is_set():
            index.add([sentence(random.Random(index.info().operation))], [f"n{index.info().operation + 1}"])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            operation = index.backup(tmp_path / "copy.gsm")
            with Index.open(tmp_path / "copy.gsm", encode) as copy:
                copy.check()
                assert [id for id in copy.ids() if id[0] == "n"] == [f"n{at}" for at in range(first + 1, operation + 1)]
    finally:
        stop.set()
        writer.join()


def test_an_index_in_memory_can_be_saved(tmp_path: Path) -> None:
    with Index(encode) as index:
        index.add(["moon", "river"], ["a", "b"])
        index.backup(tmp_path / "copy.gsm")
        with Index.open(tmp_path / "copy.gsm", encode) as copy:
            copy.check()
            assert copy.search("moon") == index.search("moon")


def test_what_is_there_is_not_overwritten(index: Index, tmp_path: Path) -> None:
    with Index.create(tmp_path / "other.gsm", encode) as other:
        other.add("moon")
        with pytest.raises(LockedError):
            index.backup(tmp_path / "other.gsm")
    with pytest.raises(NotAnIndexError, match="another index"):
        index.backup(tmp_path / "other.gsm")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("mine", "file"):
        with pytest.raises(NotAnIndexError, match="choose another path"):
            index.backup(tmp_path / name)
    with Index.open(tmp_path / "other.gsm", encode) as other:
        other.check()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.gsm", "file", "mine", "other.gsm"]
