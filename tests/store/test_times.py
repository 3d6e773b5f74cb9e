"""When operations were made, and changes since a time."""

from __future__ import annotations

import shutil
import sqlite3
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from bag import encode
from explain.corpus import documents
from gossamer import Index
from gossamer.errors import ParameterError
from gossamer.results import operation_or_moment
from gossamer.store.times import note_time, operation_at

DAY = 86_400


def test_the_last_operation_up_to_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlite3.connect(":memory:")
    assert operation_at(db, 1e9) == 0, "an index of an earlier release has no times"
    for seq, second in ((7, 1000.2), (8, 1000.9), (9, 2000.0), (10, 1500.0)):
        monkeypatch.setattr(time, "time", lambda second=second: second)
        note_time(db, seq)
    assert [operation_at(db, second) for second in (999, 1000, 1499, 1500.5, 3000)] == [0, 8, 8, 10, 10]


def test_changes_since_a_time_are_those_since_its_operation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    texts, now = documents(900)[0], time.time()
    with Index.create(tmp_path / "a.gsm", encode) as index:
        for batch, ago in enumerate((30, 20, 3, 2)):
            monkeypatch.setattr(time, "time", lambda ago=ago: now - ago * DAY)
            index.add(texts[200 * batch : 200 * (batch + 1)])
            index.settle()
        monkeypatch.undo()
        operation = index.info().operation
        before = datetime.fromtimestamp(now - 10 * DAY, UTC)
        assert index.changes(before) == index.changes(timedelta(days=10)) == index.changes(before.date())
        assert index.changes(timedelta(days=1)) == index.changes(operation)
        assert index.changes(timedelta(days=10)) != index.changes(operation)
        assert index.changes(timedelta(days=25)) == index.changes(1)
        assert index.changes(operation) == []
        (first,) = index.search(texts[0], k=1)
        index.update([first.id], metadata={"n": 1})  # which changes no vector
        assert index.changes(operation) == index.changes(operation + 1) == []
        with pytest.raises(ParameterError, match="still to come"):
            index.changes(operation + 2)
        assert index.changes(date(1999, 1, 1)) == index.changes(0), "as far back as is known"
        index.check()
    with Index.open(tmp_path / "a.gsm", encode, mode="r") as index:
        assert index.changes(timedelta(days=1)) == index.changes(operation)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_index_of_before_has_times_from_its_next_operation_on(tmp_path: Path, version: int) -> None:
    path = tmp_path / "a.gsm"
    shutil.copytree(Path(__file__).parent.parent / "fixtures" / f"index-v{version}.gsm", path)
    with Index.open(path, encode) as index:
        known = index.changes(timedelta(days=1))
        index.add("and it grows on", "new")
        with index.state.reading() as db:
            assert operation_at(db, time.time() + 1) == index.info().operation
        assert [change.id for change in index.changes(timedelta(days=1))] == [change.id for change in known]
        index.check()


@pytest.mark.parametrize("since", [True, "yesterday", 1.5, None, timedelta(days=-1), timedelta(days=10**8), date.min])
def test_what_is_no_time_is_refused(since: object) -> None:
    if since == date.min:
        assert operation_or_moment(date(1, 1, 3))
        return
    with pytest.raises(ParameterError, match="since"):
        operation_or_moment(since)  # type: ignore[arg-type]
