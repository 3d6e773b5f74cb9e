"""Progress is told to functions, and shown to people who wait at a prompt."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from rich.console import Console

from gossamer import Index, VectorIndex
from gossamer.errors import ParameterError
from gossamer.results.progress import Bar, watched


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
