"""`gossamer serve`: serve indexes over HTTP."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.opening import is_cluster, opened, prepare_encoder
from gossamer.cli.options import Json, Quiet, complete_index
from gossamer.cli.screen import Screen
from gossamer.errors import ParameterError, UnknownFieldWarning, UntrustedEncoderError

if TYPE_CHECKING:
    from gossamer.index import Index

EXAMPLES = examples(
    "gossamer serve notes.gsm",
    "gossamer serve news.gsm papers=archive/arxiv.gsm --port 9000 --read-only",
    "gossamer serve news.gsm --host 0.0.0.0 --key-file keys.json --tls-cert cert.pem --tls-key key.pem",
)

Indexes = Annotated[
    list[str], typer.Argument(metavar="INDEX...", help="Indexes, as PATH or NAME=PATH.", autocompletion=complete_index)
]


@command
def serve(
    indexes: Indexes,
    host: Annotated[str, typer.Option(help="Where to listen. Elsewhere than here needs --key-file.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any that is free.")] = 8080,
    key_file: Annotated[Path | None, typer.Option(help="Who may do what (see gossamer keys).")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate, a PEM file.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, a PEM file.")] = None,
    cors_origin: Annotated[
        list[str] | None, typer.Option(help="A page from elsewhere that may use it, as https://example.org.")
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Allow this encoder, which can bring code: st:MODEL, hf:MODEL."),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(envvar="RAY_ADDRESS", metavar="HOST:PORT", help="The Ray cluster to join, to serve a cluster."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Take no changes; see those of others.")] = False,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = 8 * 2**20,
    max_k: Annotated[int, typer.Option(min=1, help="Answers to a search.")] = 1000,
    max_batch: Annotated[int, typer.Option(min=1, help="Documents in a request.")] = 1000,
    max_text: Annotated[int, typer.Option(min=1, help="Characters of a text.")] = 1_000_000,
    max_explain: Annotated[int, typer.Option(min=1, help="Answers to a search with explain.")] = 100,
    max_nodes: Annotated[int, typer.Option(min=1, help="Concepts in an answer.")] = 5000,
    max_assignments: Annotated[
        int, typer.Option(min=1, help="Documents told with their topic in an answer, times the levels.")
    ] = 1_000_000,
    max_answer: Annotated[
        int, typer.Option(min=1, help="Characters of the documents in an answer, with metadata.")
    ] = 64 * 2**20,
    max_conditions: Annotated[int, typer.Option(min=1, max=256, help="Conditions of a filter.")] = 32,
    max_filter: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Characters of a filter's keys and values.")
    ] = 64 * 2**10,
    max_requests: Annotated[int, typer.Option(min=1, help="Requests at once.")] = 128,
    per_caller: Annotated[int, typer.Option(min=1, help="Of them from one key or address.")] = 64,
    max_waiting: Annotated[int, typer.Option(min=1, help="Searches, other reads, or writes that wait.")] = 64,
    timeout: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds for a request.")] = 30.0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve indexes, and clusters, over HTTP until Ctrl-C: an API under /v1, and a page to explore them at /.

    The first index answers at /v1, each of them at /v1/indexes/NAME. Log lines on standard error are JSON.
    """
    from gossamer.server import check_available

    check_available()
    from gossamer.server.app import create_app
    from gossamer.server.catalog import Catalog
    from gossamer.server.keys import KeyRing
    from gossamer.server.limits import Limits
    from gossamer.server.middleware import log_to_stderr
    from gossamer.server.run import Address, run

    screen = Screen(json=json, quiet=quiet)
    limits = Limits(
        body=max_body, k=max_k, batch=max_batch, text=max_text, explain=max_explain, nodes=max_nodes,
        assignments=max_assignments, answer=max_answer, conditions=max_conditions, filter=max_filter,
        in_flight=max_requests, per_caller=per_caller, waiting=max_waiting, seconds=timeout,
    )  # fmt: skip
    keys = None if key_file is None else KeyRing(key_file)
    address = Address(host, port, tls_cert, tls_key)
    if not quiet:
        log_to_stderr()
    address.check(has_keys=keys is not None and len(keys) > 0)
    warnings.simplefilter("ignore", UnknownFieldWarning)  # who asked is told in the answer
    with _opened(indexes, screen, encoder or [], read_only=read_only, ray=ray) as found:
        app = create_app(Catalog(found, read_only=read_only), keys=keys, limits=limits, origins=cors_origin or ())
        run(app, address, grace=timeout, on_ready=lambda url: _tell(screen, url, list(found)))


@contextmanager
def _opened(
    given: Sequence[str], screen: Screen, allowed: Sequence[str], *, read_only: bool, ray: str | None
) -> Iterator[dict[str, Index]]:
    """Open all indexes, with the files of their encoders fetched; by name. They are closed at the end."""
    from gossamer.server.catalog import name_and_path

    found: dict[str, Index] = {}
    used = set[str]()
    with ExitStack() as stack:
        for each in given:
            name, path = name_and_path(each)
            if name in found:
                raise ParameterError(f"two indexes would be called {name!r}: name one of them, as in other={path}")
            mode: Literal["r", "w"] = "r" if read_only else "w"
            open_it = partial(_cluster, path, screen, ray) if is_cluster(path) else partial(opened, path, screen, mode)
            try:
                found[name] = stack.enter_context(open_it())
            except UntrustedEncoderError as error:
                if error.encoder not in allowed:
                    raise
                used.add(error.encoder)
                found[name] = stack.enter_context(open_it(encoder=error.encoder))
            used.add(found[name].info().encoder)
            prepare_encoder(found[name].info().encoder, screen)
        for each in allowed:
            if each not in used:
                raise ParameterError(
                    f"no index here has the encoder {each!r}: they have {', '.join(map(repr, sorted(used)))}"
                )
        yield found


@contextmanager
def _cluster(path: Path, screen: Screen, ray: str | None, encoder: str | None = None) -> Iterator[Index]:
    """Open a cluster, which the server uses as an index: it has the methods that routes call."""
    with screen.working(f"opening {path.name}"):
        from gossamer.cluster import Cluster

        cluster = Cluster.open(path, encoder, address=ray)
    with cluster:
        yield cast("Index", cluster)


def _tell(screen: Screen, url: str, names: list[str]) -> None:
    if screen.json:
        screen.emit({"url": url, "indexes": names}, indent=None)
    else:
        screen.say(f"serving {', '.join(names)} at {url} (Ctrl-C stops it)")
