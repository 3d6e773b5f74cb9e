"""What a cluster returns that one index does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gossamer.results import Hit, Hits


class ClusterHits(Hits):
    """The answers to one query, best first, and which shards were asked for them."""

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        visited: int = 0,
        warnings: tuple[str, ...] = (),
        asked: tuple[int, ...] = (),
        missing: tuple[int, ...] = (),
        shards: int = 0,
    ) -> None:
        super().__init__(hits, visited=visited, warnings=warnings)
        self.asked = asked
        """The shards that looked for answers, in ascending order."""
        self.missing = missing
        """The shards that should have been asked and did not answer: they are away, or were too slow."""
        self.shards = shards
        """How many shards there are."""

    def none(self) -> ClusterHits:
        """No answers, at the same cost."""
        return ClusterHits(
            visited=self.visited, warnings=self.warnings, asked=self.asked, missing=self.missing, shards=self.shards
        )

    @property
    def partial(self) -> bool:
        """Whether a shard that should have been asked did not answer: documents may be missing from the answers."""
        return bool(self.missing)


@dataclass(frozen=True)
class ShardStatus:
    """One shard of a cluster."""

    shard: int
    path: str
    documents: int
    """Those that the keeper has placed there."""
    concepts: int
    """Concepts of the router that are given to it."""
    answers: bool
    """Whether it answers now."""
    bytes: int = 0
    """Size of its folder on disk; 0 where it does not answer."""
    operation: int = 0
    """The newest operation of its index."""
    pid: int = 0
    """Its process."""


@dataclass(frozen=True)
class ClusterStatus:
    """A cluster as it is now."""

    path: str
    documents: int
    operation: int
    """The newest operation of the whole."""
    version: int
    """The version of its description: it grows when concepts are given to other shards."""
    encoder: str
    dim: int
    concepts: int
    """Concepts of the router."""
    replicas: int
    shards: tuple[ShardStatus, ...]
    moving: int
    """Concepts whose documents are being moved to another shard."""

    @property
    def whole(self) -> bool:
        """Whether every shard answers."""
        return all(each.answers for each in self.shards)


@dataclass(frozen=True)
class Rebalancing:
    """What a rebalancing did."""

    concepts: int
    """Concepts that were given to another shard."""
    documents: int
    """Documents that were moved."""
    sizes: tuple[int, ...]
    """Documents of each shard now."""
