"""The reference of the command line as Markdown, from the functions that are its commands."""

import inspect
import types
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Union, get_args, get_origin

import typer
from typer.models import ArgumentInfo, DefaultPlaceholder, OptionInfo, ParameterInfo

from gossamer.cli.app import app

HEAD = """# Command line

<!-- Made by `python scripts/docs/write.py` from the commands themselves. -->

Every command has `--help`, which says the same, and `--debug`, which shows where an error comes from. Answers go to
standard output, notices and progress to standard error. Exit codes: 0 success, 1 an error whose message names the cure,
2 wrong arguments, 130 Ctrl-C.
`gossamer --install-completion` lets your shell complete commands, options and indexes.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_commands(app, "gossamer")])


def _commands(group: typer.Typer, prefix: str) -> Iterator[str]:
    for info in group.registered_commands:
        function = info.callback
        if function is None or info.hidden or function.__module__.partition(".")[0] != "gossamer":
            continue  # gossamer-lab adds commands of its own
        name = info.name or function.__name__.replace("_", "-")
        yield from _command(f"{prefix} {name}", function, info.epilog)
    for inner in group.registered_groups:
        if inner.typer_instance is not None and any(
            _is_ours(each.callback) for each in inner.typer_instance.registered_commands
        ):
            yield from _commands(inner.typer_instance, f"{prefix} {inner.name}")


def _is_ours(function: Callable[..., Any] | None) -> bool:
    return function is not None and function.__module__.partition(".")[0] == "gossamer"


def _command(name: str, function: Callable[..., Any], epilog: str | DefaultPlaceholder | None) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"{inspect.getdoc(function)}\n"
    parameters = list(_parameters(function))
    arguments = [each for each in parameters if isinstance(each[1], ArgumentInfo)]
    options = [each for each in parameters if isinstance(each[1], OptionInfo) and not each[1].hidden]
    placed = " ".join(_placed(*each) for each in arguments)
    yield f"    {name} {placed}{' ' * bool(placed)}[OPTIONS]\n"
    yield "| | |\n|---|---|"
    for parameter, info in arguments:
        yield f"| `{_placed(parameter, info).strip('[]')}` | {_told(info, parameter)} |"
    for parameter, info in options:
        yield f"| {_names(parameter, info)} | {_told(info, parameter)} |"
    yield ""
    if isinstance(epilog, str):
        calls = [line.strip().removeprefix("$ ") for line in epilog.splitlines() if line.strip().startswith("$ ")]
        yield "\n".join(["```sh", *calls, "```", ""])


def _parameters(function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, ParameterInfo]]:
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        for info in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(info, ParameterInfo):
                yield parameter, info


def _placed(parameter: inspect.Parameter, info: ParameterInfo) -> str:
    name = info.metavar or parameter.name.upper()
    several = "..." if "list" in str(_value_type(parameter)) else ""
    return f"{name}{several}" if parameter.default is inspect.Parameter.empty else f"[{name}{several}]"


def _names(parameter: inspect.Parameter, info: ParameterInfo) -> str:
    # In Annotated[...], Typer keeps the first name that is declared as the default.
    declared = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str) and each[:1] == "-"]
    declared = declared or [f"--{parameter.name.replace('_', '-')}"]
    shown = ", ".join(f"`{name}`" for both in declared for name in both.split("/"))
    kind = _value_type(parameter)
    if kind is bool:
        return shown
    return f"{shown} {info.metavar or _kind_name(kind, parameter.name)}"


def _value_type(parameter: inspect.Parameter) -> Any:
    """The type of a parameter without its Annotated and without None."""
    kind = get_args(parameter.annotation)[0]
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(each for each in get_args(kind) if each is not type(None))
    return kind


def _kind_name(kind: Any, name: str) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "\\|".join(str(each.value) for each in kind)
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    return {int: "NUMBER", float: "NUMBER"}.get(kind, "PATH" if "Path" in str(kind) else name.upper())


def _told(info: ParameterInfo, parameter: inspect.Parameter) -> str:
    told = (info.help or "").replace("|", "\\|").replace("<", "&lt;")
    default = parameter.default
    if default in (None, False, inspect.Parameter.empty) or (isinstance(default, bool) and default):
        return (
            told
            if parameter.default is not inspect.Parameter.empty or isinstance(info, ArgumentInfo)
            else f"{told} Required."
        )
    shown = default.value if isinstance(default, Enum) else default
    return f"{told} Default: {shown}."
