"""Paths → files: sorted, each once, without hidden and ignored files and unknown formats.

A folder is read with everything below it, except hidden names and what its .gitignore files exclude. Folders
that are symbolic links are not entered, so there are no loops. Files that are links are read if they lead to a file
inside the given folder: otherwise a folder from a stranger could put any of your files into an index. Without
`glob` only files of known formats are read, with it any file that matches. A file that is given itself is always read,
even if it is a pipe; in a folder only regular files are.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import InputError, ParameterError
from gossamer.readers.ignore import MOST_NESTED, Rules, enter, matcher
from gossamer.readers.values import clean

logger = logging.getLogger(__name__)

STDIN = Path("-")


@dataclass(frozen=True)
class Source:
    """A file to read."""

    path: Path
    name: str
    """Its name in ids."""
    size: int
    named: bool
    """Whether the user gave this file itself, not a folder that contains it."""

    @property
    def place(self) -> str:
        """Its name in messages and in `Record.source`."""
        return clean(self.path.as_posix())


def find(
    paths: Iterable[str | Path],
    known: Callable[[Path], bool],
    glob: str | Sequence[str] | None,
    *,
    follow_links: bool = False,
) -> tuple[list[Source], int]:
    """All files at and below `paths`: in the order given, sorted within each folder, no file twice.

    Returns them and the number of files left out because they are links out of their folder.

    Names are relative to the deepest folder that contains all the paths (the folder itself if just one is given), so
    ids do not depend on the current folder. InputError if a path does not exist.
    """
    given = [_existing(path) for path in paths]
    base = _common([path for path in given if path != STDIN])
    keep = known if glob is None else _matcher(glob)
    found: dict[str, Source] = {}
    links: list[Path] = []
    for path in given:
        for file in _files(path, keep):
            if not follow_links and file != path and _leads_out(file, path):
                links.append(file)
            else:
                found.setdefault(os.path.abspath(file), _source(file, base, named=file == path))
    if links:
        what = "skipped %d files that are links out of their folder, such as %s: "
        what += "follow_links=True (--follow-links) reads them"
        logger.warning(what, len(links), clean(links[0].as_posix()))
    return list(found.values()), len(links)


def _existing(path: str | Path) -> Path:
    if not str(path) or not (Path(path) == STDIN or os.path.exists(path)):
        raise InputError(f"there is no file or folder {str(path)!r}: check the path (now in {os.getcwd()})")
    return Path(path)


def _common(paths: list[Path]) -> str:
    folders = [os.path.abspath(path if path.is_dir() else path.parent) for path in paths]
    return os.path.commonpath(folders) if folders else ""


def _matcher(glob: str | Sequence[str]) -> Callable[[Path], bool]:
    patterns = [glob] if isinstance(glob, str) else list(glob)
    if not patterns or not all(isinstance(pattern, str) and pattern for pattern in patterns):
        raise ParameterError(f"glob must be patterns such as '*.md' or 'docs/**/*.txt', got {glob!r}")
    return matcher(patterns)


def _source(file: Path, base: str, *, named: bool) -> Source:
    if file == STDIN:
        return Source(file, "stdin", 0, True)
    name = Path(os.path.relpath(file, base)).as_posix()
    try:
        size = file.stat().st_size
    except OSError:  # deleted since it was found: opening it will fail
        size = 0
    return Source(file, clean(name), size, named)


def _files(path: Path, keep: Callable[[Path], bool]) -> Iterator[Path]:
    """`path` itself if it is a file, else the files below it whose path relative to it satisfies `keep`."""
    if path == STDIN or not path.is_dir():
        yield path
        return
    files = list(_walk(path))
    kept = [file for file in files if keep(file.relative_to(path))]
    logger.info("%s: %d of %d files are read", path, len(kept), len(files))
    yield from kept


def _leads_out(file: Path, top: Path) -> bool:
    """Whether a file below `top` is a link to a file elsewhere."""
    return file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(top))


def _walk(top: Path) -> Iterator[Path]:
    """All files below `top` that are neither hidden nor ignored, in order. No recursion: folders can be deep."""
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


def _children(folder: Path) -> list[tuple[Path, bool]]:
    """The visible files and folders in `folder`, sorted by name, without links to folders and broken links."""
    try:
        with os.scandir(folder) as entries:
            visible = sorted((entry for entry in entries if entry.name[0] != "."), key=lambda entry: entry.name)
    except OSError as error:
        logger.warning("skipped %s: %s", folder, error)
        return []
    kinds = [(folder / entry.name, entry.is_dir(follow_symlinks=False), _is_file(entry)) for entry in visible]
    return [(path, is_folder) for path, is_folder, is_file in kinds if is_folder or is_file]


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link to itself
        return False
