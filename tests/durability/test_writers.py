"""Several handles write to one index, in one process and in several: one log, one tree, and nobody waits in vain."""

from __future__ import annotations

import logging
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bag import encode, sentence
from durability.test_kill import answers, tree_of
from gossamer import Index
from gossamer.errors import LockedError, ParameterError, StateError
from gossamer.files import file_lock
from gossamer.files.file_lock import LockFile
from gossamer.store import Policy
from gossamer.store.label_file import read_labels
from gossamer.store.layout import Layout

EAGER = Policy(snapshot_after=60, snapshot_share=0.0, closing_share=0.0, checkpoint_after=60)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Index.create(tmp_path / "a.gsm", encode) as index:
        index.add(["the moon", "the river"], ["a", "b"])
    return tmp_path / "a.gsm"


@contextmanager
def held(path: Path) -> Iterator[subprocess.Popen[str]]:
    """The write lock is held by another process, until the block ends or that one is killed."""
    code = (
        "import sys; from pathlib import Path; from gossamer.files.file_lock import LockFile;"
        "lock = LockFile(Path(sys.argv[1])); lock.acquire(); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path / "writer.lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def in_thread(work: Any) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


# -- one log, one tree -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_two_handles_are_one_dict_and_one_tree(tmp_path: Path, seed: int) -> None:
    """Through renewals, snapshots, rebuilds, and handles that are closed and opened again."""
    rng, path = random.Random(seed), tmp_path / "a.gsm"
    handles = [Index.create(path, encode), Index.open(path, encode)]
    reader = Index.open(path, encode, mode="r")
    model: dict[str, str] = {}
    for step in range(160):
        at = rng.randrange(2)
        handles[at].state.store.policy = EAGER
        kind = rng.choices(["add", "numbered", "delete", "rare", "close"], [60, 10, 25, 3, 2])[0]
        if kind == "add":
            some = {f"d{rng.randrange(120)}": sentence(rng, 6) for _ in range(rng.choice([1, 2, 5, 30]))}
            handles[at].add(list(some.values()), list(some))
            model |= some
        elif kind == "numbered":
            text = sentence(rng, 6)
            (id,) = handles[at].add(text)
            assert id not in model
            model[id] = text
        elif kind == "delete" and model:
            gone = rng.sample(sorted(model), min(3, len(model)))
            assert handles[at].delete(gone) == len(gone)
            for id in gone:
                del model[id]
        elif kind == "rare":
            getattr(handles[at], rng.choice(["rebuild", "settle", "compact"]))()
        elif kind == "close":
            handles[at].close()
            handles[at] = Index.open(path, encode)
        for index in rng.sample([*handles, reader], 2):
            assert set(index.ids()) == set(model), step
    with Index.open(path, encode) as third:
        everyone = [*handles, reader, third]
        for index in everyone:
            index.check()
            assert {each.id: each.text for each in index.get(index.ids())} == model
            assert answers(index) == answers(third)
            assert tree_of(index) == tree_of(third), "the same tree, node by node"
        assert len({index.info().operation for index in everyone}) == 1
    for index in (*handles, reader):
        index.close()
    with Index.open(path, encode, mode="r") as index:
        assert set(index.ids()) == set(model)


def test_a_handle_that_is_in_the_middle_of_a_renewal_follows(tmp_path: Path) -> None:
    """What was renewed takes effect at the same operation, whoever writes it."""
    rng, path = random.Random(0), tmp_path / "a.gsm"
    with Index.create(path, encode) as one, Index.open(path, encode) as other:
        one.add([sentence(rng, 6) for _ in range(300)], [f"d{at}" for at in range(300)])
        renewing = 0
        for at in range(400, 520):
            one.add(sentence(rng, 6), f"d{at}")
            if at % 7 == 0:
                assert f"d{at}" in other
                assert one.state.vectors is not None
                assert other.state.vectors is not None
                renewing += one.state.vectors.renewing
                assert one.state.vectors.renewing == other.state.vectors.renewing
                assert tree_of(one) == tree_of(other)
        assert renewing
        other.add("moon", "x")
        assert "x" in one
        assert tree_of(one) == tree_of(other)


def test_an_encoder_that_learns_again_is_followed(tmp_path: Path) -> None:
    rng, path = random.Random(0), tmp_path / "a.gsm"
    with Index.create(path, "lsa") as one, Index.open(path) as other:
        for turn in range(4):
            index = (one, other)[turn % 2]
            index.add([sentence(rng, 8) for _ in range(10 * 2**turn)])
            assert one.search("moon river") == other.search("moon river")
        assert one.state.encoder.fingerprint == other.state.encoder.fingerprint
        one.check()
        other.check()


def test_what_another_forgot_is_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as one, Index.open(path, encode) as other:
        one.add(["the moon", "the river", "the stone"], ["a", "b", "c"])
        assert "a" in other
        for at in range(5):
            one.add(f"moon {at}", "d")
        one.compact()
        other.add("star", "e")
        assert tree_of(one) == tree_of(other) or one.refresh() == 1
        assert tree_of(one) == tree_of(other)
        other.check()


def test_much_that_another_wrote_and_saved_is_loaded(tmp_path: Path) -> None:
    rng, path = random.Random(0), tmp_path / "a.gsm"
    with Index.create(path, encode) as one, Index.open(path, encode) as other:
        one.add(["the moon", "the river"], ["a", "b"])
        assert "a" in other
        before = other.state.vectors
        one.add([sentence(rng, 6) for _ in range(2100)])
        assert one.info().snapshots == (2,)
        one.add("the stone", "c")
        assert "c" in other
        assert other.state.vectors is not before, "read, not replayed"
        one.add("the star", "d")
        assert "d" in other
        assert tree_of(one) == tree_of(other)


def test_a_snapshot_of_another_is_not_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as one, Index.open(path, encode) as other:
        for index in (one, other):
            index.state.store.policy = Policy(snapshot_after=120, snapshot_share=0.0)
        for at in range(11):  # each counts 11
            one.add("moon", f"a{at}")
            assert f"a{at}" in other
        assert one.info().snapshots == (11,)
        other.add("star", "b")
        assert one.info().snapshots == (11,)


# -- files -------------------------------------------------------------------------------------------


def test_closing_one_handle_takes_nothing_from_the_other(path: Path) -> None:
    one, other = Index.open(path, encode), Index.open(path, encode)
    one.add("stone", "c")
    one.close()
    assert "c" in other
    other.add("star", "d")
    other.close()
    with Index.open(path, encode) as index:
        assert set(index.ids()) == {"a", "b", "c", "d"}
    assert not (path / "documents.sqlite-wal").exists(), "the last one empties the log"


def test_a_handle_that_closes_while_another_writes_leaves_the_log(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite must not copy it into the database: that would leave pages without their checksums."""
    for name in ("gossamer.store.store", "gossamer.index.state"):
        monkeypatch.setattr(sys.modules[name], "_CLOSING_WAIT", 0.05)
    index = Index.open(path, encode)
    index.add(["stone"] * 40)
    with held(path):
        index.close()
        assert (path / "documents.sqlite-wal").stat().st_size > 0
    with caplog.at_level(logging.WARNING), Index.open(path, encode) as index:
        assert len(index) == 42
        index.check()
    assert "damaged" not in caplog.text


def test_what_was_erased_is_not_saved_again(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as one, Index.open(path, encode) as other:
        texts = [f"{sentence(random.Random(at), 6)} zebrafish" for at in range(40)]
        one.add(texts, [f"z{at}" for at in range(40)])
        one.add(["the moon", "the river", "the stone"])
        other.settle()
        other.plane()
        one.delete([f"z{at}" for at in range(40)])
        one.compact(erase=True)
        other.state.labelling._saved = None
        other.state.labelling._save()  # of a tree that is gone
        saved = read_labels(Layout(path), one.state.settings.identity)
        assert saved is not None
        assert "zebrafish" not in saved.text, "which is compressed"
        content = b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file())
        assert b"zebrafish" not in content
        other.settle()
        other.plane()
    with Index.open(path, encode, mode="r") as index:
        assert not any("zebrafish" in text for text in index.labels().values())


def test_what_replaces_the_folder_needs_it_alone(path: Path, tmp_path: Path) -> None:
    with Index.open(path, encode) as index:
        with pytest.raises(LockedError, match=r"open for writing elsewhere.*close it there"):
            Index.repair(path)
        copy = tmp_path / "copy.gsm"
        index.backup(copy)
        with Index.open(copy, encode), pytest.raises(LockedError, match="for itself"):
            index.backup(copy)
        with Index.open(copy, encode, mode="r"):
            index.backup(copy)
    assert Index.repair(path).documents == 2


def test_a_folder_that_was_replaced_is_not_written(path: Path, tmp_path: Path) -> None:
    with Index.open(path, encode) as index:
        shutil.copytree(path, tmp_path / "other.gsm")
        path.rename(tmp_path / "moved.gsm")
        (tmp_path / "other.gsm").rename(path)
        for call in (lambda: index.add("x"), lambda: index.search("moon"), lambda: index.delete("a")):
            with pytest.raises(StateError, match="was replaced"):
                call()
    with Index.open(path, encode) as index:
        assert len(index) == 2


def test_two_do_not_encode_the_same_index_again(path: Path) -> None:
    def other(texts: list[str]) -> Any:
        with pytest.raises(LockedError, match=r"process \d+ on .* has been encoding again .*a\.gsm"):
            second.reencode(encode)
        return encode(texts)

    with Index.open(path, encode) as first, Index.open(path, encode) as second:
        assert first.reencode(other) == 2


# -- waiting -----------------------------------------------------------------------------------------


def test_who_waits_is_told_for_whom(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lock, "_TOLD_AFTER", 0.2)
    with held(path) as process, Index.open(path, encode, timeout=0.5) as index:
        with caplog.at_level(logging.WARNING), pytest.raises(LockedError) as error:
            index.add("stone", "c")
        who = rf"process {process.pid} on \S+ \(.*, user .*\)"
        (told,) = (line for line in caplog.messages if "waiting" in line)
        assert re.fullmatch(rf"waiting for {who}, which has been writing to .*a\.gsm for \d+ s", told)
        assert re.match(rf"{who} has been writing to .*a\.gsm for \d+ s", str(error.value))
        assert 'mode="r"' in str(error.value)
        assert index.search("moon")[0].id == "a", "reading goes on"
        process.kill()
        process.wait()
        index.add("stone", "c")  # the crash freed it
    for wrong in (-1, float("nan"), "soon"):
        with pytest.raises(ParameterError, match="timeout"):
            Index.open(path, encode, timeout=wrong)  # type: ignore[arg-type]


def test_a_change_waits_for_the_lock(path: Path) -> None:
    with Index.open(path, encode) as index:
        lock = LockFile(path / "writer.lock")
        lock.acquire()
        writer = in_thread(lambda: index.add("stone", "c"))
        time.sleep(0.3)
        assert "c" not in index, "a search does not wait for a change that waits"
        lock.release()
        writer.join(20)
        assert "c" in index


def test_two_that_write_in_a_loop_take_turns(path: Path) -> None:
    with Index.open(path, encode) as one, Index.open(path, encode) as other:
        stop, counts = threading.Event(), [0, 0]

        def loop(index: Index, which: int) -> None:
            while not stop.is_set():
                index.update("a", {"n": counts[which]})
                counts[which] += 1

        threads = [in_thread(lambda: loop(one, 0)), in_thread(lambda: loop(other, 1))]
        time.sleep(1.5)
        stop.set()
        for thread in threads:
            thread.join()
        assert min(counts) > 5
        assert max(counts) < 4 * min(counts)


def test_nobody_waits_for_an_encoder(path: Path) -> None:
    encoding, go_on = threading.Event(), threading.Event()

    def slow(texts: list[str]) -> Any:
        encoding.set()
        assert go_on.wait(20)
        return encode(texts)

    slow.__name__ = "encode"
    go_on.set()
    with Index.open(path, slow) as one, Index.open(path, encode, timeout=5) as other:
        encoding.clear()
        go_on.clear()
        writer = in_thread(lambda: one.add(["star", "stone"], ["c", "d"]))
        assert encoding.wait(20)
        other.add("stone", "d")  # what was planned before is planned again
        other.add("sea", "e")
        go_on.set()
        writer.join(20)
        assert set(one.ids()) == set(other.ids()) == {"a", "b", "c", "d", "e"}
        assert len(one) == 5
        one.check()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals")
def test_interrupted_while_it_waits(path: Path) -> None:
    with Index.open(path, encode) as index, held(path):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            index.add("stone", "c")
        lock = LockFile(path / "writer.lock")
        assert lock._take(lock._queue), "nobody stands in the queue"
        lock.release()
        assert index.search("moon")[0].id == "a"
    with Index.open(path, encode) as index:
        assert np.array_equal(sorted(index.ids()), ["a", "b"])
        index.add("stone", "c")


AN_INTERRUPTED_QUERY = """
import subprocess, sys
sys.path.insert(0, {tests!r})
from bag import encode
from gossamer import Index

path = {path!r}
if len(sys.argv) > 1:
    with Index.open(path, encode) as index:
        index.add("from another process", "other")
    sys.exit()
index = Index.create(path, encode)
index.add(["the moon"] * 20, [f"m{{at}}" for at in range(20)])
kept = index.state.store.database.begin().execute("SELECT * FROM documents")
kept.fetchone()
index.state.store.database.rollback()  # the traceback of a KeyboardInterrupt keeps the query
subprocess.run([sys.executable, __file__, "other"], check=True)
index.add("afterwards", "c")
assert len(index) == 22
index.check()
index.close()
"""


def test_a_query_that_was_interrupted_does_not_keep_others_writes_away(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    tests = str(Path(__file__).parent.parent)
    program.write_text(AN_INTERRUPTED_QUERY.format(tests=tests, path=str(tmp_path / "a.gsm")))
    subprocess.run([sys.executable, str(program)], check=True, timeout=120)


INTERRUPT_AT_A_LOCK = """
import sys, threading
sys.path.insert(0, {tests!r})
from bag import encode
from gossamer import Index

index = Index.create({path!r}, encode)
index.add(["the moon", "the river"], ["a", "b"])
code = threading.Condition.__exit__.__code__
interrupted = []

def trace(frame, event, argument):  # Ctrl-C at the first instruction of what leaves a lock
    if frame.f_code is code and frame.f_back.f_code.co_name == "wake" and not interrupted:
        interrupted.append(True)
        raise KeyboardInterrupt

sys.settrace(trace)
try:
    index.add("the sun", "c")
except KeyboardInterrupt:
    pass
sys.settrace(None)
index.close()
print("closed")
"""


def test_ctrl_c_at_a_lock_of_the_labels_does_not_keep_an_index_from_closing(tmp_path: Path) -> None:
    program = INTERRUPT_AT_A_LOCK.format(tests=str(Path(__file__).parent.parent), path=str(tmp_path / "a.gsm"))
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "closed\n"
