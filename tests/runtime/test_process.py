"""What was opened before a fork belongs to the parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.errors import ForkedError
from gossamer.runtime.process import OpenedIn


def test_the_process_that_opened_it() -> None:
    opened = OpenedIn()
    opened.check()
    assert opened.is_current()


def test_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = OpenedIn()
    monkeypatch.setattr(os, "getpid", lambda: opened.id + 1)
    assert not opened.is_current()
    with pytest.raises(ForkedError, match=f"opened in process {opened.id} and is used in its child {opened.id + 1}"):
        opened.check()


FORK_WHILE_COMPILING = """
import os, sys, threading, time
from gossamer.runtime.signatures import all_signatures, find

kernels = [(find(name), signature) for name, signature in list(all_signatures())[:3]]
thread = threading.Thread(target=lambda: [kernel.compile(signature) for kernel, signature in kernels])
thread.start()
forks = 0
while thread.is_alive():
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    forks += 1
    time.sleep(.01)
assert forks > 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_that_was_forked_while_a_kernel_is_compiled_ends_as_usual(tmp_path: Path) -> None:
    """LLVM aborted at the end of such a child."""
    subprocess.run(
        [sys.executable, "-c", FORK_WHILE_COMPILING], check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "GOSSAMER_COMPILE_WORKERS": "0"},
    )  # fmt: skip


INTERRUPT_WHILE_FORKING = """
import os, signal, threading, time
from gossamer.runtime import process
from gossamer.runtime.process import no_fork

started, done = threading.Event(), threading.Event()

def work():
    with no_fork():
        started.set()
        done.wait()

thread = threading.Thread(target=work)
thread.start()
started.wait()
threading.Timer(.2, lambda: signal.raise_signal(signal.SIGINT)).start()
threading.Timer(.5, done.set).start()
try:
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        again = os.fork()  # nothing keeps the child from forking
        if again == 0:
            os._exit(0)
        os._exit(os.waitpid(again, 0)[1] or process._at_work)
    waited = time.monotonic() - start
    assert os.waitpid(child, 0)[1] == 0
    time.sleep(5)
except KeyboardInterrupt:
    print(waited > .4, process._forks_waiting)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_ctrl_c_while_a_fork_waits_is_told_after_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT_WHILE_FORKING], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "True 0\n", done.stderr
