"""Corners an index was driven into: other working folders, impatient readers, strays, callers that do not close."""

from __future__ import annotations

import gc
import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bag import encode, sentence
from durability.test_repair import alter
from durability.test_wal import _PROBE
from gossamer import Index
from gossamer.errors import CorruptError, LockedError, NotAnIndexError, StateError, TooSlowError
from gossamer.results import LabelRequest
from gossamer.runtime.deadline import within
from gossamer.store.layout import Layout
from gossamer.store.pages import PageSums
from gossamer.store.rows import vector_crc
from gossamer.store.wal import Wal


def filled(path: Path, documents: int = 100) -> Index:
    index = Index.create(path, encode)
    index.add([sentence(random.Random(at)) for at in range(documents)], [f"d{at}" for at in range(documents)])
    return index


@pytest.fixture
def path(tmp_path: Path) -> Path:
    filled(tmp_path / "a.gsm").close()
    return tmp_path / "a.gsm"


# -- readers ----------------------------------------------------------------------------------------


def test_a_reader_that_ran_out_of_time_while_catching_up_goes_on(path: Path) -> None:
    with Index.open(path, encode) as index, Index.open(path, encode, mode="r") as reader:
        index.add([sentence(random.Random(at)) for at in range(2000)])
        try:
            with within(0.001):
                reader.search("moon")
        except TooSlowError:
            pass
        assert len(reader) == 2100
        assert len(reader.search("moon", k=5)) == 5
        reader.check()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, CorruptError])
def test_a_reader_that_was_stopped_while_catching_up_reads_anew(
    path: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: Any) -> Any:
        raise error

    with Index.open(path, encode) as index, Index.open(path, encode, mode="r") as reader:
        index.add("moon", "m")
        with monkeypatch.context() as patch:
            patch.setattr("gossamer.index.replay.stage", stop)
            patch.setattr("gossamer.index.replay.VectorIndex.flat", stop)
            with pytest.raises(error):
                len(reader)
        assert "m" in reader
        reader.check()
        index.add("river", "r")
        assert reader.search("river", k=1)[0].id == "r"


def test_a_reader_of_a_folder_that_was_replaced_is_told(path: Path) -> None:
    with Index.open(path, encode, mode="r") as reader:
        copy = path.with_name("copy.gsm")
        shutil.copytree(path, copy)
        shutil.rmtree(path)
        os.rename(copy, path)
        with pytest.raises(StateError, match="was replaced"):
            reader.search("moon")


def test_many_threads_that_open_and_close_drop_no_lock(path: Path) -> None:
    with Index.open(path, encode, mode="r"):

        def open_and_close() -> None:
            for _ in range(10):
                Index.open(path, encode, mode="r").close()

        threads = [threading.Thread(target=open_and_close) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        subprocess.run([sys.executable, "-c", _PROBE, path / "documents.sqlite"], check=True)


# -- places -----------------------------------------------------------------------------------------


def test_the_working_folder_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path would be another index from then on, and ours would write into it."""
    for place, documents in (("one", 30), ("two", 5)):
        (tmp_path / place).mkdir()
        filled(tmp_path / place / "n.gsm", documents).close()
    monkeypatch.chdir(tmp_path / "one")
    with Index.open("n.gsm", encode) as index:
        monkeypatch.chdir(tmp_path / "two")
        index.add("moon", "m")
        index.state.tree.snapshot()
        assert len(index) == 31
    for place, documents in (("one", 31), ("two", 5)):
        with Index.open(tmp_path / place / "n.gsm", encode) as index:
            assert len(index) == documents
            index.check()


def test_strays_with_the_name_of_a_snapshot_are_left_alone(path: Path) -> None:
    for seq in (900, 901):
        (path / f"snapshot-{seq}").mkdir()
    with Index.open(path, encode) as index:
        for _ in range(5):
            index.add("moon", "m")
            index.state.tree.snapshot()
        assert index.state.store.settings.forgotten < index.info().operation
        own = [seq for seq in index.info().snapshots if seq < 900]
        assert len(own) == 2
    assert (path / "snapshot-900").exists()


# -- checksums --------------------------------------------------------------------------------------


def test_an_index_that_nobody_closes_is_as_it_was_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    index = filled(tmp_path / "a.gsm")
    del index
    gc.collect()
    with Index.open(tmp_path / "a.gsm", encode, mode="r") as again:
        assert len(again) == 100
    assert caplog.text == ""


def test_what_looks_wrong_once_is_looked_at_again(path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """A writer in another process may be copying its log into the file just then."""
    looks = [[7, 8], [8], [9]]
    monkeypatch.setattr(PageSums, "damaged", lambda self, wal: looks.pop(0))
    with Index.open(path, encode, mode="r") as index:
        assert len(index) == 100
    assert caplog.text == ""
    assert looks == [], "page 8 twice, but not three times"


@pytest.mark.slow
def test_the_page_of_sqlites_locks_is_never_written(tmp_path: Path) -> None:
    """Every database above one gigabyte has one; its checksum stays what it was at first."""
    file = tmp_path / "documents.sqlite"
    pages = 2**30 // 4096 + 2
    with file.open("wb") as database:
        database.truncate(pages * 4096)
        database.write(b"SQLite format 3\0" + (4096).to_bytes(2, "big"))
    sums = PageSums(file)
    sums.rebuild("x" * 32, 1)
    with sums.file.open("r+b") as stored:
        stored.seek(64 + 4 * (2**30 // 4096))
        stored.write(bytes(4))
    assert sums.damaged(Wal({}, truncated=False)) == []


def test_another_page_size_is_damage(path: Path) -> None:
    with (path / "documents.sqlite").open("r+b") as database:
        database.seek(16)
        database.write((4096).to_bytes(2, "big"))
    assert PageSums(path / "documents.sqlite").damaged(Wal({}, truncated=False)) == [1]


def test_checksums_that_cannot_be_written_stop_no_change(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> Any:
        raise MemoryError

    with Index.open(path, encode) as index:
        monkeypatch.setattr(PageSums, "acknowledge", fail)
        index.add("moon", "m")
        assert index.search("moon", k=1)[0].id == "m"
        index.check()


def test_a_reader_that_finds_no_rest_is_told_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = iter(range(50, 99))
    monkeypatch.setattr(Layout, "snapshots", lambda self: [next(seen)])
    with pytest.raises(LockedError, match="changed 5 times"):
        Index.open(path, encode, mode="r")


# -- repair -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [3, 16, 17])
def test_a_header_that_was_altered_is_mended(path: Path, at: int) -> None:
    content = bytearray((path / "documents.sqlite").read_bytes())
    content[at] ^= 4
    (path / "documents.sqlite").write_bytes(content)
    with pytest.raises((CorruptError, NotAnIndexError)):
        Index.open(path, encode)
    assert Index.repair(path).documents == 100
    with Index.open(path, encode) as index:
        index.check()


def test_a_vector_of_another_length_is_made_again(path: Path) -> None:
    blob = bytes(4 * 31)
    crc = vector_crc(7, blob)
    alter(path, f"UPDATE vectors SET vector = x'{blob.hex()}', crc = {crc} WHERE passage = 7")
    with pytest.raises(CorruptError):
        Index.open(path, encode).check()
    done = Index.repair(path, encode)
    assert (done.documents, done.encoded_again, done.lost) == (100, 1, ())


def test_settings_that_were_altered_do_not_cost_the_vectors(path: Path) -> None:
    alter(path, "UPDATE settings SET value = replace(value, '\"dim\": 32', '\"dim\": 33')")
    done = Index.repair(path)
    assert (done.documents, done.lost) == (100, ())
    with Index.open(path, encode) as index:
        assert index.info().dim == 32
        index.check()


@pytest.mark.parametrize("seq", ["1000000000000", "'abc'"])
def test_a_numbering_that_was_altered(path: Path, seq: str) -> None:
    alter(path, f"UPDATE sqlite_sequence SET seq = {seq} WHERE name = 'documents'")
    _overwrite_a_page_of_documents(path)
    if seq == "'abc'":
        with pytest.raises(CorruptError):
            Index.open(path, encode)
    done = Index.repair(path)
    assert 0 < done.documents < 100
    assert done.documents + len(done.lost) >= 100


def _overwrite_a_page_of_documents(path: Path) -> None:
    """So that rows are asked for one by one."""
    content = bytearray((path / "documents.sqlite").read_bytes())
    place = content.index(sentence(random.Random(50)).encode()) // 4096 * 4096
    content[place : place + 100] = bytes(100)
    (path / "documents.sqlite").write_bytes(content)


def test_numbers_of_lost_documents_are_not_given_out_again(path: Path) -> None:
    with Index.open(path, encode) as index:
        (last,) = index.add("the last one")
    alter(path, f"UPDATE documents SET text = 'x' WHERE id = '{last}'")
    assert [lost.id for lost in Index.repair(path).lost] == [last]
    with Index.open(path, encode) as index:
        assert index.add("another") == [str(int(last) + 1)]


def test_repair_where_the_error_is_caught(path: Path) -> None:
    alter(path, "UPDATE documents SET text = 'x' WHERE id = 'd5'")
    try:
        Index.open(path, encode)
    except CorruptError:
        assert Index.repair(path).documents == 99
    else:
        raise AssertionError


def test_a_rename_that_fails_leaves_everything_where_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alter(path, "UPDATE documents SET text = 'x' WHERE id = 'd5'")
    rename = os.rename

    def second_fails(old: Any, new: Any) -> None:
        if str(new) == str(path) and "damaged" not in str(old):
            raise OSError(5, "Input/output error")
        rename(old, new)

    monkeypatch.setattr("gossamer.store.backup.os.rename", second_fails)
    with pytest.raises(OSError, match="could not be repaired"):
        Index.repair(path)
    monkeypatch.undo()
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.gsm"]
    assert Index.repair(path).documents == 99


# -- backup -----------------------------------------------------------------------------------------


def test_a_newer_index_is_not_replaced_by_its_older_copy(path: Path) -> None:
    copy = path.with_name("copy.gsm")
    with Index.open(path, encode) as index:
        index.backup(copy)
        index.add("moon", "m")
    with Index.open(copy, encode) as old, pytest.raises(NotAnIndexError, match="is newer"):
        old.backup(path)
    with Index.open(path, encode) as index:
        assert "m" in index


def test_a_copy_of_itself_in_its_own_place(path: Path) -> None:
    with Index.open(path, encode, mode="r") as index, pytest.raises(NotAnIndexError, match="the index itself"):
        index.backup(path)


def test_a_copy_behind_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.gsm").symlink_to(tmp_path / "elsewhere" / "copy.gsm")
    with Index.open(path, encode) as index:
        for _ in range(2):
            index.backup(tmp_path / "link.gsm")
            index.add("moon", "m")
    assert (tmp_path / "link.gsm").is_symlink()
    assert [file.name for file in (tmp_path / "elsewhere").iterdir()] == ["copy.gsm"]


def test_two_copies_at_once(path: Path) -> None:
    errors: list[Exception] = []

    def copy(index: Index) -> None:
        try:
            index.backup(path.with_name("copy.gsm"))
        except Exception as error:
            errors.append(error)

    with Index.open(path, encode) as index:
        threads = [threading.Thread(target=copy, args=(index,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(errors) < 4, errors
    with Index.open(path.with_name("copy.gsm"), encode) as copied:
        copied.check()
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.gsm", "copy.gsm"]


# -- labellers --------------------------------------------------------------------------------------


def test_a_labeller_that_asks_its_own_index_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It would wait for the lock that its caller holds."""
    asked: list[str] = []

    def labeller(request: LabelRequest) -> str:
        asked.append(index.search("moon")[0].id)
        return "never"

    with Index.create(tmp_path / "a.gsm", encode, labeller=labeller) as index:
        index.add([sentence(random.Random(at)) for at in range(30)])
        assert index.labels()[index.concepts(0)[0].id] != "never"
    assert "a labeller cannot use the index" in caplog.text
    assert asked == []
