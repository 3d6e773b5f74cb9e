"""How far a long call is: told to a function, or shown as a bar to a person at a prompt or in a notebook.

In: what the caller passed as `progress`. Out: the function that the work calls with (done, total), or None.
"""

from __future__ import annotations

import builtins
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Final, TypeAlias

from gossamer.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total)."""

ProgressOption: TypeAlias = Progress | bool | None
"""What a caller may pass: a function; True for a bar, False for none; None for a bar where a person waits for it."""

PATIENCE: Final = 2.0
"""Seconds before a bar appears that nobody asked for."""


@contextmanager
def watched(option: ProgressOption, title: str, unit: str, *, then: str | None = None) -> Iterator[Progress | None]:
    """The function that a block is to call; a bar disappears at the end of the block."""
    if callable(option) or option is False:
        yield option or None
        return
    if not isinstance(option, bool | None):
        raise ParameterError(f"progress must be a function of (done, total), True or False, got {option!r}")
    if option is None and not _somebody_waits():
        yield None
        return
    from rich.console import Console

    with Bar(Console(stderr=True), title, unit, then, patience=0.0 if option else PATIENCE) as bar:
        yield bar


def _somebody_waits() -> bool:
    """Whether Python runs at a prompt or in a notebook."""
    return hasattr(sys, "ps1") or hasattr(builtins, "__IPYTHON__")


class Bar:
    """A progress bar with rate and time left. Without a console it does nothing.

    `then` is its title once everything is counted. It appears with the first call, or after `patience` seconds.
    """

    def __init__(
        self, console: Console | None, title: str, unit: str, then: str | None = None, *, patience: float = 0.0
    ) -> None:
        self._title, self._unit, self._then = title, unit, then or title
        self._progress: RichProgress | None = None if console is None else _progress(console)
        self._task = None if self._progress is None else self._progress.add_task(title, total=None, note="")
        self._start = time.perf_counter()
        self._waiting = Timer(patience, self._show)
        self._waiting.daemon = True
        if patience and self._progress is not None:
            self._waiting.start()
        self._patience = patience

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.cancel()
        if self._waiting.is_alive():
            self._waiting.join()
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, done: int, total: float | None) -> None:
        """Show `done` of `total`; None is an unknown total."""
        if self._progress is None or self._task is None:
            return
        title = self._then if total and done >= total else self._title
        note = _note(done, done / max(time.perf_counter() - self._start, 1e-3), self._unit)
        self._progress.update(self._task, description=title, completed=done, total=total, note=note)
        if not self._patience:
            self._show()

    def _show(self) -> None:
        if self._progress is not None:
            self._progress.start()


def _note(count: int, rate: float, unit: str) -> str:
    """What is counted so far; nothing before the first, since some work has nothing to count."""
    if not count:
        return ""
    if unit == "bytes":
        return f"{count / 1e6:.1f} MB, {rate / 1e6:.1f} MB/s"
    return f"{count:,} {unit}, {rate:,.0f}/s"


def _progress(console: Console) -> RichProgress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        expand=True,
    )
