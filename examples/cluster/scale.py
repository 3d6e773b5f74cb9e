"""How far a cluster goes: measured constants, and what they come to for more documents.

    python examples/cluster/scale.py [--documents 1e9] [--json]

A model, not a measurement: it multiplies. Where the constants are from is told in docs/scale.md; put in your own.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass, replace

GB = 1e9


@dataclass(frozen=True)
class Constants:
    """What was measured, with 384 dimensions and questions of 60 characters; times on one core of the machine."""

    memory: float = 7_400.0
    """Bytes of memory of a document in the process of its shard, at the peak of building; 4,000 once it is opened."""
    process: float = 0.3e9
    """Bytes of a shard's process without documents."""
    disk: float = 3_561.0
    """Bytes of disk a document takes."""
    asked: float = 0.48
    """Share of 4 shards that a dense query asks for a recall of 0.99 ..."""
    fewer: float = 0.30
    """... and how that share falls: as (shards / 4) to the power of minus this (0.32 of 16 shards)."""
    search: float = 1.3e-3
    """Seconds that a shard works on one dense search, its answer included."""
    words: float = 1.0e-3
    """Seconds that a shard works on the words of one query."""
    call: float = 0.4e-3
    """Seconds that the program which asks works for each call of a shard."""
    answer: float = 11_000.0
    """Bytes of one shard's answer."""
    concept: float = 3_100.0
    """Bytes of a concept of the router: mean and variances."""
    route: float = 1.2e-6
    """Seconds to compare a query with one concept of the router."""
    placement: float = 75.0
    """Bytes of a document in the keeper's database."""
    build: float = 4.0e-4
    """Seconds of one core to add a document to its shard, vector given."""


@dataclass(frozen=True)
class Estimate:
    """What some number of documents takes."""

    documents: float
    shards: int
    memory_gb: float
    disk_gb: float
    nodes_of_64_gb: int
    shards_asked: float
    dense_ms: float
    dense_cpu_ms: float
    hybrid_ms: float
    hybrid_cpu_ms: float
    network_kb: float
    router_mb: float
    placement_gb: float
    build_core_hours: float


def estimate(documents: float, per_shard: float, c: Constants) -> Estimate:
    """The model. Shards are asked side by side; the program that asks makes its calls one after the other."""
    shards = max(1, round(documents / per_shard))
    concepts = min(192 * shards, 16_384)
    share = min(1.0, c.asked * (max(shards, 4) / 4) ** -c.fewer)
    asked = max(1.0, share * shards)
    memory = documents * c.memory + shards * c.process
    route = concepts * c.route
    dense = route + asked * c.call + c.search
    by_words = 2 * (shards * c.call + c.words)
    return Estimate(
        documents=documents,
        shards=shards,
        memory_gb=memory / GB,
        disk_gb=documents * c.disk / GB,
        nodes_of_64_gb=-int(-memory // (0.8 * 64 * GB)),
        shards_asked=asked,
        dense_ms=1e3 * dense,
        dense_cpu_ms=1e3 * (route + asked * (c.call + c.search)),
        hybrid_ms=1e3 * (dense + by_words),
        hybrid_cpu_ms=1e3 * (route + asked * (c.call + c.search) + 2 * shards * (c.call + c.words)),
        network_kb=asked * c.answer / 1e3,
        router_mb=concepts * c.concept / 1e6,
        placement_gb=documents * c.placement / GB,
        build_core_hours=documents * c.build / 3600,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=float, help="one number of documents instead of the table")
    parser.add_argument("--per-shard", type=float, default=1e6, help="documents of a shard")
    parser.add_argument("--call-ms", type=float, help="another cost of a call, of a faster machine, say")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    constants = Constants()
    if arguments.call_ms is not None:
        constants = replace(constants, call=arguments.call_ms / 1e3)
    counts = [arguments.documents] if arguments.documents else [1e6, 1e7, 1e8, 1e9]
    found = [asdict(estimate(count, arguments.per_shard, constants)) for count in counts]
    if arguments.json:
        print(json.dumps(found, indent=1))
        return
    for name in found[0]:
        print(f"{name:18}", *(f"{row[name]:>16,.0f}" if row[name] >= 100 else f"{row[name]:>16.3g}" for row in found))


if __name__ == "__main__":
    main()
