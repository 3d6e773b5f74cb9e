"""Paths → files: sorted, each once, without hidden and ignored files and unknown formats.

A folder is read with everything below it, except hidden names and what its .gitignore files exclude. Not entered are
folders that are symbolic links, so there are no loops, indexes (folders called *.gsm), __pycache__ and node_modules.
Files that are links are read if they lead to a file inside the given folder: otherwise a folder from a stranger could
put any of your files into an index. A file that is read by its own name is not read again through a link. Without
`glob` only files of known formats are read, with it any file that matches. A file that is given itself is always read,
even if it is a pipe; in a folder only regular files are.
"""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from gossamer.errors import InputError, ParameterError
from gossamer.readers.ignore import MOST_NESTED, Rules, enter, matcher
from gossamer.readers.values import clean

logger = logging.getLogger(__name__)

STDIN = Path("-")
_INDEX = ".gsm"
_MACHINE_MADE = frozenset({"__pycache__", "node_modules"})
"""Folders that programs fill: what Python compiled, and packages of others."""


@dataclass(frozen=True)
class Source:
    """A file to read."""

    path: Path
    name: str
    """Its name in ids."""
    size: int
    named: bool
    """Whether the user gave this file itself, not a folder that contains it."""
    modified: str | None = None
    """When it was changed, as ISO text in UTC; None for standard input."""

    @property
    def suffix(self) -> str:
        """The suffix that tells its format."""
        return suffix_of(self.path)

    @property
    def whole_suffix(self) -> str:
        """The suffix that is told to users."""
        return whole_suffix_of(self.path)

    @property
    def about(self) -> dict[str, str]:
        """Metadata of documents about the file they are from: path and modified."""
        return {"path": self.name} | ({"modified": self.modified} if self.modified else {})

    @property
    def place(self) -> str:
        """Its name in messages and in `Record.source`."""
        return clean(self.path.as_posix())


def suffix_of(path: Path) -> str:
    """The suffix that tells the format, in lower case and without that of the compression: ".jsonl" for a.JSONL.gz."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def whole_suffix_of(path: Path) -> str:
    """The suffix with that of the compression, as it is told to users: ".pdf.gz" for a.pdf.gz."""
    return suffix_of(path) + (path.suffix.lower() if path.suffix.lower() == ".gz" else "")


class Found(NamedTuple):
    """The files to read, how many links lead out of their folder or to another of these files, and how many files
    were left out for another reason, by (suffix, reason)."""

    sources: list[Source]
    links: int
    twins: int
    unread: Counter[tuple[str, str]]


def find(
    paths: Iterable[str | Path],
    why_unread: Callable[[Path], str | None],
    glob: str | Sequence[str] | None,
    *,
    follow_links: bool = False,
) -> Found:
    """All files at and below `paths`: in the order given, sorted within each folder, no file twice.

    `why_unread` says why a file of a folder cannot be read, None if it can; a `glob` chooses in its place.
    Names are relative to the deepest folder that contains all the paths (the folder itself if just one is given), so
    ids do not depend on the current folder. InputError if a path does not exist.
    """
    given = [_existing(path) for path in paths]
    base = _common([path for path in given if path != STDIN])
    keep = why_unread if glob is None else _matcher(glob)
    found: dict[str, Source] = {}
    links: list[Path] = []
    unread: Counter[tuple[str, str]] = Counter()
    for path in given:
        for file in _files(path, keep, unread, report=glob is None):
            if not follow_links and file != path and _leads_out(file, path):
                links.append(file)
            else:
                found.setdefault(os.path.abspath(file), _source(file, base, named=file == path))
    if links:
        what = "skipped %d files that are links out of their folder, such as %s: "
        what += "follow_links=True (--follow-links) reads them"
        logger.warning(what, len(links), clean(links[0].as_posix()))
    sources = _each_once(list(found.values()))
    return Found(sources, len(links), len(found) - len(sources), unread)


def _each_once(sources: list[Source]) -> list[Source]:
    """The sources without links, found in folders, to a file that is another source."""
    links = {source.path for source in sources if not source.named and source.path.is_symlink()}
    if not links:
        return sources
    read = {os.path.realpath(source.path) for source in sources if source.path not in links}
    kept = []
    for source in sources:
        if source.path in links:
            target = os.path.realpath(source.path)
            if target in read:
                continue
            read.add(target)
        kept.append(source)
    return kept


def _existing(path: str | Path) -> Path:
    if not str(path) or not (Path(path) == STDIN or os.path.exists(path)):
        raise InputError(f"there is no file or folder {str(path)!r}: check the path (now in {os.getcwd()})")
    return Path(path)


def _common(paths: list[Path]) -> str:
    folders = [os.path.abspath(path if path.is_dir() else path.parent) for path in paths]
    return os.path.commonpath(folders) if folders else ""


def _matcher(glob: str | Sequence[str]) -> Callable[[Path], str | None]:
    """A function that says why a file is not read: no pattern chooses it. None if one does."""
    patterns = [glob] if isinstance(glob, str) else list(glob)
    if not patterns or not all(isinstance(pattern, str) and pattern for pattern in patterns):
        raise ParameterError(f"glob must be patterns such as '*.md' or 'docs/**/*.txt', got {glob!r}")
    chosen = matcher(patterns)
    return lambda path: None if chosen(path) else "not chosen"


def _source(file: Path, base: str, *, named: bool) -> Source:
    if file == STDIN:
        return Source(file, "stdin", 0, True)
    name = Path(os.path.relpath(file, base)).as_posix()
    try:
        found = file.stat()
    except OSError:  # deleted since it was found: opening it will fail
        return Source(file, clean(name), 0, named)
    return Source(file, clean(name), found.st_size, named, _iso(found.st_mtime))


def _iso(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):  # a file system may claim any time
        return None


def _files(
    path: Path, why_unread: Callable[[Path], str | None], unread: Counter[tuple[str, str]], *, report: bool
) -> Iterator[Path]:
    """`path` itself if it is a file, else the files below it that are not `why_unread`, by their relative path.

    The others are counted in `unread` if they are to be reported: a glob leaves out files on purpose.
    """
    if path == STDIN or not path.is_dir():
        yield path
        return
    excluded: list[Path] = []
    for file in list(_walk(path, excluded)):
        reason = why_unread(file.relative_to(path))
        if reason is None:
            yield file
        elif report:
            unread[whole_suffix_of(file), reason] += 1
    for file in excluded:
        unread[whole_suffix_of(file), "excluded by .gitignore"] += 1


def _leads_out(file: Path, top: Path) -> bool:
    """Whether a file below `top` is a link to a file elsewhere."""
    return file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(top))


def _walk(top: Path, excluded: list[Path]) -> Iterator[Path]:
    """All files below `top` that are neither hidden nor ignored, in order. No recursion: folders can be deep.

    Files that a .gitignore excludes are appended to `excluded`, those in excluded folders are not.
    """
    stack: list[tuple[Path, bool, Rules | None]] = [(top, True, None)]
    while stack:
        path, is_folder, rules = stack.pop()
        if not is_folder:
            yield path
            continue
        rules = enter(path, rules)
        if rules is not None and rules.nested > MOST_NESTED:
            logger.warning("skipped %s: more than %d nested folders have a .gitignore", path, MOST_NESTED)
            continue
        for child, child_is_folder in reversed(_children(path)):
            if rules is None or not rules.excludes(child, child_is_folder):
                stack.append((child, child_is_folder, rules))
            elif not child_is_folder:
                excluded.append(child)


def _children(folder: Path) -> list[tuple[Path, bool]]:
    """The visible files and folders in `folder`, sorted by name, without links to folders and broken links."""
    try:
        with os.scandir(folder) as entries:
            visible = sorted((entry for entry in entries if entry.name[0] != "."), key=lambda entry: entry.name)
    except OSError as error:
        logger.warning("skipped %s: %s", folder, error)
        return []
    kinds = [(folder / entry.name, entry.is_dir(follow_symlinks=False), _is_file(entry)) for entry in visible]
    return [(path, is_folder) for path, is_folder, is_file in kinds if is_file or (is_folder and _is_entered(path))]


def _is_entered(folder: Path) -> bool:
    return folder.suffix != _INDEX and folder.name not in _MACHINE_MADE


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link to itself
        return False
