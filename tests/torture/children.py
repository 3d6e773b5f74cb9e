"""Work in a forked child, so that a crash or a hang is an outcome and not the end."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable


def in_child(work: Callable[[], str], seconds: float = 30.0) -> str:
    """What `work` returns in a child of this process; "crash …" or "hang" where it does not return."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            told = work()
        except BaseException as error:
            told = f"untyped {error!r}"
        os.write(writing, told.encode()[:4000])
        os._exit(0)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], seconds)
        if not ready:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hang"
        told = os.read(reading, 4096).decode()
        _, status = os.waitpid(child, 0)
        return told if told else f"crash with status {status}"
    finally:
        os.close(reading)
