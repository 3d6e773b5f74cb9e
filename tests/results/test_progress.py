"""Progress is told to functions, and shown to people who wait at a prompt."""

from __future__ import annotations

import io
import math
import os
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise

import pytest
from rich.console import Console

from gossamer import Index, VectorIndex
from gossamer.errors import ParameterError
from gossamer.results.progress import Bar, Pace, watched


def test_a_function_is_called_as_it_is() -> None:
    told: list[tuple[int, int]] = []
    with watched(lambda done, total: told.append((done, total)), "encoding", "texts") as progress:
        assert progress is not None
        progress(1, 2)
    assert told == [(1, 2)]


def test_a_script_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for option in (None, False):
        with watched(option, "encoding", "texts") as progress:
            assert progress is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("wrong", [1, "yes", 0.5])
def test_anything_else_is_refused_and_changes_nothing(wrong: object) -> None:
    index = VectorIndex(2)
    with pytest.raises(ParameterError, match="function of"):
        index.add([[1, 2]], progress=wrong)  # type: ignore[arg-type]
    assert len(index) == 0
    with Index(encoder=lambda texts: [[1.0, 2.0] for _ in texts]) as texts:
        with pytest.raises(ParameterError, match="function of"):
            texts.add("a", progress=wrong)  # type: ignore[arg-type]
        assert len(texts) == 0


@pytest.mark.parametrize("patience", [0.0, 0.3, 60.0])
def test_when_a_bar_appears(patience: float) -> None:
    out = io.StringIO()
    with Bar(Console(file=out, force_terminal=True, width=80), "encoding", "texts", patience=patience) as bar:
        bar(2, 10)
        assert ("encoding" in out.getvalue()) == (patience == 0.0)
        time.sleep(0.6)
        assert ("encoding" in out.getvalue()) == (patience < 1.0)


def test_the_time_left_is_steady_where_documents_come_in_bursts() -> None:
    """500 documents within one of three seconds, of a total that is an estimate, 10 % off at first."""
    pace, total = Pace(start=0.0), 100_000
    told: list[tuple[float, float]] = []
    for tick in range(1, 6000):
        now = tick / 10
        done = int(500 * (now // 3 + min(1.0, now % 3)))
        pace.tell(done, total * (1 + 0.1 * math.exp(-now / 60) * math.sin(now)), now)
        if tick % 10 == 0 and (left := pace.left(now)) is not None:
            told.append((left, 600 - now))
    assert len(told) > 590
    assert all(abs(left - true) < 0.6 * true + 2 for left, true in told)
    assert all(abs(left - true) < 0.05 * true + 2 for left, true in told[90:])
    steps = [after - before for (before, _), (after, _) in pairwise(told[30:])]
    assert max(steps) < 5, "it never leaps up"


def test_the_time_left_follows_a_change_of_speed() -> None:
    pace = Pace(start=0.0)
    for second in range(1, 301):
        pace.tell(100 * second if second < 150 else 15_000 + 50 * (second - 150), 100_000, float(second))
    left = pace.left(300.0)
    assert left is not None
    assert left == pytest.approx((100_000 - 22_500) / 50, rel=0.05)
    assert pace.left(310.0) == pytest.approx(left - 10), "it counts down while nothing is told"


def test_no_time_left_is_told_at_first_or_without_a_total() -> None:
    pace = Pace(start=0.0)
    pace.tell(5, 10, 1.0)
    assert (pace.left(1.0), pace.left(4.0)) == (None, 0.0)
    pace.tell(6, None, 5.0)
    assert (pace.left(9.0), str(pace)) == (None, "")


PROGRAM = """
import sys, time
from gossamer import Index
def encode(texts):
    time.sleep(2.5)
    return [[len(text), 1.0] for text in texts]
if PROMPT:
    sys.ps1 = ">>> "
ix = Index(encoder=encode)
ix.add(["one", "two"], progress=PROGRESS)
print("added", len(ix))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(
    ("prompt", "progress", "seen"),
    [(True, None, True), (True, False, False), (False, None, False), (False, True, True)],
)
def test_in_a_terminal(prompt: bool, progress: bool | None, seen: bool) -> None:
    """At a prompt a slow `add` shows by itself how far it is, in a script when it is asked to."""
    import pty

    main, terminal = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("PROMPT", str(prompt)).replace("PROGRESS", str(progress))],
        stdout=subprocess.PIPE, stderr=terminal, text=True, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the program has ended
        while part := os.read(main, 4096):
            shown += part
    os.close(main)
    assert program.communicate()[0] == "added 2\n"
    assert (b"encoding" in shown or b"building the tree" in shown) == seen
