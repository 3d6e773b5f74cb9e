"""A cluster on two Ray nodes of this machine, under load, while actors and a node are killed; prints what was seen.

A program of its own, since a process can join one Ray cluster only.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bag import encode
from cluster.themes import corpus
from gossamer.cluster import Cluster, runtime

COUNT = 300


class Load:
    """Queries and additions, one after the other, until it is stopped."""

    def __init__(self, cluster: Cluster, texts: list[str]) -> None:
        self.cluster, self.texts = cluster, texts
        self.acknowledged: list[str] = []
        self.wanderings = 0
        self.answers: list[tuple[float, bool, int]] = []
        self.errors: list[str] = []
        self._on = threading.Event()
        self._on.set()
        self._threads = [threading.Thread(target=each) for each in (self._search, self._write)]
        for thread in self._threads:
            thread.start()

    def _search(self) -> None:
        at = 0
        while self._on.is_set():
            at += 1
            try:
                hits = self.cluster.search(self.texts[at % len(self.texts)], 10, recall=1.0)
                self.answers.append((time.monotonic(), hits.partial, len(hits)))
            except Exception as error:
                self.errors.append(f"search: {error!r}")

    def _write(self) -> None:
        at = 0
        while self._on.is_set():
            at += 1
            try:
                id = f"new-{at}"
                self.cluster.add([f"{self.texts[at % len(self.texts)]} again"], ids=[id])
                self.acknowledged.append(id)
                self.cluster.add([self.texts[at % 5]], ids=["wanderer"])  # of another theme each time: it moves
                self.wanderings += 1
            except Exception as error:
                self.errors.append(f"add: {error!r}")
            time.sleep(0.02)

    def stop(self) -> None:
        self._on.clear()
        for thread in self._threads:
            thread.join()

    def has_moved(self, times: int) -> bool:
        return self.wanderings >= times

    def partial_since(self, start: float) -> int:
        return sum(lacking for at, lacking, _ in list(self.answers) if at >= start)


def until(what: Callable[[], Any], seconds: float = 60.0) -> bool:
    """Whether something becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.1)
    return False


def is_whole(cluster: Cluster) -> bool:
    found = cluster.search("bread moon", 5, recall=1.0)
    return not found.partial and cluster.status().whole


def copies(cluster: Cluster, id: str) -> list[str]:
    """The texts that shards hold under an id."""
    connection = cluster._connection
    answers = connection.ask_all("get", [id])
    assert not answers.missing
    return [found[id].text for found in answers.of.values() if id in found]


def moved(cluster: Cluster, pids: set[int]) -> int:
    """How many of these processes are no shard's any more."""
    return len(pids - {each.pid for each in cluster.status().shards})


def main(folder: Path) -> None:
    faulthandler.dump_traceback_later(400, exit=True)
    from ray.cluster_utils import Cluster as Nodes

    options = {"num_cpus": 2, "include_dashboard": False, "node_ip_address": "127.0.0.2", "object_store_memory": 2**27}
    nodes = Nodes(initialize_head=True, head_node_args=options)
    second = nodes.add_node(num_cpus=2, node_ip_address="127.0.0.2", object_store_memory=2**27)
    texts, ids, metadata = corpus(COUNT)
    seen: dict[str, Any] = {}
    with Cluster.create(folder / "c", encode, shards=3, address=nodes.address, patience=2.0) as cluster:
        cluster.add(texts, ids, metadata)
        module = runtime.ray()
        load = Load(cluster, texts)
        until(lambda: len(load.acknowledged) > 3)

        # A shard hangs, then dies: queries go on without it, then with it again.
        start, pid = time.monotonic(), cluster.status().shards[1].pid
        os.kill(pid, signal.SIGSTOP)
        seen["shard: partial"] = until(lambda: load.partial_since(start))
        os.kill(pid, signal.SIGKILL)
        seen["shard: whole again"] = until(lambda: is_whole(cluster))

        # The keeper is killed in the middle of changes, several times.
        for _ in range(3):
            until(partial(load.has_moved, load.wanderings + 2))
            os.kill(cluster._connection.ask_keeper("pid"), signal.SIGKILL)
        before = load.wanderings
        seen["keeper: changes go on"] = until(lambda: load.wanderings > before + 2)
        seen["keeper: whole"] = until(lambda: is_whole(cluster))

        # A node is killed, with all that runs there.
        start, pids = time.monotonic(), {each.pid for each in cluster.status().shards}
        nodes.remove_node(second, allow_graceful=False)
        until(lambda: moved(cluster, pids), 90.0)  # its processes die a moment later
        seen["node: whole again"] = until(lambda: is_whole(cluster), 90.0)
        seen["node: shards moved"] = moved(cluster, pids)
        before = load.wanderings
        seen["node: changes go on"] = until(lambda: load.wanderings > before + 1)
        load.stop()

        seen["errors"] = load.errors
        seen["searches"] = len(load.answers)
        seen["acknowledged"] = len(load.acknowledged)
        everything = cluster.ids()
        seen["lost"] = sorted({*ids, *load.acknowledged} - set(everything))
        seen["twice"] = len(everything) - len(set(everything))
        seen["copies"] = len(copies(cluster, "wanderer"))
        cluster.check()
        seen["documents"] = [len(cluster), sum(each.documents for each in cluster.status().shards)]

    with Cluster.create(folder / "r", encode, shards=1, replicas=1, address=nodes.address) as cluster:
        cluster.add(texts, ids, metadata)
        until(lambda: is_whole(cluster))
        load = Load(cluster, texts)
        until(lambda: len(load.answers) > 10)
        start = time.monotonic()
        os.kill(cluster.status().shards[0].pid, signal.SIGKILL)  # the one of the two that answered
        until(lambda: len(load.answers) > 300, 10.0)
        load.stop()
        seen["replica: partial"] = load.partial_since(start)
        seen["replica: errors"] = load.errors
        until(lambda: is_whole(cluster))
        seen["replica: lost"] = sorted({*ids, *load.acknowledged} - set(cluster.ids()))
    module.shutdown()
    nodes.shutdown()
    print("SEEN", json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
