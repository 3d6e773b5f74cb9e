"""The server against its bars: what HTTP adds to a search, requests a second, and a mixed load without a lost write.

    python benchmarks/server.py [--quick] [--data FOLDER] [--json FILE]

10,000 documents with 384-dimensional vectors: those of `qqp-minilm-corpus.npy` in the folder, or random clusters if
there is no such file. The server is a process of its own. The clients run on the same machine, so they do as little as
possible: they write and read bytes on sockets. Every search brings its vector, so no encoder is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from gossamer import Client, Index

Matrix = npt.NDArray[np.float32]
Row = dict[str, Any]
DOCUMENTS, DIM, CLIENTS, SHARE_OF_ADDS = 10_000, 384, 32, 0.1
WORDS = [first + last for first in ("ka", "lo", "mi", "nu", "pe", "ro") for last in ("bar", "dan", "fel", "gor", "him")]


def not_needed(texts: list[str]) -> Matrix:
    """A stand-in for an encoder: every document and query here has its vector."""
    return np.ones((len(texts), DIM), np.float32)


def vectors(folder: Path, count: int) -> tuple[Matrix, Matrix]:
    """Documents and queries."""
    corpus, queries = folder / "qqp-minilm-corpus.npy", folder / "qqp-minilm-queries.npy"
    if corpus.exists():
        return np.load(corpus)[:count].astype(np.float32), np.load(queries)[:1000].astype(np.float32)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, DIM))
    made = centres[rng.integers(200, size=count + 1000)] + 0.7 * rng.normal(size=(count + 1000, DIM))
    unit = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    return unit[:count], unit[count:]


def build(path: Path, E: Matrix) -> None:
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=12)) for _ in E]
    with Index.create(path, not_needed) as index:
        index.add(texts, ids=[f"d{at}" for at in range(len(E))], vectors=E)


# -- the server, a process of its own --------------------------------------------------------------


def serve(path: str) -> None:
    from gossamer.server.app import create_app
    from gossamer.server.catalog import Catalog
    from gossamer.server.run import Address, run

    app = create_app(Catalog({"main": Index.open(path, not_needed)}))
    run(app, Address(port=0), on_ready=lambda url: print(url, flush=True))


# -- one connection --------------------------------------------------------------------------------


def one_connection(url: str, path: Path, Q: Matrix, rounds: int) -> list[Row]:
    """The same query by library and by HTTP, in turns: the difference is what the service adds."""
    bodies = [json.dumps({"vector": [round(float(x), 6) for x in q]}).encode() for q in Q[:rounds]]
    times: dict[str, list[float]] = {"library": [], "http": [], "client": []}
    headers = {"content-type": "application/json"}
    with Index.open(path, not_needed, mode="r") as index, httpx.Client(base_url=url) as http, Client(url) as client:
        for at in range(-20, rounds):
            for name, ask in (
                ("library", lambda at=at: index.search(vector=Q[at])),
                ("http", lambda at=at: http.post("/v1/search", content=bodies[at], headers=headers)),
                ("client", lambda at=at: client.search(vector=Q[at])),
            ):
                start = time.perf_counter()
                ask()
                if at >= 0:
                    times[name].append(1e3 * (time.perf_counter() - start))
    library, over_http, client_ms = (statistics.median(times[name]) for name in ("library", "http", "client"))
    return [
        row("search by vector, library, median", library, "", unit="ms"),
        row("the same over HTTP, one connection", over_http, "", unit="ms"),
        row("what HTTP adds", over_http - library, "≤ 5 ms", unit="ms", ok=over_http - library <= 5),
        row("gossamer.Client, answers as dataclasses", client_ms, "", unit="ms"),
    ]


# -- many clients ----------------------------------------------------------------------------------


class Connection:
    """An HTTP/1.1 connection with as little code as possible."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, url: str) -> Connection:
        host, port = url.removeprefix("http://").split(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def post(self, path: str, body: bytes) -> int:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = next(line for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        await self._reader.readexactly(int(length.split(b":")[1]))
        return int(answer.split(b" ", 2)[1])

    def close(self) -> None:
        self._writer.close()


async def load(url: str, Q: Matrix, seconds: float, adds: float) -> dict[str, Any]:
    """Run all clients at once: the writes that were acknowledged, and the milliseconds of each request."""
    searches = [json.dumps({"vector": [round(float(x), 6) for x in q]}).encode() for q in Q]
    documents = [[round(float(x), 6) for x in q] for q in Q]
    found: dict[str, Any] = {"search": [], "add": [], "errors": [], "acknowledged": []}
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        rng = random.Random(number)
        line = await Connection.to(url)
        for turn in range(10**9):
            if time.perf_counter() >= end:
                break
            adding = rng.random() < adds
            at = rng.randrange(len(Q))
            id = f"new-{number}-{turn}"
            body = (
                json.dumps({"id": id, "text": " ".join(rng.choices(WORDS, k=8)), "vector": documents[at]}).encode()
                if adding
                else searches[at]
            )
            start = time.perf_counter()
            status = await line.post("/v1/documents" if adding else "/v1/search", body)
            found["add" if adding else "search"].append(1e3 * (time.perf_counter() - start))
            if status != 200:
                found["errors"].append(status)
            elif adding:
                found["acknowledged"].append(id)
        line.close()

    start = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    found["seconds"] = time.perf_counter() - start
    return found


def under_load(url: str, Q: Matrix, seconds: float) -> tuple[list[Row], list[str]]:
    alone = asyncio.run(load(url, Q, seconds / 2, 0.0))
    mixed = asyncio.run(load(url, Q, seconds, SHARE_OF_ADDS))
    rate = len(alone["search"]) / alone["seconds"]
    both = (len(mixed["search"]) + len(mixed["add"])) / mixed["seconds"]
    failures = len(alone["errors"]) + len(mixed["errors"])
    rows = [
        row(f"{CLIENTS} clients, searches alone", rate, "≥ 300", unit="requests/s", ok=rate >= 300),
        row("p50, p99", _p(alone["search"], 50), f"{_p(alone['search'], 99):.1f}", unit="ms"),
        row(f"{CLIENTS} clients, 90 % search, 10 % add", both, "", unit="requests/s"),
        row("of these searches p50, p99", _p(mixed["search"], 50), f"{_p(mixed['search'], 99):.1f}", unit="ms"),
        row("of these adds p50, p99", _p(mixed["add"], 50), f"{_p(mixed['add'], 99):.1f}", unit="ms"),
        row("errors", failures, "0", ok=failures == 0),
    ]
    return rows, mixed["acknowledged"]


def lost_writes(path: Path, acknowledged: list[str]) -> Row:
    with Index.open(path, not_needed, mode="r") as index:
        there = set(index.ids())
    lost = sum(id not in there for id in acknowledged)
    return row(f"lost of {len(acknowledged):,} acknowledged writes, after SIGKILL", lost, "0", ok=lost == 0)


def _p(times: list[float], share: int) -> float:
    return float(np.percentile(times, share)) if times else float("nan")


def row(what: str, value: float, bar: str, *, unit: str = "", ok: bool | None = None) -> Row:
    return {"what": what, "value": round(value, 3), "unit": unit, "bar": bar, "ok": ok}


# -- all of it -------------------------------------------------------------------------------------


def measure(folder: Path, *, quick: bool, say: Callable[[str], None]) -> list[Row]:
    E, Q = vectors(folder, 2000 if quick else DOCUMENTS)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "bench.gsm"
        say(f"building {len(E):,} documents")
        build(path, E)
        command = [sys.executable, __file__, "--serve", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                url = server.stdout.readline().strip()
                say("one connection")
                rows = one_connection(url, path, Q, 100 if quick else 500)
                say(f"{CLIENTS} clients")
                more, acknowledged = under_load(url, Q, 4.0 if quick else 20.0)
            finally:
                server.kill()
        return [*rows, *more, lost_writes(path, acknowledged)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 documents, 4 seconds of load")
    parser.add_argument("--data", type=Path, default=Path("../shared/embeddings"), help="folder of ready vectors")
    parser.add_argument("--json", type=Path, help="also write everything here")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    console = Console()
    with console.status("…") as status:
        rows = measure(options.data, quick=options.quick, say=status.update)
    table = Table("what", "value", "", "bar or p99", "ok")
    for each in rows:
        verdict = "" if each["ok"] is None else ("yes" if each["ok"] else "NO")
        table.add_row(each["what"], f"{each['value']:,.2f}", each["unit"], each["bar"], verdict)
    console.print(table)
    if options.json:
        machine = {"cores": os.cpu_count(), "load": os.getloadavg(), "python": platform.python_version()}
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
