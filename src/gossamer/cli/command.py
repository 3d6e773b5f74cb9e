"""What every command shares: ``--debug``, errors and warnings as one line, Ctrl-C, and log lines on standard error.

Exit codes: 0 success; 1 an error of `gossamer.errors`, whose message names the cure; 2 wrong arguments (Typer's);
130 Ctrl-C.
"""

import errno
import inspect
import logging
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from gossamer.errors import GossamerError, UnknownFieldWarning

INTERRUPTED = 130

_Command = TypeVar("_Command", bound=Callable[..., None])

_Debug = Annotated[bool, typer.Option("--debug", envvar="GOSSAMER_DEBUG", help="Show where an error comes from.")]


class TakesQuery(TyperCommand):
    """A command with a query, which begins with a dash where a word is excluded: as in -word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments read; of a query taken for options, the error says where it has to stand."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            letter = getattr(error, "option_name", "")[1:]  # of -word, there is no option -w
            query = next((each for each in given if each[:1] == "-" != each[1:2] and letter in each), None)
            if type(error).__name__ != "NoSuchOption" or len(letter) != 1 or query is None:
                raise
            names = [str(each.metavar) for each in self.params if each.param_type_name == "argument"]
        call = " ".join(f"-- {shlex.quote(query)}" if name == "QUERY" else name for name in names)
        told = "a query that begins with a dash goes after --, and options before"
        message = f"no such option: -{letter}; {told}: {ctx.command_path} {call}"
        raise typer.BadParameter(message, ctx, param_hint="QUERY")


def command(function: _Command) -> _Command:
    """Make a function a command: add ``--debug``, turn errors into a message and an exit code."""

    @wraps(function)
    def run(*args: Any, debug: bool, **options: Any) -> None:
        with _log_to_stderr(logging.DEBUG if debug else logging.WARNING), _warnings_as_lines(), _ending(debug):
            function(*args, **options)

    signature = inspect.signature(function, eval_str=True)
    own = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug)
    parameters = [*signature.parameters.values(), own]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run  # type: ignore[return-value]


def examples(*lines: str) -> str:
    """Example calls, for the end of a command's help."""
    return "\n\n".join(["Examples:", *(f"$ {line}" for line in lines)])


def complain(error: BaseException) -> None:
    """Print the message of an error on standard error."""
    typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(str(error) or type(error).__name__, err=True)


@contextmanager
def _ending(debug: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader of our output, `head` for example, has ended
            _drop_output()
            raise typer.Exit(0) from None
        _fail(error, debug)
    except GossamerError as error:
        _fail(error, debug)


def _fail(error: Exception, debug: bool) -> None:
    if debug:
        raise error
    complain(error)
    raise typer.Exit(1) from None


def _drop_output() -> None:
    """Redirect standard output to nowhere: Python flushes it once more when it ends, and the pipe is closed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print each `UnknownFieldWarning` as one line, every time it comes; other warnings are shown as Python does."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UnknownFieldWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, UnknownFieldWarning):
                print(f"warning: {message}", file=sys.stderr)
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show
        yield


class _ToStderr(logging.Handler):
    """Print log lines on the current `sys.stderr`, which a progress bar may have replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"{record.levelname.lower()}: {record.getMessage()}", file=sys.stderr)


@contextmanager
def _log_to_stderr(level: int) -> Iterator[None]:
    logger = logging.getLogger("gossamer")
    handler, before = _ToStderr(level), logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
