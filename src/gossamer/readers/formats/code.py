"""Source code: Python by functions and classes, other languages a file at a time.

Python files are parsed (`ast`), never imported or run. Each function and each method is a document, and so is what
remains of a class, and of the module; small classes stay in one piece. A file that cannot be parsed, as one of
Python 2, is one document.
"""

import ast
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from gossamer.checks import LONGEST_TEXT
from gossamer.readers.fields import Job, document
from gossamer.readers.opening import open_text
from gossamer.readers.record import Record
from gossamer.readers.values import clean
from gossamer.readers.walk import Source

LANGUAGES = {
    ".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".hh": "c++", ".hpp": "c++", ".cs": "c#",
    ".clj": "clojure", ".dart": "dart", ".ex": "elixir", ".exs": "elixir", ".erl": "erlang", ".f90": "fortran",
    ".go": "go", ".groovy": "groovy", ".hs": "haskell", ".java": "java", ".js": "javascript", ".jsx": "javascript",
    ".mjs": "javascript", ".jl": "julia", ".kt": "kotlin", ".el": "lisp", ".lisp": "lisp", ".lua": "lua",
    ".m": "objective-c", ".ml": "ocaml", ".pas": "pascal", ".pl": "perl", ".pm": "perl", ".php": "php",
    ".ps1": "powershell", ".r": "r", ".rb": "ruby", ".rs": "rust", ".scala": "scala", ".scm": "scheme", ".sh": "shell",
    ".bash": "shell", ".sql": "sql", ".swift": "swift", ".ts": "typescript", ".tsx": "typescript", ".vue": "vue",
    ".zig": "zig",
}  # fmt: skip
"""The suffixes of source code, except Python's, and the language of each."""

_MOST_PARSED = 2**21
"""Characters of a Python file that is parsed; its tree takes a hundred times as many bytes."""

_LONGEST_LINE = 5_000
"""Characters of a line in JavaScript that a person may have written; what has longer ones is minified, or data."""

_SMALL_CLASS = 30
"""Lines of a class that stays in one piece."""

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class _Part(NamedTuple):
    """A piece of a module: a qualified name ("" for the module itself), what it is, and its lines, from 0 on."""

    name: str
    kind: str
    line: int
    lines: list[str]


def read_code(source: Source, job: Job) -> Iterator[Record]:
    """A file of source code in any language."""
    with open_text(source, job.account) as file:
        text = file.read(LONGEST_TEXT)
    language = LANGUAGES.get(source.suffix, "text")
    if language == "javascript" and not source.named and max(map(len, text.splitlines()), default=0) > _LONGEST_LINE:
        job.account.leave_out(source, "made by a program")
    else:
        yield from document(text, source, job, metadata={"language": language})


def read_python(source: Source, job: Job) -> Iterator[Record]:
    """A Python file: the documents "<file>" for the module and "<file>::Class.method" for what it defines."""
    with open_text(source, job.account) as file:
        text = clean(file.read(LONGEST_TEXT))
    parts = _parts(text)
    if parts is None:
        yield from document(text, source, job, metadata={"language": "python"})
        return
    seen: Counter[str] = Counter()
    for part in parts:
        body = "\n".join(part.lines).strip("\n")
        if not body.strip():
            continue
        seen[part.name] += 1
        again = f"~{seen[part.name]}" if seen[part.name] > 1 else ""  # both branches of an if may define it
        metadata = {"language": "python", "kind": part.kind, "line": part.line + 1}
        if part.name:
            metadata["title"] = part.name
            body = f"{part.name}\n{body}" if "." in part.name else body
        name = f"{source.name}::{part.name}{again}" if part.name else source.name
        record = Record(name, body, metadata, source.place)
        if job.account.takes(record, f"{source.place}:{part.line + 1}"):
            yield record
    if not seen:
        job.account.without_text(source)


def _parts(text: str) -> list[_Part] | None:
    """The parts of a module in order, the module first; None if it cannot be parsed."""
    if len(text) > _MOST_PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not our concern
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    # Lines as the parser counts them: not at form feeds and the like, as splitlines would.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    inner: list[_Part] = []
    rest = _without(lines, 0, len(lines), module.body, "", inner)
    return [_Part("", "module", 0, rest), *inner]


def _without(
    lines: list[str], start: int, stop: int, body: list[ast.stmt], prefix: str, inner: list[_Part]
) -> list[str]:
    """The lines from `start` to `stop` without the definitions in `body`, which are appended to `inner`."""
    kept: list[str] = []
    at = start
    for node in body:
        if not isinstance(node, _Definition) or node.end_lineno is None:
            continue
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
        kept += lines[at:first]
        at = node.end_lineno
        _define(lines, first, node, prefix, inner)
    return kept + lines[at:stop]


def _define(lines: list[str], first: int, node: _Definition, prefix: str, inner: list[_Part]) -> None:
    """Append what a definition consists of: itself, and the methods of a large class."""
    name = f"{prefix}{node.name}"
    stop = node.end_lineno or node.lineno
    if not isinstance(node, ast.ClassDef):
        inner.append(_Part(name, "method" if prefix else "function", first, lines[first:stop]))
        return
    if stop - first <= _SMALL_CLASS:
        inner.append(_Part(name, "class", first, lines[first:stop]))
        return
    methods: list[_Part] = []
    rest = _without(lines, first, stop, node.body, f"{name}.", methods)
    inner += [_Part(name, "class", first, rest), *methods]
