r"""Patterns as in .gitignore, and which files a tree of such files excludes.

Git looks at one name at a time on its way down: a folder that is excluded is never entered, so the question is
always whether a pattern matches this very file or folder. That is little to do exactly as git does (a test asks
git itself), and no library answers it for folders.

    docs        anything of that name, at any depth         /docs, a/docs   with a slash: from the folder of the file
    docs/       folders only                                !docs           takes back what a line above excluded
    *  ?  [a-z] within one name                             **/a  a/**/b  a/**   any folders, or everything inside

These files may come from a stranger, so no pattern may take exponential time. What stands between two stars has a
fixed length, so its first match is as good as any later one: it goes into an atomic group, as in Python's fnmatch.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

_LONGEST = 1 << 20
"""Characters of a .gitignore; what comes after is not honoured."""
_LONGEST_LINE = 4096
"""Characters of a pattern, as many as Linux allows in a path; a longer one matches nothing."""
MOST_NESTED = 100
"""Folders around a file that have a .gitignore: each is asked about every file below it."""
_STAR = "[^/]*?"
_FOLDERS = "(?:[^/]*/)*?"
_BRACKETS = re.compile(r"\[([!^]?)(\]?(?:\\.|\[:[a-z]+:\]|[^\]\\])*)\]", re.DOTALL)
_CLASS = re.compile(r"\[:([a-z]+):\]|\\(.)|([\[\]^&|~])", re.DOTALL)
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "xdigit": "0-9a-fA-F",
    "space": r"\s",
    "blank": r" \t",
}


@dataclass(frozen=True)
class Pattern:
    """One line of a .gitignore."""

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool
    whole_path: bool
    """Whether the path is matched, or just the name at its end."""

    def matches(self, path: str, is_folder: bool) -> bool:
        """Whether it speaks of `path`, given relative to the folder of the .gitignore."""
        if self.folders_only and not is_folder:
            return False
        return self.regex.fullmatch(path if self.whole_path else path.rpartition("/")[2]) is not None


@dataclass(frozen=True)
class Rules:
    """The .gitignore of a folder, and those of the folders around it: the innermost that says something decides."""

    start: int
    """Where the name of something in the folder begins in its path."""
    patterns: list[Pattern]
    outer: Rules | None
    nested: int
    """How many files of rules there are, this one and those around it."""

    def excludes(self, path: Path, is_folder: bool) -> bool:
        """Whether `path`, somewhere below the folder, is ignored."""
        text, rules = path.as_posix(), self
        while True:
            relative = text[rules.start :]
            for pattern in reversed(rules.patterns):
                if pattern.matches(relative, is_folder):
                    return not pattern.negated
            if rules.outer is None:
                return False
            rules = rules.outer


def enter(folder: Path, outer: Rules | None) -> Rules | None:
    """The rules that hold inside `folder`."""
    file = folder / ".gitignore"
    try:
        if not file.is_file():  # a pipe would never end
            return outer
        with file.open(encoding="utf-8-sig", errors="replace") as lines:
            text = lines.read(_LONGEST)
    except OSError as error:
        logger.warning("%s is not honoured: %s", file, error)
        return outer
    start = len((folder / "a").as_posix()) - 1
    return Rules(start, parse(text.split("\n")), outer, 1 + (outer.nested if outer else 0))


def matcher(lines: Iterable[str]) -> Callable[[Path], bool]:
    """Whether a file, or a folder it lies in, is what the last line that speaks of it asks for."""
    patterns = parse(lines)[::-1]

    def wanted(path: Path) -> bool:
        parts = [(path.as_posix(), False), *((_posix(parent), True) for parent in path.parents)]
        speaking = (each for each in patterns if any(each.matches(*part) for part in parts))
        return not next(speaking, _NONE).negated

    return wanted


def _posix(path: Path) -> str:
    """A relative path as text; the folder that it is relative to has no name."""
    return "" if path == Path() else path.as_posix()


def parse(lines: Iterable[str]) -> list[Pattern]:
    """The patterns in `lines`; comments, blank lines, and what git takes for no pattern are passed over."""
    return [pattern for line in lines if (pattern := _pattern(line)) is not None]


def _pattern(line: str) -> Pattern | None:
    line = _without_end(line.removesuffix("\r"))
    if not line or line.startswith("#") or len(line) > _LONGEST_LINE:
        return None
    negated = line.startswith("!")
    line = line[1:] if negated else line
    folders_only = line.endswith("/")
    body = line.removesuffix("/")
    regex = _regex(body.removeprefix("/"))
    return None if regex is None or not body else Pattern(regex, negated, folders_only, "/" in body)


def _without_end(line: str) -> str:
    """Spaces at the end do not count, but for one behind a backslash."""
    short = line.rstrip(" ")
    return short + " " if short.endswith("\\") and short != line else short


def _regex(glob: str) -> re.Pattern[str] | None:
    """`glob` as a regular expression; None where git would match nothing: an open bracket, a \\ at the end."""
    steps, at = [], 0
    while at < len(glob):
        step = _step(glob, at)
        if step is None:
            return None
        steps.append(step[0])
        at += step[1]
    try:
        return re.compile(_joined(steps, _FOLDERS, _names), re.DOTALL)
    except re.error:  # such as the range z-a
        return None


def _names(steps: list[str]) -> str:
    """Steps without any number of folders, name by name."""
    return "/".join(_joined(name, _STAR, "".join) for name in _split(steps, "/"))


def _joined(steps: list[str], wild: str, join: Callable[[list[str]], str]) -> str:
    """What stands between two wild steps is matched where it is found first, for good; what comes last, anywhere."""
    first, *between = _split(steps, wild)
    if not between:
        return join(first)
    *between, last = between
    return join(first) + "".join(f"(?>{wild}{join(each)})" for each in between) + wild + join(last)


def _split(steps: list[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for step in steps:
        if step == at:
            parts.append([])
        else:
            parts[-1].append(step)
    return parts


def _step(glob: str, at: int) -> tuple[str, int] | None:
    """The regular expression for what stands at `at`, and how many characters that is."""
    opens = at == 0 or glob[at - 1] == "/"
    if opens and glob.startswith("**/", at):
        return _FOLDERS, 3
    if opens and at > 0 and glob[at:] == "**":
        return ".+", 2
    match glob[at]:
        case "*":
            return _STAR, len(glob[at:]) - len(glob[at:].lstrip("*"))
        case "?":
            return "[^/]", 1
        case "[":
            brackets = _BRACKETS.match(glob, at)
            return (_set(brackets), len(brackets[0])) if brackets else None
        case "\\":
            return (re.escape(glob[at + 1]), 2) if at + 1 < len(glob) else None
    return re.escape(glob[at]), 1


def _set(brackets: re.Match[str]) -> str:
    """A set of characters, which never holds a slash."""

    def translate(part: re.Match[str]) -> str:
        return _CLASSES.get(part[1], "") if part[1] else re.escape(part[2] or part[3])

    return f"(?!/)[{'^' if brackets[1] else ''}{_CLASS.sub(translate, brackets[2])}]"


_NONE = Pattern(re.compile(""), negated=True, folders_only=False, whole_path=False)
"""Speaks where no other pattern does: the file is not wanted."""
