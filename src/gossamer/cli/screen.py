"""The output of a command: answers on standard output, notices and progress on standard error.

With ``--json`` standard output holds one JSON value and nothing else.
"""

from __future__ import annotations

import errno
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from gossamer.results.progress import Bar, Pace

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


Report: TypeAlias = Callable[[int, float | None], None]
"""Called with how many are done, and of how many; None where that is not known."""

EVERY: Final = 10.0
"""Seconds between two lines about progress where there is no terminal."""


class Screen:
    """Standard output and standard error of one command."""

    def __init__(self, *, json: bool = False, quiet: bool = False) -> None:
        self.json = json
        self.quiet = quiet

    @cached_property
    def out(self) -> Console:
        """Standard output, as wide as the terminal or COLUMNS."""
        return _console(stderr=False)

    @cached_property
    def err(self) -> Console:
        """Standard error."""
        return _console(stderr=True)

    @property
    def lively(self) -> bool:
        """Whether progress is shown: standard error is a terminal, and neither --json nor --quiet was given."""
        return self.err.is_terminal and not (self.json or self.quiet)

    def show(self, *parts: RenderableType) -> None:
        """Print a part of the answer."""
        for part in parts:
            self.out.print(part)

    def emit(self, value: Any, *, indent: int | None = 2) -> None:
        """Print the answer as JSON."""
        ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
        sys.stdout.write(json.dumps(_finite(value), ensure_ascii=ascii_only, allow_nan=False, indent=indent) + "\n")
        sys.stdout.flush()

    def say(self, message: str) -> None:
        """Print a notice on standard error."""
        if not self.quiet:
            self.err.print(message, soft_wrap=True)

    @contextmanager
    def working(self, on: str) -> Iterator[None]:
        """Show a spinner during work of unknown length."""
        if not self.lively:
            yield
            return
        with self.err.status(f"{on} …"):
            yield

    @contextmanager
    def bar(self, title: str, unit: str, *, then: str | None = None) -> Iterator[Report]:
        """A progress bar that disappears at the end; `then` is its title once everything is counted.

        Where standard error is no terminal, a line is printed there now and then.
        """
        if self.lively or self.json or self.quiet:
            with Bar(self.err if self.lively else None, title, unit, then) as bar:
                yield bar
        else:
            with self._lines(title, unit, then or title) as report:
                yield report

    @contextmanager
    def _lines(self, title: str, unit: str, then: str) -> Iterator[Report]:
        """Lines such as "indexing: 1,500 documents, 48/s, 2:10 left", also while nothing is counted for long."""
        pace, ended = Pace(), Event()
        doing = title

        def report(done: int, total: float | None) -> None:
            nonlocal doing
            doing = then if total and done >= total else title
            pace.tell(done, total)

        def tell() -> None:
            while not ended.wait(EVERY):
                parts = [part for part in (pace.note(unit), str(pace)) if part]
                with suppress(OSError, ValueError):  # nobody reads it any more
                    print(f"{doing}{': ' if parts else ' …'}{', '.join(parts)}", file=stderr, flush=True)

        stderr = sys.stderr
        teller = Thread(target=tell, name="gossamer-progress", daemon=True)
        teller.start()
        try:
            yield report
        finally:
            ended.set()
            teller.join()


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, stderr=stderr)
    console.on_broken_pipe = _broken_pipe  # type: ignore[method-assign]
    return console


def _broken_pipe() -> None:
    """Raise, where Rich would end the process: `command` handles it."""
    raise BrokenPipeError(errno.EPIPE, "the reader has closed the pipe")


def _finite(value: Any) -> Any:
    """The value with None for NaN and infinity, which JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
