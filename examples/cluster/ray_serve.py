"""The HTTP API and the explorer of a cluster on Ray Serve: several servers behind one address.

    pip install "gossamer[ray,serve,onnx]" "ray[serve]"
    python examples/cluster/ray_serve.py notes.cluster --replicas 2      # http://127.0.0.1:8000/

Each replica joins the cluster as any other program does. Without --address Ray is started on this machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

from ray import serve

from gossamer.cluster import Cluster
from gossamer.server.app import create_app
from gossamer.server.catalog import Catalog


def application(path: str, address: str, replicas: int) -> Any:
    """A deployment of the server over the cluster at `path`."""

    def build() -> Any:
        return create_app(Catalog({"cluster": Cluster.open(path, address=address)}))  # type: ignore[dict-item]

    @serve.deployment(num_replicas=replicas, graceful_shutdown_timeout_s=5, ray_actor_options={"num_cpus": 0})
    @serve.ingress(build)
    class Server:
        pass

    return Server.bind()


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve a cluster by Ray Serve.")
    parser.add_argument("cluster")
    parser.add_argument("--address", help="the Ray cluster to join")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--port", type=int, default=8000)
    asked = parser.parse_args()
    path = os.path.abspath(asked.cluster)
    with Cluster.open(path, address=asked.address) as cluster:
        serve.start(http_options={"host": "127.0.0.1", "port": asked.port})
        serve.run(application(path, cluster.address, asked.replicas))
        print(f"{cluster} at http://127.0.0.1:{asked.port}/ (Ctrl-C ends it)", flush=True)
        ended = threading.Event()
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: ended.set())
        while not ended.wait(1.0):
            pass
        serve.shutdown()


if __name__ == "__main__":
    main()
