"""Disks fill up, files are damaged, folders cannot be written: a typed error, or a recovery that loses nothing."""

from __future__ import annotations

import errno
import json
import logging
import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bag import encode, sentence
from durability.names import NO_SNAPSHOTS, limit_pages
from gossamer import Index
from gossamer.errors import CorruptError, DiskError, FormatVersionError, GossamerError, LockedError, NotAnIndexError
from gossamer.files.file_lock import LockFile
from gossamer.results import Document, Hit
from gossamer.store import Policy
from gossamer.store.layout import Layout

TRUTH = "moon river gold"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed index with two snapshots, a log that reaches beyond the first, and forgotten vectors."""
    path = tmp_path_factory.mktemp("made") / "a.gsm"
    rng = random.Random(1)
    with Index.create(path, encode) as index:
        index.state.store.policy = Policy(snapshot_after=100)
        for start in range(0, 300, 30):
            index.add([sentence(rng) for _ in range(30)], [f"d{at}" for at in range(start, start + 30)])
            index.delete([f"d{start}", f"d{start // 2}"])
        index.add([sentence(rng)], ["d7"], [{"year": 2024}])
        assert index.state.store.settings.forgotten > 0
    assert len(Layout(path).snapshots()) == 2
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(made, tmp_path / "a.gsm")


def state(index: Index) -> tuple[list[Document], list[Hit], int]:
    return index.get(index.ids()), index.search(TRUTH, k=30), index.info().operation


@pytest.fixture(scope="module")
def truth(made: Path) -> tuple[list[Document], list[Hit], int]:
    with Index.open(made, encode, mode="r") as index:
        return state(index)


def damage(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 0x10
    file.write_bytes(content)


def newest(path: Path) -> Path:
    layout = Layout(path)
    return layout.snapshot(layout.snapshots()[0])


# -- snapshots: nothing depends on them -------------------------------------------------------------


def truncate(snapshot: Path) -> None:
    (arrays,) = snapshot.glob("*.safetensors")
    arrays.write_bytes(arrays.read_bytes()[:-100])


def lose_manifest(snapshot: Path) -> None:
    (snapshot / "manifest.json").unlink()


def lose_arrays(snapshot: Path) -> None:
    for arrays in snapshot.glob("*.safetensors"):
        arrays.unlink()


def flip_arrays(snapshot: Path) -> None:
    (arrays,) = snapshot.glob("*.safetensors")
    damage(arrays, arrays.stat().st_size // 2)


def flip_manifest(snapshot: Path) -> None:
    damage(snapshot / "manifest.json", 30)


def empty(snapshot: Path) -> None:
    shutil.rmtree(snapshot)
    snapshot.mkdir()


def come_from_elsewhere(snapshot: Path) -> None:
    """A sound snapshot of another index."""
    other = snapshot.parent.parent / "other.gsm"
    with Index.create(other, encode) as index:
        for at in range(int(snapshot.name.removeprefix("snapshot-"))):
            index.add(f"moon {at}")
    shutil.rmtree(snapshot)
    shutil.copytree(newest(other), snapshot)


DAMAGES: list[Callable[[Path], None]] = [
    truncate, lose_manifest, lose_arrays, flip_arrays, flip_manifest, empty, come_from_elsewhere,
]  # fmt: skip


@pytest.mark.parametrize("break_it", DAMAGES)
@pytest.mark.parametrize("mode", ["r", "w"])
def test_a_damaged_snapshot_is_passed_over(
    path: Path, truth: Any, break_it: Callable[[Path], None], mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The one before it and the log give the same state, node by node; a writer then heals the folder."""
    broken = newest(path)
    break_it(broken)
    with caplog.at_level(logging.WARNING), Index.open(path, encode, mode=mode) as index:
        assert f"{broken.name.replace('-', ' ')} of {path} cannot be used" in caplog.text
        assert state(index) == truth
        index.check()
    caplog.clear()
    if mode == "w":
        with caplog.at_level(logging.WARNING), Index.open(path, encode, mode="r") as index:
            assert state(index) == truth
            assert caplog.text == "", "healed"


@pytest.mark.parametrize("mode", ["r", "w"])
def test_without_any_snapshot_the_tree_is_grown_again(
    path: Path, truth: Any, mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """No document is lost; the tree is another one, since vectors that went long ago are no longer there."""
    for snapshot in path.glob("snapshot-*"):
        shutil.rmtree(snapshot)
    with caplog.at_level(logging.WARNING), Index.open(path, encode, mode=mode) as index:
        assert "growing its tree again from all documents" in caplog.text
        assert index.get(index.ids()) == truth[0]
        assert [(hit.id, hit.score) for hit in index.search(TRUTH, k=30)] == [(hit.id, hit.score) for hit in truth[1]]
        index.check()
        if mode == "r":
            return
        index.state.store.policy = NO_SNAPSHOTS
        index.add([sentence(random.Random(at)) for at in range(40)])
        index.delete(index.ids()[::2])
        later = (state(index), index.concepts(30))
    with Index.open(path, encode, mode="r") as index:  # since it was written down, the log leads there again
        assert (state(index), index.concepts(30)) == later


def test_where_nothing_was_forgotten_the_log_alone_gives_the_same_tree(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    rng = random.Random(2)
    with Index.create(path, encode) as index:
        for _ in range(10):
            index.add([sentence(rng) for _ in range(20)])
            index.delete([rng.choice(index.ids())])
        index.settle()  # closing would do so, if a renewal is under way, and that is an operation
        before = state(index)
    for snapshot in path.glob("snapshot-*"):
        shutil.rmtree(snapshot)
    with Index.open(path, encode) as index:
        assert state(index) == before


def test_an_unfinished_snapshot_is_cleared_away(path: Path, truth: Any, caplog: pytest.LogCaptureFixture) -> None:
    draft = path / ".snapshot-99.1234"
    draft.mkdir()
    (draft / "arrays-0.safetensors").write_bytes(b"half")
    with caplog.at_level(logging.INFO), Index.open(path, encode) as index:
        assert state(index) == truth
    assert "never finished" in caplog.text
    assert not draft.exists()


# -- documents.sqlite: the truth itself -------------------------------------------------------------


def test_a_flipped_byte_in_the_database_is_noticed_or_harmless(path: Path, truth: Any) -> None:
    """Wherever a byte flips: a typed error, or all that is said is true."""
    size = (path / "documents.sqlite").stat().st_size
    rng = random.Random(3)
    noticed = 0
    places = [*range(0, 100, 7), *(rng.randrange(size) for _ in range(120))]
    for at in places:
        copy = path.with_name("copy.gsm")
        shutil.copytree(path, copy)
        damage(copy / "documents.sqlite", at)
        try:
            with Index.open(copy, encode) as index:
                index.check()
                found = state(index)
            assert found == truth, f"byte {at}"
        except GossamerError:
            noticed += 1
        shutil.rmtree(copy)
    assert noticed > len(places) / 4


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("documents", "text"),
        ("documents", "metadata"),
        ("documents", "id"),
        ("passages", "stop"),
        ("settings", "value"),
    ],
)
def test_an_altered_row_is_never_shown(path: Path, table: str, column: str) -> None:
    """SQLite keeps no checksums, we do."""
    db = sqlite3.connect(path / "documents.sqlite")
    with db:
        changed = "stop + 1" if column == "stop" else f"{column} || '!'"
        db.execute(f"UPDATE {table} SET {column} = {changed}")
    db.close()
    with pytest.raises(CorruptError, match="altered"), Index.open(path, encode, mode="r") as index:
        index.search(TRUTH)


@pytest.mark.parametrize("left", [0, 50, 5000, 20000])
def test_a_truncated_database(path: Path, left: int) -> None:
    os.truncate(path / "documents.sqlite", left)
    with pytest.raises(DiskError), Index.open(path, encode) as index:
        index.check()


def test_a_missing_database(path: Path) -> None:
    (path / "documents.sqlite").unlink()
    with pytest.raises(CorruptError, match="is missing: restore it"):
        Index.open(path, encode)


def test_an_older_database_beside_newer_snapshots(path: Path) -> None:
    """Restored from a copy, or its log was lost: operations that were acknowledged are gone, and that is said."""
    older = (path / "documents.sqlite").read_bytes()
    with Index.open(path, encode) as index:
        for at in range(5):
            index.add(f"moon {at}", f"m{at}")
    (path / "documents.sqlite").write_bytes(older)
    for mode in ("r", "w"):
        with pytest.raises(CorruptError, match="what came after is lost"):
            Index.open(path, encode, mode=mode)
    (path / "documents.sums").unlink()
    with pytest.raises(CorruptError, match="what came after is lost"):  # a snapshot says so too
        Index.open(path, encode)
    assert Index.repair(path).lost == ()  # as the message says
    Index.open(path, encode).close()


def test_somebody_elses_database(tmp_path: Path) -> None:
    (tmp_path / "b.gsm").mkdir()
    db = sqlite3.connect(tmp_path / "b.gsm" / "documents.sqlite")
    db.execute("CREATE TABLE mine (x)")
    db.close()
    with pytest.raises(NotAnIndexError, match="another program"):
        Index.open(tmp_path / "b.gsm", encode)


def test_a_newer_format_is_refused(path: Path) -> None:
    db = sqlite3.connect(path / "documents.sqlite")
    db.execute("PRAGMA user_version = 5")
    db.close()
    for mode in ("r", "w"):
        with pytest.raises(FormatVersionError, match="format version 5, and this Gossamer reads up to 4: upgrade"):
            Index.open(path, encode, mode=mode)


# -- full disks -------------------------------------------------------------------------------------


def test_a_full_database_refuses_the_change_and_keeps_the_rest(path: Path, truth: Any) -> None:
    with Index.open(path, encode) as index:
        limit_pages(index, 2)
        with pytest.raises(DiskError, match="full: nothing was changed"):
            index.add([sentence(random.Random(at), 50) for at in range(500)])
        assert state(index) == truth
        index.check()
        limit_pages(index, 10_000)
        index.add("there is room again", "new")
        assert "new" in index


def test_no_room_for_a_snapshot(path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Index.open(path, encode) as index:
        index.state.store.policy = Policy(snapshot_after=100)
        monkeypatch.setattr("gossamer.files.bundle.os.fsync", full)
        with caplog.at_level(logging.WARNING):
            for at in range(20):
                index.add([f"moon {at} {word}" for word in range(20)])
        assert "no snapshot" in caplog.text
        assert "No space left" in caplog.text
        index.settle()
        after = state(index)
    monkeypatch.undo()
    assert not Layout(path).drafts()
    with Index.open(path, encode) as index:
        assert state(index) == after


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB; only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("cannot mount a tmpfs here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_disk_that_really_fills_up(tiny_disk: Path) -> None:
    path = tiny_disk / "a.gsm"
    rng = random.Random(4)
    added: dict[str, str] = {}
    with Index.create(path, encode) as index:
        with suppress(DiskError):
            while len(added) < 10_000:
                new = {f"{len(added)}-{at}": sentence(rng, 30) for at in range(50)}
                index.add(new.values(), list(new))
                added |= new
        assert 100 < len(added) < 10_000
        assert index.ids() == list(added)
        index.search(TRUTH)
    with Index.open(path, encode, mode="r") as index:
        assert {document.id: document.text for document in index.get(index.ids())} == added
        index.check()
    with pytest.raises(DiskError):
        Index.create(tiny_disk / "b.gsm", encode)
    assert sorted(file.name for file in tiny_disk.iterdir() if "gsm" in file.name) == ["a.gsm"]


# -- folders that cannot be written, and locks ------------------------------------------------------


@pytest.fixture
def read_only(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The same folder, mounted so that not even root may write, or with its permissions taken away."""
    if os.getuid():
        for file in (path, *path.rglob("*")):
            file.chmod(0o555 if file.is_dir() else 0o444)
        yield path
        for file in (path, *path.rglob("*")):
            file.chmod(0o755 if file.is_dir() else 0o644)
        return
    mounted = tmp_path / "mounted.gsm"
    mounted.mkdir()
    if subprocess.run(["mount", "--bind", path, mounted], capture_output=True, check=False).returncode:
        pytest.skip("root, and cannot mount here")
    subprocess.run(["mount", "-o", "remount,ro,bind", mounted], check=True)
    yield mounted
    subprocess.run(["umount", "-l", mounted], check=True)


def test_a_read_only_folder_can_be_searched(truth: Any, read_only: Path) -> None:
    with Index.open(read_only, encode, mode="r") as index:
        assert state(index) == truth
        index.check()
        assert index.refresh() == 0
        assert state(index) == truth
    with pytest.raises(DiskError, match='mode="r"'):
        Index.open(read_only, encode)


def test_a_read_only_folder_that_was_not_closed(path: Path, read_only: Path) -> None:
    """What was committed last lies in SQLite's log, which cannot be read without writing beside it."""
    if path == read_only:
        pytest.skip("as root alone the folder behind can still be written")
    with Index.open(path, encode) as index:
        index.add("unfinished business", "new")
        copied = path.parent / "copy"
        shutil.copytree(path, copied)
    for file in path.iterdir():
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    for file in copied.iterdir():
        if not file.name.endswith("-shm"):
            shutil.move(file, path / file.name)
    with pytest.raises(DiskError, match="it was not closed"):
        Index.open(read_only, encode, mode="r")
    with Index.open(path, encode, mode="r") as index:
        assert "new" in index


def test_a_lock_that_a_crash_left_is_taken_over(path: Path, truth: Any, caplog: pytest.LogCaptureFixture) -> None:
    holder = {"pid": 4_000_000, "host": "elsewhere", "user": "ada", "program": "x", "since": "2020-01-01T00:00:00"}
    (path / "writer.lock").write_text(json.dumps(holder))
    with caplog.at_level(logging.WARNING), Index.open(path, encode) as index:
        assert "took over the lock" in caplog.text
        assert "process 4000000 on elsewhere" in caplog.text
        assert state(index) == truth
    assert (path / "writer.lock").read_text() == ""


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"pid": 1}'])
def test_whatever_is_in_the_lock_file(tmp_path: Path, content: str) -> None:
    file = tmp_path / "lock"
    first, second = LockFile(file), LockFile(file)
    first.acquire()
    file.write_text(content)
    with pytest.raises(LockedError, match="another process"):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    second.release()
