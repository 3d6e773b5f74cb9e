"""The API reference as Markdown, from the docstrings of the public names."""

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import gossamer
from gossamer import errors, filters, results

SRC: Final = Path(__file__).resolve().parents[2] / "src"

MAIN: Final = ("Index", "VectorIndex", "CobwebTree", "Whitener", "Client", "AsyncClient")
"""Classes that come first, in this order."""

LIKE_INDEX: Final = ("Client", "AsyncClient")
"""Classes whose methods are those of `Index`, which has the examples: theirs would need a server."""

PLUMBING: Final = {
    "VectorIndex": frozenset((
        "stage", "stage_settling", "read_raw_from", "flat", "nearest", "rank", "similarity", "similarity_bounds",
        "project", "numbers_of", "ids_of", "to_bundle", "from_bundle",
    )),
    "CobwebTree": frozenset((
        "reserve", "has_room", "place_reserved", "insert_reserved", "agglomerated", "replace_arrays", "take_neighbours",
        "to_bundle", "from_bundle",
    )),
    "Whitener": frozenset((
        "project", "has_drifted", "relative_distances", "may_exceed", "get_params", "to_bundle", "from_bundle",
    )),
    "Topics": frozenset(("bound_to",)),
}  # fmt: skip
"""Methods for the rooms built on a class: public by name, and no promise."""

HEAD = """# Python

Made from the docstrings when the site is built, so `help(Index.search)` says the same. The examples run as tests;
unless they say otherwise they start from this:

```python
{setup}```
"""


def page() -> str:
    """The whole page."""
    sys.path.insert(0, str(SRC))
    try:
        import conftest
    finally:
        sys.path.remove(str(SRC))
    lines = [HEAD.format(setup=conftest.EXAMPLE)]
    for name in (*MAIN, *sorted(set(gossamer.__all__) - {*MAIN, "__version__"})):
        lines.extend(_class(name, getattr(gossamer, name)))
    others = sorted(
        name for name in results.__all__ if name not in gossamer.__all__ and inspect.isclass(getattr(results, name))
    )
    for name in others:
        lines.extend(_class(f"results.{name}", getattr(results, name)))
    lines += ["## filters\n", _markdown(inspect.getdoc(filters)), "## errors\n", _markdown(inspect.getdoc(errors))]
    return "\n".join(lines)


def methods(name: str, cls: type) -> dict[str, Callable[..., Any]]:
    """Name → function of the public methods that a class promises; former names of others are left out."""
    hidden = PLUMBING.get(name, frozenset())
    found: dict[str, Callable[..., Any]] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] != "gossamer":
            continue
        for key, value in vars(base).items():
            function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            is_method = isinstance(function, types.FunctionType) and function.__name__ == key
            if (
                is_method
                and not key.startswith("_")
                and key not in hidden
                and "old name" not in (function.__doc__ or "")
            ):
                found[key] = function
    return found


def _class(name: str, cls: type) -> Iterator[str]:
    yield f"## {name}\n"
    if not dataclasses.is_dataclass(cls):
        yield f"```python\n{_signature(name, cls)}\n```\n"
    yield _markdown(inspect.getdoc(cls))
    if "__init__" in vars(cls) and cls.__init__.__doc__:
        yield _markdown(inspect.getdoc(cls.__init__))
    fields = list(_fields(cls))
    if fields:
        yield "| field | type | |\n|---|---|---|"
        yield from (f"| `{field}` | `{kind}` | {told} |" for field, kind, told in fields)
        yield ""
    for key, value in vars(cls).items():
        if isinstance(value, property) and not key.startswith("_") and value.__doc__:
            yield f"**`{name}.{key}`**: {_inline(value.__doc__)}\n"
    for key, function in methods(name, cls).items():
        yield f"### {name}.{key}\n"
        yield f"```python\n{_signature(key, function)}\n```\n"
        yield _markdown(inspect.getdoc(getattr(cls, key)))
        if name in LIKE_INDEX and hasattr(gossamer.Index, key):
            yield f"As [`Index.{key}`](#index{key}).\n"


def _signature(name: str, what: Any) -> str:
    """The signature as it is written in the source."""
    function = what.__init__ if inspect.isclass(what) else what
    if not isinstance(function, types.FunctionType):
        return f"{name}()"
    (written,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(written, ast.FunctionDef | ast.AsyncFunctionDef)
    first = (written.args.posonlyargs + written.args.args)[:1]
    if first and first[0].arg in ("self", "cls"):
        del written.args.args[0]
    returned = "" if inspect.isclass(what) or written.returns is None else f" -> {ast.unparse(written.returns)}"
    line = f"{name}({ast.unparse(written.args)}){returned}"
    if len(line) < 100:
        return line
    return f"{name}(\n{''.join(f'    {each},' + chr(10) for each in _arguments(written.args))}){returned}"


def _arguments(args: ast.arguments) -> Iterator[str]:
    """Each argument with its annotation and default."""
    plain = args.posonlyargs + args.args
    defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    yield from (_argument(each, default) for each, default in zip(plain, defaults, strict=True))
    if args.vararg is not None:
        yield f"*{ast.unparse(args.vararg)}"
    elif args.kwonlyargs:
        yield "*"
    yield from (_argument(each, default) for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True))
    if args.kwarg is not None:
        yield f"**{ast.unparse(args.kwarg)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + ("" if default is None else f" = {ast.unparse(default)}")


def _fields(cls: type) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of the fields of a dataclass."""
    if not dataclasses.is_dataclass(cls):
        return
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body  # type: ignore[attr-defined]
    for at, each in enumerate(body):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not each.target.id.startswith("_"):
            after = body[at + 1] if at + 1 < len(body) else None
            told = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            yield each.target.id, ast.unparse(each.annotation).replace("|", "\\|"), _inline(told).replace("|", "\\|")


def _inline(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")


def _markdown(docstring: str | None) -> str:
    """A docstring as Markdown: examples and tables of aligned words are shown as they stand."""
    blocks = [_block(block) for block in re.split(r"\n\s*\n", docstring or "")]
    return "\n\n".join(blocks) + "\n"


def _block(block: str) -> str:
    lines = block.splitlines()
    if block.lstrip().startswith(">>>"):
        return f"```pycon\n{textwrap.dedent(block)}\n```"
    example = next((n for n, line in enumerate(lines) if line.startswith(">>>")), None)
    if example:
        return f"{_block(chr(10).join(lines[:example]))}\n\n{_block(chr(10).join(lines[example:]))}"
    if all(line.startswith("    ") for line in lines) or re.match(r"\S+\s{2,}\S", lines[0] if lines else ""):
        return f"```text\n{textwrap.dedent(block)}\n```"
    table = next((n for n, line in enumerate(lines) if re.match(r"[\w=\"-]+\s{2,}\S", line)), None)
    if table:
        return f"{_block(chr(10).join(lines[:table]))}\n\n{_block(chr(10).join(lines[table:]))}"
    return block.replace("<", "&lt;")
