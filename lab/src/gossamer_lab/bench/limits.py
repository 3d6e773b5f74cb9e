"""A limit on the memory of a process, page cache included, by a control group."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/sys/fs/cgroup")
_NAMES: Final = {_ROOT / "memory": "memory.limit_in_bytes", _ROOT: "memory.max"}
"""Where groups are made, in version 1 and 2 of control groups, and the file that sets the limit."""


@contextmanager
def memory_limit(size: int) -> Iterator[Callable[[], None] | None]:
    """Yield what a process has to call to be limited to `size` bytes; None where this system lets nobody set limits."""
    for root, limit in _NAMES.items():
        group = root / f"gossamer-{os.getpid()}"
        with suppress(OSError):
            group.mkdir()
            try:
                (group / limit).write_text(str(size))
                yield lambda group=group: _enter(group)  # type: ignore[misc]
            finally:
                group.rmdir()
            return
    yield None


def _enter(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))
