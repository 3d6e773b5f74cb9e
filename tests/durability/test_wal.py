"""SQLite's write-ahead log: bounded beside readers, covered by checksums, and its loss is told."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bag import encode, sentence
from gossamer import Index
from gossamer.errors import CorruptError
from gossamer.store import Policy
from gossamer.store.pages import PageSums
from gossamer.store.wal import FrameCount, Wal, read_wal

NOTHING = Wal({}, truncated=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        index.add([sentence(random.Random(at)) for at in range(300)], [f"d{at}" for at in range(300)])
    return path


def left_open(path: Path) -> Path:
    """A copy of an index as a crash leaves it: the last operations are in SQLite's log alone."""
    copy = path.with_name("left.gsm")
    with Index.open(path, encode) as index:
        for at in range(20):
            index.add(f"moon {at}", f"m{at}")
        shutil.copytree(path, copy)
    return copy


def test_the_log_stays_short_beside_readers_that_follow(path: Path) -> None:
    stop, longest = threading.Event(), 0
    with Index.open(path, encode) as index, Index.open(path, encode, mode="r") as first:
        index.state.store.policy = Policy(checkpoint_after=100)
        second = Index.open(path, encode, mode="r")

        def follow(reader: Index) -> None:
            while not stop.is_set():
                reader.search("moon")
                reader.refresh()

        threads = [threading.Thread(target=follow, args=(reader,)) for reader in (first, second)]
        for thread in threads:
            thread.start()
        try:
            for at in range(90):
                index.add([sentence(random.Random(at), 300)] * 5)
                longest = max(longest, os.path.getsize(path / "documents.sqlite-wal"))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert longest < 5e6, "9 MB were written"
        assert len(second) == len(index)
        second.close()


def test_a_reader_that_rests_holds_nothing_up(path: Path) -> None:
    with Index.open(path, encode, mode="r") as reader, Index.open(path, encode) as index:
        index.state.store.policy = Policy(checkpoint_after=50)
        reader.search("moon")
        for at in range(90):
            index.add([sentence(random.Random(at), 300)] * 5)
        assert os.path.getsize(path / "documents.sqlite-wal") < 2e6


def test_a_log_that_was_cut_is_told(path: Path) -> None:
    """SQLite takes a damaged frame for the end of the log; twenty acknowledged documents would be gone in silence."""
    copy = left_open(path)
    wal = copy / "documents.sqlite-wal"
    content = bytearray(wal.read_bytes())
    content[len(content) // 3] ^= 1
    wal.write_bytes(content)
    for mode in ("r", "w"):
        with pytest.raises(CorruptError, match="was acknowledged"):
            Index.open(copy, encode, mode=mode)
    assert wal.exists(), "an open that was refused leaves everything as it was"
    done = Index.repair(copy, encode)
    with Index.open(copy, encode) as index:
        index.check()
        assert len(index) == done.documents == 320 - len(done.lost) >= 319, "what the flipped bit is in may be lost"


def test_a_log_that_is_gone_is_told(path: Path) -> None:
    copy = left_open(path)
    (copy / "documents.sqlite-wal").unlink()
    with pytest.raises(CorruptError, match="gossamer repair"):
        Index.open(copy, encode)


def test_another_program_that_puts_the_log_away_is_no_damage(path: Path, caplog: Any) -> None:
    copy = left_open(path)
    db = sqlite3.connect(copy / "documents.sqlite")
    assert db.execute("SELECT count(*) FROM documents").fetchone() == (320,)
    db.close()  # as the last one, it copies the log into the file
    with Index.open(copy, encode) as index:
        assert "checking all of it" in caplog.text
        assert len(index) == 320
    caplog.clear()
    with Index.open(copy, encode) as index:
        index.check()
        assert caplog.text == "", "since then the checksums are of what is there"


def test_every_page_has_its_checksum(path: Path) -> None:
    sums = PageSums(path / "documents.sqlite")
    size = (path / "documents.sqlite").stat().st_size
    assert sums.damaged(NOTHING) == []
    for page in range(size // 8192):
        with (path / "documents.sqlite").open("r+b") as file:
            file.seek(8192 * page + 2000)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 4]))
            file.flush()
            assert sums.damaged(NOTHING) == [page + 1]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte]))
    assert sums.damaged(NOTHING) == []


def test_an_index_without_checksums_gets_some(path: Path) -> None:
    """As all had that were made before there were any."""
    (path / "documents.sums").unlink()
    with Index.open(path, encode, mode="r") as index:
        assert len(index) == 300
    with Index.open(path, encode) as index:
        index.add("moon", "m")
    sums = PageSums(path / "documents.sqlite")
    assert sums.damaged(NOTHING) == []
    known = sums.acknowledged()
    assert known is not None
    assert known.seq == 2


def test_damaged_checksums_alone_are_made_again(path: Path) -> None:
    for at in (3, 70):  # in the header, and among the sums
        content = bytearray((path / "documents.sums").read_bytes())
        content[at] ^= 1
        (path / "documents.sums").write_bytes(content)
        with Index.open(path, encode) as index:
            index.check()
            assert len(index) == 300
        assert PageSums(path / "documents.sqlite").damaged(NOTHING) == []


def test_a_log_is_read_as_sqlite_reads_it(path: Path) -> None:
    assert read_wal(path / "documents.sqlite-wal") == NOTHING
    copy = left_open(path)
    file = copy / "documents.sqlite-wal"
    whole = read_wal(file)
    assert not whole.truncated
    assert FrameCount(file).now() == (file.stat().st_size - 32) // 8216 > len(whole.sums) > 3
    content = file.read_bytes()
    before = {name: (copy / name).read_bytes() for name in ("documents.sqlite", "documents.sqlite-wal")}
    rng = random.Random(0)
    for _ in range(40):  # a flipped bit anywhere cuts it there, and everyone sees as much of it
        damaged = bytearray(content)
        damaged[rng.randrange(32, len(damaged))] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        found = read_wal(file)
        db = sqlite3.connect(copy / "documents.sqlite")
        _, frames, _ = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        db.close()
        expected = {int.from_bytes(damaged[32 + 8216 * at : 36 + 8216 * at], "big") for at in range(frames)}
        assert set(found.sums) == expected
        assert found.truncated
        for name, bytes_of in before.items():
            (copy / name).write_bytes(bytes_of)


_PROBE = """
import fcntl, sys
for file, start, length in ((sys.argv[1], 0x40000002, 510), (sys.argv[1] + "-shm", 128, 1)):
    with open(file, "r+b") as handle:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except BlockingIOError:
            continue
        sys.exit(f"{file} is not locked")
"""


@pytest.mark.parametrize("mode", ["r", "w"])
def test_no_call_drops_the_locks_that_sqlite_holds(path: Path, mode: Any) -> None:
    """To open a file of SQLite's and close it again drops all locks of the process on it, and others then do harm."""
    with Index.open(path, encode, mode=mode) as index:
        index.state.store.policy = Policy(snapshot_after=1, snapshot_share=0.0, checkpoint_after=1)
        calls: list[Any] = [
            lambda: index.search("moon"), lambda: index.info(), lambda: index.check(), lambda: index.refresh(),
            lambda: index.backup(path.with_name("copy.gsm")), lambda: Index.open(path, encode, mode="r").close(),
            lambda: index.backup(path.with_name("copy.gsm")),
        ]  # fmt: skip
        if mode == "w":
            calls += [lambda: index.add("moon", "m"), lambda: index.delete("d1"), lambda: index.refit()]
        for call in calls:
            call()
            subprocess.run([sys.executable, "-c", _PROBE, path / "documents.sqlite"], check=True)
