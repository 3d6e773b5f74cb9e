"""The words of an index stay in step with its documents: changes, snapshots, readers, damage, earlier formats."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bag import encode
from durability.names import NO_SNAPSHOTS
from gossamer import Index
from gossamer.files.bundle import MANIFEST, read_bundle, write_bundle
from gossamer.store.schema import FORMAT_VERSION

FIXTURES = Path(__file__).parent.parent / "fixtures"


def lexical(index: Index, query: str) -> dict[str, float]:
    """The lexical part of every hit that has one."""
    return {hit.id: hit.lexical for hit in index.search(query, k=200) if hit.lexical > 0.0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with a snapshot and a log beyond it."""
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        index.add(["the sun and the moon", "a river of milk", "the wolf"], ["sky", "river", "wolf"], [{"n": 1}] * 3)
        index.state.tree.snapshot()
        index.state.store.policy = NO_SNAPSHOTS
        index.add(["gold and iron"], ["metal"])
        index.delete(["wolf"])
        index.add(["the sun and the moon"], ["sky"], [{"n": 2, "title": "heaven"}])
    return path


def test_a_snapshot_is_caught_up(path: Path) -> None:
    for mode in ("r", "w"):
        with Index.open(path, encode, mode=mode) as index:
            index.check()
            assert set(lexical(index, "gold")) == {"metal"}
            assert lexical(index, "wolf") == {}
            assert set(lexical(index, "heaven")) == {"sky"}, "a new title is found, though no text is new"


def test_a_reader_follows_a_writer(path: Path) -> None:
    with Index.open(path, encode) as index, Index.open(path, encode, mode="r") as reader:
        assert lexical(reader, "comet") == {}
        index.add(["comet"], ["new"], [{"title": "a dragon"}])
        assert set(lexical(reader, "dragons")) == set(lexical(reader, "comet")) == {"new"}
        index.add(["comet"], ["new"], [{"title": "a snake"}])
        assert lexical(reader, "dragon") == {}
        index.delete(["new"])
        assert lexical(reader, "comet") == lexical(reader, "snake") == {}
        reader.check()


def test_a_language_that_is_told_late_reaches_a_reader(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", encode) as index:
        index.add(["Häuser"], ["a"])
        with Index.open(tmp_path / "a.gsm", encode, mode="r") as reader:
            assert lexical(reader, "Hauses") == {}
            index.add(["der Hund und die Katze in dem Garten sind nicht von der Straße"], ["b"])
            assert set(lexical(reader, "Hauses")) == set(lexical(index, "Hauses")) == {"a"}


@pytest.mark.parametrize("damage", ["no words", "other analysis", "terms"])
def test_words_that_cannot_be_used_are_made_again(path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    """A reader makes them in memory, and writes nothing; the tree of the snapshot is used all the same."""
    (snapshot,) = path.glob("snapshot-*")
    saved = read_bundle(snapshot, "snapshot")
    params: dict[str, Any] = dict(saved.params)
    arrays = dict(saved.arrays)
    if damage == "no words":
        del params["words"]
    elif damage == "other analysis":
        params["words"] = {**params["words"], "analysis": "0"}
    else:
        arrays["words.tokens"] = np.full_like(arrays["words.tokens"], 1_000)
    write_bundle(snapshot, "snapshot", type(saved)(params, arrays))
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and file.suffix != ".lock"}
    with caplog.at_level(logging.WARNING), Index.open(path, encode, mode="r") as index:
        assert set(lexical(index, "gold")) == {"metal"}
        assert not index.state.tree.regrown
        index.check()
    assert damage == "no words" or "made again" in caplog.text
    assert {file: file.read_bytes() for file in before} == before


def test_a_failed_change_leaves_the_words_alone(path: Path) -> None:
    with Index.open(path, encode) as index:
        before = index.state.tree.words
        with pytest.raises(ValueError, match="no vectors"):
            index.add(["comet"], ["new"], vectors=_Failing())
        assert index.state.tree.words is before


class _Failing:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError("no vectors")


def test_phrases_and_excluded_words(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", encode) as index:
        index.add(
            ["the red planet", "a planet that is red", "the red moon", "bread of the sun"], ["a", "b", "c", "d"],
            [{"n": 1}, {"n": 2}, {"n": 3}, {"title": "Red Planets"}],
        )  # fmt: skip
        found = {query: {hit.id for hit in index.search(query, k=9)} for query in (
            'the "red planet"', '"red planets" -the', "red -planet", "red", '-"red moon" red', '"never was" red',
        )}  # fmt: skip
        assert found['the "red planet"'] == {"a", "d"}, "in text or title, in whatever form"
        assert found['"red planets" -the'] == set()
        assert found["red -planet"] == {"c"}
        assert found["red"] == {"a", "b", "c", "d"}
        assert found['-"red moon" red'] == {"a", "b", "d"}
        assert found['"never was" red'] == {"a", "b", "c", "d"}, "a phrase that nobody wrote asks for nothing"
        assert index.search('"never was" "red planet"').warnings == (
            "no document holds “never was”: found without the quotes",
        )
        assert index.search('"red planet" -moon').warnings == ()
        first, second = index.search(['"blue planet"', "red"])
        assert (len(first.warnings), second.warnings) == (1, ()), "each query has its own"
        assert {hit.id for hit in index.search('"red planet"', k=9, where={"n": 1})} == {"a"}
        assert len(index.search("red -planet", k=9, hybrid=False)) == 4, "without words it is text"
        assert index.explain("red -planet", "c").query == "red -planet"


@pytest.mark.parametrize("version", [1, 2])
def test_an_earlier_format_is_upgraded_by_the_first_change(tmp_path: Path, version: int) -> None:
    path = tmp_path / "a.gsm"
    shutil.copytree(FIXTURES / f"index-v{version}.gsm", path)
    with Index.open(path, encode, mode="r") as index:
        assert index.state.settings.language == "english"
        assert lexical(index, "golden gold")
        index.check()
    assert tables(path) == (version, True)
    with Index.open(path, encode) as index:
        index.add(["and it grows"], ["new"], [{"title": "dragon"}])
        assert set(lexical(index, "dragon")) == {"new"}
    assert tables(path) == (FORMAT_VERSION, False)
    with Index.open(path, encode, mode="r") as index:
        assert set(lexical(index, "dragon")) == {"new"}
        index.check()


def tables(path: Path) -> tuple[int, bool]:
    """The format version, and whether there is a table of FTS5."""
    db = sqlite3.connect(path / "documents.sqlite")
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        return version, db.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone() is not None
    finally:
        db.close()


def test_an_index_of_format_version_3_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    shutil.copytree(FIXTURES / "index-v3.gsm", path)
    (snapshot,) = path.glob("snapshot-*")
    assert json.loads((snapshot / MANIFEST).read_text())["params"]["words"]["language"] == "german"
    with Index.open(path, encode) as index:
        assert {"d0", "d11", "d22"} <= set(lexical(index, "Hauses"))
        assert set(lexical(index, "neuer")) == {"d1"}, "a title that was given later"
        assert "metall" in lexical(index, "Eisens")
        assert "d5" not in lexical(index, "Baum")
        index.check()
        index.add("and it grows on", "new")
        index.check()
