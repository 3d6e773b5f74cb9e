"""How far a long call is: told to a function, or shown as a bar to a person at a prompt or in a notebook.

In: what the caller passed as `progress`. Out: the function that the work calls with (done, total), or None.
"""

from __future__ import annotations

import builtins
import math
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


_MEMORY: Final = 30.0
"""Seconds after which what was counted has lost two thirds of its weight for the time left: batches come in bursts."""

_SETTLED: Final = 3.0
"""Seconds before a time left is told: the first documents also wait for the model to be loaded."""


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


class Pace:
    """How fast something is counted, and the time left, by an average in which the past fades. As text, the time left.

    (Rich estimates speed anew each time the total changes, and the total of files is an estimate until all are read.)
    """

    def __init__(self, start: float | None = None) -> None:
        self._start = self._last = time.perf_counter() if start is None else start
        self._seconds = self._amount = 0.0
        self._end: float | None = None
        self.done = 0

    def tell(self, done: int, total: float | None, now: float | None = None) -> None:
        """Note that `done` of `total` are done by `now`, in seconds."""
        now = time.perf_counter() if now is None else now
        passed, fade = now - self._last, math.exp((self._last - now) / _MEMORY)
        self._seconds = self._seconds * fade + passed
        self._amount = self._amount * fade + max(0, done - self.done)
        self._last, self.done = now, done
        if total is None or self._amount <= 0.0:
            self._end = None
            return
        end = now + max(0.0, total - done) * self._seconds / self._amount
        near = math.exp(-passed / min(_SETTLED + now - self._start, _MEMORY))
        self._end = end if self._end is None or done >= total else near * self._end + (1.0 - near) * end

    def left(self, now: float | None = None) -> float | None:
        """Seconds left; None where it is too early to say."""
        now = time.perf_counter() if now is None else now
        return None if self._end is None or now - self._start < _SETTLED else max(0.0, self._end - now)

    def note(self, unit: str) -> str:
        """What is counted so far, and the mean rate; nothing before the first, since some work has nothing to count."""
        rate = self.done / max(time.perf_counter() - self._start, 1e-3)
        if not self.done:
            return ""
        if unit == "bytes":
            return f"{self.done / 1e6:.1f} MB, {rate / 1e6:.1f} MB/s"
        return f"{self.done:,} {unit}, {rate:,.0f}/s"

    def __str__(self) -> str:
        left = self.left()
        if left is None:
            return ""
        minutes, seconds = divmod(math.ceil(left), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02} left" if hours else f"{minutes}:{seconds:02} left"


class Bar:
    """A progress bar with rate and time left. Without a console it does nothing.

    `then` is its title once everything is counted. It appears with the first call, or after `patience` seconds.
    """

    def __init__(
        self, console: Console | None, title: str, unit: str, then: str | None = None, *, patience: float = 0.0
    ) -> None:
        self._title, self._unit, self._then = title, unit, then or title
        self._progress: RichProgress | None = None if console is None else _progress(console)
        self._pace = Pace()
        self._task = (
            None if self._progress is None else self._progress.add_task(title, total=None, note="", left=self._pace)
        )
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
        self._pace.tell(done, total)
        note = self._pace.note(self._unit)
        self._progress.update(self._task, description=title, completed=done, total=total, note=note)
        if not self._patience:
            self._show()

    def _show(self) -> None:
        if self._progress is not None:
            self._progress.start()


def _progress(console: Console) -> RichProgress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        TextColumn("{task.fields[left]}", markup=False),
        console=console,
        transient=True,
        expand=True,
    )
