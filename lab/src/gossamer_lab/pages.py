"""The pages in docs/results: the command that makes each, and which engine made it.

A page's JSON carries the fingerprint of the engine that made it. Once the engine answers otherwise, the page is
made again (`gossamer eval all`), or it says so with `EARLIER` (`gossamer eval check --mark`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer_lab import fingerprint

EARLIER: Final = "**Made by an earlier engine.**"
"""Begins the sentence of a page whose figures the current engine may not repeat."""

_SENTENCE: Final = (
    f"{EARLIER} What decides its results may have changed since; the next run of its command brings new figures."
)
_START, _END = "<!-- engine -->\n", "<!-- end -->"


@dataclass(frozen=True)
class Page:
    """A page of results."""

    name: str
    command: tuple[str, ...]
    families: tuple[str, ...]
    """What decides its results, see `fingerprint.FAMILIES`."""


PAGES: Final = tuple(
    Page(name, tuple(command.split()), tuple(families.split()))
    for name, command, families in (
        ("paper", "eval paper", "retrieval trees words"),
        ("defaults", "eval defaults", "retrieval words"),
        ("fusion", "eval fusion", "retrieval words trees"),
        ("robustness", "eval robustness", "retrieval words"),
        ("tree", "eval tree", "trees"),
        ("labels", "eval labels", "trees labels"),
        ("stream", "bench stream", "trees"),
        ("stream-waits", "bench stream --waits", "trees retrieval"),
        ("scale", "bench scale", "retrieval"),
        ("text", "bench text", "retrieval words"),
        ("words", "bench words", "words"),
    )
)


def families_of(name: str) -> tuple[str, ...]:
    """What decides the results of a page, or of a report that is none."""
    return next((page.families for page in PAGES if page.name == name), ())


def is_current(page: Page, folder: Path) -> bool:
    """Whether the current engine made a page."""
    made = json.loads((folder / f"{page.name}.json").read_text())
    return bool(made.get("engine") == fingerprint.current(page.families))


def says_so(page: Page, folder: Path) -> bool:
    """Whether a page says that an earlier engine made it."""
    return EARLIER in (folder / f"{page.name}.md").read_text()


def marked(text: str, *, earlier: bool) -> str:
    """A page with the sentence that an earlier engine made it, or without."""
    if _START in text:
        before, after = text.split(_START, 1)
        text = before + after.split(f"{_END}\n\n", 1)[1]
    if not earlier:
        return text
    title, _, rest = text.partition("\n\n")
    return f"{title}\n\n{_START}{_SENTENCE}\n{_END}\n\n{rest}"


def mark(folder: Path, names: Sequence[str] = ()) -> list[str]:
    """Let pages say whether an earlier engine made them; returns the names of those. All pages, if none is named."""
    earlier = []
    for page in PAGES:
        if names and page.name not in names:
            continue
        file = folder / f"{page.name}.md"
        old = not is_current(page, folder)
        earlier += [page.name] if old else []
        file.write_text(marked(file.read_text(), earlier=old))
    return earlier


def make_all(
    folder: Path, options: Sequence[str], *, only: Sequence[str] = (), say: Callable[[str], None] = lambda what: None
) -> dict[str, int]:
    """Run the command of each page in a process of its own; returns exit codes by page. A failure stops no other."""
    codes = {}
    for page in PAGES:
        if only and page.name not in only:
            continue
        command = [sys.executable, "-m", "gossamer", *page.command, "--out", str(folder), *options]
        say(f"{page.name}: gossamer {' '.join(command[3:])}")
        codes[page.name] = subprocess.run(command, check=False).returncode
    return codes
