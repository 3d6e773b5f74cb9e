"""What every command shares: ``--debug``, errors as one sentence, Ctrl-C, and where log lines go.

Exit codes: 0 done; 1 the user can do something about it, said in a sentence; 2 a wrong call (Typer's);
130 Ctrl-C.
"""

from __future__ import annotations

import errno
import inspect
import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

from gossamer.errors import GossamerError, UntrustedEncoderError

INTERRUPTED = 130

_Command = TypeVar("_Command", bound=Callable[..., None])

_Debug = Annotated[bool, typer.Option("--debug", envvar="GOSSAMER_DEBUG", help="Show where an error comes from.")]

_AS_TYPED = {
    "on_error='skip'": "--on-error skip",
    "follow_links=True": "--follow-links",
    "Choose another text_field": "Choose another --text-field",
    "Choose a text_field": "Choose a --text-field",
    "Choose another id_field": "Choose another --id-field",
    'use encoder="lsa"': "use --encoder lsa",
    'Example: encoder="minilm"': "Example: --encoder minilm",
    "make one with Index.create": "make one with gossamer index",
    ', or open it for reading with mode="r"': "",
    ': to look without writing, open the index with mode="r"': "",
}
"""Messages speak Python; here are the same words as they are typed in a shell."""


def command(function: _Command) -> _Command:
    """A function as a command: it gets ``--debug``, and ends with a sentence and an exit code."""

    @wraps(function)
    def run(*args: Any, debug: bool, **options: Any) -> None:
        with _log_to_stderr(logging.DEBUG if debug else logging.WARNING), _ending(debug):
            function(*args, **options)

    signature = inspect.signature(function, eval_str=True)
    own = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug)
    parameters = [*signature.parameters.values(), own]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run  # type: ignore[return-value]


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(["Examples:", *(f"$ {line}" for line in lines)])


def sentence(error: BaseException) -> str:
    """What an error says, in the words of the command line."""
    text = str(error) or type(error).__name__
    if isinstance(error, UntrustedEncoderError):
        text = text.replace(f"Index.open(path, encoder={error.encoder!r})", f"--encoder {_quoted(error.encoder)}")
    return _as_typed(text)


def _quoted(name: str) -> str:
    """A name as it is typed in a shell; one that a terminal would take for a command is shown as Python would."""
    return shlex.quote(name) if name.isprintable() else repr(name)


def _as_typed(text: str) -> str:
    for python, shell in _AS_TYPED.items():
        text = text.replace(python, shell)
    return text


def complain(error: BaseException) -> None:
    """Say it on standard error."""
    typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(sentence(error), err=True)


@contextmanager
def _ending(debug: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader of our output, `head` say, has seen enough
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
    """Python flushes standard output once more at its end, and must not meet the closed pipe again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _ToStderr(logging.Handler):
    """Lines for people, on whatever standard error is now: progress bars put their own in its place."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"{record.levelname.lower()}: {_as_typed(record.getMessage())}", file=sys.stderr)


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
