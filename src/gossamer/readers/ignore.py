r"""Patterns as in .gitignore, and which files a tree of such files excludes.

    docs        anything of that name, at any depth         /docs, a/docs   with a slash: from the folder of the file
    docs/       folders only                                !docs           takes back what a line above excluded
    *  ?  [a-z] within one name                             **/a  a/**/b  a/**   any folders, or everything inside

Git decides one name at a time on its way down and never enters an excluded folder, so a pattern has to match exactly
this file or folder; a test compares with git. The files may come from a stranger, so no pattern may take exponential
time. What stands between two stars has a fixed length, so its first match is as good as any later one: it goes into an
atomic group, as in Python's fnmatch.

pathspec 1.1.1 (GitIgnoreSpec) was tried instead. It takes as long for 20,000 files, but more than 20 s for one file and
``*a*a*a*a*a*b``, excludes the folder ``sub`` of "\*, !sub" and of "sub/\*\*" (git does not), has no [[:alpha:]], and
raises on lines that git skips.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

_LONGEST = 1 << 20
"""Characters read of a .gitignore; the rest is ignored."""

_LONGEST_LINE = 4096
"""The most characters of a pattern, as many as Linux allows in a path; a longer one matches nothing."""

MOST_NESTED = 100
"""The most folders around a file that have a .gitignore: a file is compared with the patterns of all of them."""

_STAR = "[^/]*?"
_FOLDERS = "(?:[^/]*/)*?"
_TOKEN = re.compile(r"(\*+)|(\?)|\[([!^]?)(\]?(?:\\.|\[:[a-z]+:\]|[^\]\\])*)\]|\\(.)|([^\\[])", re.DOTALL)
"""Stars, a question mark, a set of characters, an escaped character, a plain one."""
_IN_SET = re.compile(r"\[:([a-z]+):\]|\\(.)|([\[\]^&|~])", re.DOTALL)
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "xdigit": "0-9a-fA-F",
    "space": r"\s", "blank": r" \t",
}  # fmt: skip


@dataclass(frozen=True)
class Pattern:
    """One line of a .gitignore."""

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool
    whole_path: bool
    """Whether the whole path is matched, or just the last name."""

    def matches(self, path: str, is_folder: bool) -> bool:
        """Whether the pattern matches `path`, relative to the folder of the .gitignore."""
        if self.folders_only and not is_folder:
            return False
        return self.regex.fullmatch(path if self.whole_path else path.rpartition("/")[2]) is not None


@dataclass(frozen=True)
class Rules:
    """The .gitignore of a folder and those of the folders around it; the innermost with a matching pattern decides."""

    start: int
    """Where the part of a path relative to the folder begins."""
    patterns: list[Pattern]
    outer: Rules | None
    nested: int
    """How many .gitignore files there are, this one and those around it."""

    def excludes(self, path: Path, is_folder: bool) -> bool:
        """Whether `path`, somewhere below the folder, is ignored."""
        text = path.as_posix()
        rules: Rules | None = self
        while rules is not None:
            relative = text[rules.start :]
            for pattern in reversed(rules.patterns):
                if pattern.matches(relative, is_folder):
                    return not pattern.negated
            rules = rules.outer
        return False


def enter(folder: Path, outer: Rules | None) -> Rules | None:
    """The rules for what is inside `folder`, given those for the folder itself."""
    file = folder / ".gitignore"
    try:
        if not file.is_file():  # reading a pipe would never end
            return outer
        with file.open(encoding="utf-8-sig", errors="replace") as lines:
            text = lines.read(_LONGEST)
    except OSError as error:
        logger.warning("%s is not honoured: %s", file, error)
        return outer
    start = len((folder / "a").as_posix()) - 1
    return Rules(start, parse(text.split("\n")), outer, 1 + (outer.nested if outer else 0))


def matcher(lines: Iterable[str]) -> Callable[[Path], bool]:
    """A function of a relative path: whether the last line that matches it, or a folder above it, is not negated."""
    patterns = parse(lines)[::-1]

    def wanted(path: Path) -> bool:
        folders = ["" if folder == Path() else folder.as_posix() for folder in path.parents]
        for each in patterns:
            if each.matches(path.as_posix(), False) or any(each.matches(folder, True) for folder in folders):
                return not each.negated
        return False

    return wanted


def parse(lines: Iterable[str]) -> list[Pattern]:
    """The patterns in `lines`, without comments, blank lines and lines that are invalid to git."""
    return [pattern for line in lines if (pattern := _pattern(line)) is not None]


def _pattern(line: str) -> Pattern | None:
    line = line.removesuffix("\r")
    short = line.rstrip(" ")
    line = short + " " if short.endswith("\\") and short != line else short  # a trailing space may be escaped
    if not line or line.startswith("#") or len(line) > _LONGEST_LINE:
        return None
    negated = line.startswith("!")
    body = line.removeprefix("!").removesuffix("/")
    if not body:
        return None
    try:
        regex = re.compile(_path_regex(body.removeprefix("/")), re.DOTALL)
    except (ValueError, re.error):  # git would match nothing: an open bracket, a \ at the end, the range z-a
        return None
    return Pattern(regex, negated, line.endswith("/"), "/" in body)


def _path_regex(glob: str) -> str:
    """Names with "**" between them as a regular expression."""
    parts, start = [""], 0
    for token in _TOKEN.finditer(glob):
        if (token[5] or token[6]) == "/":  # not one inside a set
            name, start = glob[start : token.start()], token.end()
            if name == "**":
                parts.append("")
            else:
                parts[-1] += _name_regex(name) + "/"
    last = glob[start:]
    parts[-1] += ".+" if last == "**" and start else _name_regex(last)
    return _wild(parts, _FOLDERS)


def _name_regex(glob: str) -> str:
    """One name of a pattern as a regular expression."""
    parts, end = [""], 0
    for token in _TOKEN.finditer(glob):
        if token.start() != end:
            break
        end = token.end()
        stars, any_one, negation, members, escaped, plain = token.groups()
        if stars:
            parts.append("")
        elif any_one:
            parts[-1] += "[^/]"
        elif members is not None:
            parts[-1] += f"(?!/)[{'^' if negation else ''}{_IN_SET.sub(_set_member, members)}]"
        else:
            parts[-1] += re.escape(escaped or plain)
    if end != len(glob):
        raise ValueError(f"not a pattern: {glob}")
    return _wild(parts, _STAR)


def _set_member(part: re.Match[str]) -> str:
    return _CLASSES.get(part[1], "") if part[1] else re.escape(part[2] or part[3])


def _wild(parts: list[str], wild: str) -> str:
    """`parts` with any match of `wild` between them; all but the last are matched where they are found first."""
    first, *between = parts
    if not between:
        return first
    *between, last = between
    return first + "".join(f"(?>{wild}{each})" for each in between) + wild + last
