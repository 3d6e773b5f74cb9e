"""However a server ends, what it acknowledged is there; and told to stop, it finishes or refuses, never half does."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bag import sentence
from gossamer import Client, Index
from gossamer.errors import GossamerError
from server.running import until
from server.victim import slowly

HERE = Path(__file__).parent


@contextmanager
def victim(path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / "victim.py"), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:")
            yield process, url
        finally:
            process.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = random.Random(0)
    with Index.create(tmp_path / "a.gsm", slowly) as index:
        index.add([sentence(rng) for _ in range(200)])
    return tmp_path / "a.gsm"


def work(url: str, worker: int, acknowledged: dict[str, str | None], stop: threading.Event) -> None:
    """Add, replace, delete and search until the server is gone; note what was answered, and what is in doubt."""
    rng = random.Random(worker)
    with Client(url, retries=0, timeout=10) as client:
        for number in range(10_000):
            id = f"{worker}-{rng.randrange(30)}"
            text = f"{sentence(rng)} {number}"
            try:
                if stop.is_set():
                    return
                kind = rng.random()
                if kind < 0.4:
                    client.search(sentence(rng, 2), k=3)
                elif kind < 0.8:
                    client.add(text, id)
                    acknowledged[id] = text
                else:
                    client.delete(id)
                    acknowledged[id] = None
            except GossamerError:
                acknowledged.pop(id, None)  # in doubt: it may or may not be there
                return


def test_killed_under_load(path: Path) -> None:
    with victim(path) as (process, url), ThreadPoolExecutor(4) as pool:
        told: list[dict[str, str | None]] = [{} for _ in range(4)]
        stop = threading.Event()
        workers = [pool.submit(work, url, at, told[at], stop) for at in range(4)]
        end = time.monotonic() + 30
        while sum(map(len, told)) < 60 and time.monotonic() < end:
            time.sleep(0.02)
        process.kill()
        process.wait(10)
        stop.set()
        for worker in workers:
            worker.result(20)
    acknowledged = {id: text for each in told for id, text in each.items()}
    assert len(acknowledged) > 40
    with Index.open(path, slowly) as index:
        index.check()
        there = set(index.ids())
        for id, text in acknowledged.items():
            assert (id in there) == (text is not None)
            assert text is None or index.get(id).text == text


def test_told_to_stop_it_finishes_what_has_begun(path: Path) -> None:
    with victim(path) as (process, url), ThreadPoolExecutor(4) as pool, httpx.Client(base_url=url, timeout=20) as http:
        assert process.stdout is not None
        begun = pool.submit(http.post, "/v1/documents", json={"id": "begun", "text": "slow to be encoded"})
        assert process.stdout.readline() == "slow\n"
        process.send_signal(signal.SIGTERM)
        assert begun.result().json() == {"ids": ["begun"]}
        assert process.stdout.readline() == "closed\n"
        assert process.wait(20) == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(url)
    with Index.open(path, slowly, mode="r") as index:
        assert index.get("begun").text == "slow to be encoded"


def test_a_stream_is_ended_with_what_was_added(path: Path) -> None:
    """The rest is refused in the last line, and all that was counted is there."""
    progress: list[int] = []

    def documents(process: subprocess.Popen[str], client: Client) -> Iterator[dict[str, Any]]:
        for at in range(5000):
            if at == 600:
                until(lambda: len(client) > 200)
                process.send_signal(signal.SIGTERM)
            if at > 600:
                time.sleep(0.002)
            yield {"id": f"s{at}", "text": f"sun {at}"}

    with victim(path) as (process, url), Client(url, retries=0) as client:
        with pytest.raises(GossamerError, match="the server is stopping, and nothing was changed"):
            client.add_stream(documents(process, client), progress=progress.append)
        assert process.wait(20) == 0
    with Index.open(path, slowly, mode="r") as index:
        assert len(index) == 200 + progress[-1]
        assert {f"s{at}" for at in range(progress[-1])} <= set(index.ids())
