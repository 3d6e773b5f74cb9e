"""The documents of the demo: docstrings of the standard library of the running Python.

Source files are parsed and not imported, so none of their code runs. Modules written in C have no source: those in
`_IN_C`, which have no side effects, are imported.
"""

import ast
import inspect
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_LEFT_OUT = (
    "test tests idlelib lib2to3 turtledemo ensurepip pydoc_data distutils site-packages dist-packages antigravity "
    "this nturl2path ntpath tix"
)
_IN_C = "array binascii builtins cmath errno fcntl gc itertools math mmap resource select sys time zlib"
_KNOWN_AS = {"posixpath": "os.path"}

_SIGNATURE = re.compile(r"^[\w.]+\(.*?\)(\s*->.*?)?(\s--?\s|:\s|$)", re.DOTALL)
_SHORTEST, _LONGEST = 25, 400
"""Characters of a paragraph: shorter ones are left out, longer ones cut."""


@dataclass(frozen=True)
class Docstring:
    """The first paragraph of one docstring, and where it stands."""

    id: str
    text: str
    module: str
    kind: str
    line: int | None

    @property
    def metadata(self) -> dict[str, Any]:
        """The fields a filter can use."""
        return {"module": self.module, "kind": self.kind} | ({} if self.line is None else {"line": self.line})


def collect(report: Callable[[int, int], None] = lambda done, total: None) -> list[Docstring]:
    """All docstrings with enough text, each text once, in a fixed order."""
    files = list(_files(Path(sysconfig.get_path("stdlib"))))
    found = [each for name in _IN_C.split() for each in _of_loaded(name)]
    for done, (module, file) in enumerate(files, 1):
        found.extend(_of_source(module, file))
        report(done, len(files))
    once: dict[str, Docstring] = {}
    for each in found:
        once.setdefault(each.text.partition(": ")[2].lower(), each)
    return list({each.id: each for each in once.values()}.values())


def evenly(documents: list[Docstring], most: int | None) -> list[Docstring]:
    """At most `most` documents, taken at even distances."""
    if most is None or len(documents) <= most:
        return documents
    return [documents[i * len(documents) // most] for i in range(most)]


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """The modules with source files below `root`, by name."""
    for folder, folders, names in os.walk(root):
        inside = Path(folder).relative_to(root).parts
        folders[:] = sorted(name for name in folders if _wanted(name) and (inside or name in sys.stdlib_module_names))
        for name in sorted(names):
            stem, ending = os.path.splitext(name)
            if ending == ".py" and ((stem == "__init__" and inside) or _wanted(stem)):
                parts = inside if stem == "__init__" else (*inside, stem)
                yield _KNOWN_AS.get(".".join(parts), ".".join(parts)), Path(folder, name)


def _wanted(name: str) -> bool:
    return not name.startswith(("_", ".")) and name not in _LEFT_OUT.split()


def _of_source(module: str, file: Path) -> Iterator[Docstring]:
    try:
        with warnings.catch_warnings(action="ignore"):  # old escapes in old modules
            tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    yield from as_document(module, ast.get_docstring(tree), module, "module", 1)
    yield from _of_body(module, tree.body, module, inside_class=False)


def _of_body(module: str, body: list[ast.stmt], prefix: str, *, inside_class: bool) -> Iterator[Docstring]:
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        id = f"{prefix}.{node.name}"
        is_class = isinstance(node, ast.ClassDef)
        kind = "class" if is_class else "method" if inside_class else "function"
        yield from as_document(id, ast.get_docstring(node), module, kind, node.lineno)
        if is_class:
            yield from _of_body(module, node.body, id, inside_class=True)


def _of_loaded(module: str) -> Iterator[Docstring]:
    """The docstrings of a module that has no source, and of its classes."""
    try:
        loaded = import_module(module)
    except ImportError:  # not on every system
        return
    prefix = "" if module == "builtins" else f"{module}."
    yield from as_document(module, loaded.__doc__, module, "module", None)
    for name, value in _members(loaded):
        if inspect.isclass(value) and not issubclass(value, BaseException):
            yield from as_document(prefix + name, inspect.getdoc(value), module, "class", None)
            for method, function in _members(value):
                yield from as_document(f"{prefix}{name}.{method}", function.__doc__, module, "method", None)
        elif inspect.isroutine(value):
            yield from as_document(prefix + name, value.__doc__, module, "function", None)


def _members(owner: ModuleType | type) -> list[tuple[str, Any]]:
    own = vars(owner).items()
    return sorted((name, value) for name, value in own if not name.startswith("_") and callable(value))


def as_document(id: str, docstring: str | None, module: str, kind: str, line: int | None) -> Iterator[Docstring]:
    """The name and the first paragraph of sufficient length, as a document; nothing if there is none."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(docstring or "")):
        text = _SIGNATURE.sub("", " ".join(paragraph.split()), count=1).strip()
        if len(text) >= _SHORTEST and " " in text and not text.startswith((">>>", "$", "Copyright")):
            yield Docstring(id, f"{id}: {_cut(text)}", module, kind, line)
            return


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " …"
