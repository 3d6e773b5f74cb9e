"""A damaged index is repaired from what its database holds, and what is lost is listed."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bag import encode, sentence
from gossamer import Index, VectorIndex
from gossamer.errors import CorruptError, DegradedError, LockedError, NotAnIndexError

TEXTS = [sentence(random.Random(at)) for at in range(40)] + [" ".join([sentence(random.Random(99), 12) + "."] * 40)]
IDS = [f"d{at}" for at in range(41)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        index.add(TEXTS, IDS, [{"at": at} for at in range(41)])
        index.delete("d3")
    return path


def alter(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path / "documents.sqlite")
    with db:
        for statement in statements:
            db.execute(statement)
    db.close()


def test_an_index_without_damage_is_left_alone(path: Path) -> None:
    before = sorted(path.rglob("*"))
    done = Index.repair(path)
    assert done.was_sound
    assert (done.documents, done.lost, done.kept) == (40, (), None)
    assert sorted(path.rglob("*")) == before


def test_what_was_altered_is_lost_and_everything_else_is_saved(path: Path) -> None:
    alter(
        path,
        "UPDATE documents SET text = text || '!' WHERE id = 'd5'",
        "UPDATE vectors SET vector = zeroblob(128) WHERE passage = 8",
        "DELETE FROM passages WHERE document = 41 AND start > 0",
        "DELETE FROM operations WHERE seq = 1",
    )
    with pytest.raises(CorruptError, match="gossamer repair"):
        Index.open(path, encode)
    done = Index.repair(path, encode)
    assert not done.was_sound
    assert [lost.id for lost in done.lost] == ["d5"]
    assert (done.documents, done.encoded_again) == (39, 2)
    assert done.kept is not None
    assert Path(done.kept, "documents.sqlite").exists()
    with Index.open(path, encode) as index:
        index.check()
        assert index.ids() == [id for id in IDS if id not in ("d3", "d5")]
        assert index.get("d40").text == TEXTS[40]
        assert index.get("d7").metadata == {"at": 7}
        assert index.search(TEXTS[7], k=1)[0].id == "d7"
        assert index.add("without an id") == ["42"], "numbers go on where they were"
        index.check()


def test_without_its_encoder_a_document_without_vectors_is_lost(path: Path) -> None:
    alter(path, "DELETE FROM vectors WHERE passage = 8")
    done = Index.repair(path)
    assert [lost.id for lost in done.lost] == ["d7"]
    assert "give the encoder" in done.lost[0].reason
    with Index.open(path, encode) as index:
        assert len(index) == 39
        index.check()


def test_an_encoder_that_learns_learns_again(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, "lsa") as index:
        index.add(TEXTS[:40], IDS[:40])
    alter(path, "UPDATE encoder SET params = params || ' '", "UPDATE documents SET metadata = '[' WHERE id = 'd1'")
    done = Index.repair(path)
    assert (done.documents, done.encoded_again, [lost.id for lost in done.lost]) == (39, 39, ["d1"])
    with Index.open(path) as index:
        index.check()
        assert index.search(TEXTS[2], k=1)[0].id == "d2"


@pytest.mark.parametrize("zeros", [False, True])
def test_pages_that_cannot_be_read(path: Path, zeros: bool) -> None:
    """Whatever page is overwritten, repair saves the rest and lists what is gone, or says that nothing can be saved."""
    pages = (path / "documents.sqlite").stat().st_size // 4096
    saved = []
    for page in range(1, pages):
        copy = path.with_name("copy.gsm")
        shutil.copytree(path, copy)
        with (copy / "documents.sqlite").open("r+b") as file:
            file.seek(4096 * page)
            file.write(bytes(4096) if zeros else random.Random(page).randbytes(4096))
        try:
            done = Index.repair(copy, encode)
        except CorruptError:
            saved.append(0)
        else:
            with Index.open(copy, encode) as index:
                index.check()
                assert len(index) == done.documents
                gone = set(IDS) - {"d3"} - set(index.ids())
                assert len({lost.id for lost in done.lost}) >= len(gone), (page, gone, done.lost)
                for document in index.get(index.ids()):
                    assert document.text == TEXTS[IDS.index(document.id)]
            saved.append(done.documents)
        for folder in path.parent.glob("copy.gsm*"):
            shutil.rmtree(folder)
    assert sorted(saved)[len(saved) // 3] > 20, saved


def test_what_is_no_index_or_in_use_is_not_repaired(path: Path, tmp_path: Path) -> None:
    with pytest.raises(NotAnIndexError):
        Index.repair(tmp_path / "nowhere.gsm")
    (tmp_path / "notes.txt").write_text("a note")
    with pytest.raises(NotAnIndexError, match=r"notes\.txt is a file, not an index, which is a folder"):
        Index.repair(tmp_path / "notes.txt")
    (tmp_path / "notes").mkdir()
    with pytest.raises(NotAnIndexError, match=r"notes is not an index: it has no documents\.sqlite"):
        Index.repair(tmp_path / "notes")
    with Index.open(path, encode), pytest.raises(LockedError):
        Index.repair(path)
    (tmp_path / "b.gsm").mkdir()
    db = sqlite3.connect(tmp_path / "b.gsm" / "documents.sqlite")
    db.execute("CREATE TABLE mine (x)")
    db.close()
    with pytest.raises(CorruptError, match="nothing can be read"):
        Index.repair(tmp_path / "b.gsm")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.gsm", "b.gsm", "notes", "notes.txt"]


# -- a tree that cannot be made: contained, and said ------------------------------------------------


def failing(*args: Any, **kwargs: Any) -> Any:
    raise ArithmeticError("a bug")


def test_a_replay_that_fails_is_contained(path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """The tree is made from the documents, and logged so that the next replay begins there."""
    shutil.rmtree(next(path.glob("snapshot-*")))
    tried = []

    def once(self: VectorIndex, *args: Any, stage: Any = VectorIndex.stage) -> Any:
        tried.append(len(args[1]))
        return stage(self, *args) if len(tried) > 1 else failing()

    monkeypatch.setattr(VectorIndex, "stage", once)
    with Index.open(path, encode) as index:
        assert "trying another way" in caplog.text
        assert index.info().degraded is None
        assert len(index.search("moon", k=50)) == 40
        index.check()
        index.add("and it grows on")
    monkeypatch.undo()
    caplog.clear()
    with Index.open(path, encode) as index:
        assert caplog.text == ""
        assert len(index) == 41


@pytest.mark.parametrize("mode", ["r", "w"])
def test_without_a_tree_an_index_is_searched_exactly(
    path: Path, mode: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    shutil.rmtree(next(path.glob("snapshot-*")))
    with monkeypatch.context() as patch:
        patch.setattr(VectorIndex, "stage", failing)
        with Index.open(path, encode, mode=mode) as index:
            assert "run gossamer repair" in caplog.text
            assert "a bug" in str(index.info().degraded)
            hits = index.search(TEXTS[7], k=5)
            assert hits[0].id == "d7"
            assert len(hits[0].path) == 2
            assert index.explain(TEXTS[7], "d9").rank > 1
            index.check()
            if mode == "w":
                for change in (lambda: index.add("x"), lambda: index.delete("d1"), lambda: index.refit()):
                    with pytest.raises(DegradedError, match=r"gossamer repair"):
                        change()
    done = Index.repair(path)
    assert done.was_sound, "once it can be made again, the tree is there"
    with Index.open(path, encode) as index:
        assert index.info().degraded is None
        index.add("x")
        index.check()


def test_paths_without_a_name_of_their_own(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alter(path, "DELETE FROM vectors WHERE passage = 8")
    monkeypatch.chdir(path)
    done = Index.repair(".", encode)
    assert (done.path, done.kept) == (str(path), f"{path}.damaged-1")
    monkeypatch.chdir(path)
    with Index.open(".", encode) as index:
        assert len(index) == 40
        index.backup(tmp_path / "copy.gsm")
        with pytest.raises(NotAnIndexError, match="is the index itself"):
            index.backup(".")
        with pytest.raises(NotAnIndexError, match="is not a copy of an index"):
            index.backup("/")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with Index.create(".", encode) as index:
        index.add("a text", "a")
    with Index.open(tmp_path / "empty", encode) as index:
        assert index.ids() == ["a"]
    for make in (Index.repair, Index.create):
        with pytest.raises(NotAnIndexError):
            make("/", encode)
