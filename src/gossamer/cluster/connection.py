"""What a program knows of a cluster it has joined: the router, handles of actors, how large shards were last seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import RLock
from typing import Any, Final

from gossamer.cluster import runtime
from gossamer.cluster.concepts import Forest, Upper, upper_tree
from gossamer.cluster.description import Description
from gossamer.cluster.keeper import actor_name
from gossamer.cluster.router import Router
from gossamer.cluster.shard import Reply
from gossamer.errors import UnreachableError
from gossamer.files.bundle import Bundle
from gossamer.index.part import Corpus, Space
from gossamer.results import Concept

_WORDS: Final = 20_000
"""Words whose frequencies are kept."""

_SEEN_ANEW: Final = 0.01
"""The roots of shards are asked for again when the number of passages has changed by this share."""


@dataclass(frozen=True)
class Known:
    """One version of the cluster."""

    description: Description
    router: Router | None = None
    space: Space | None = None
    learnt: Bundle | None = None

    @property
    def shards(self) -> range:
        """All shards; none before the first documents."""
        return range(self.description.shards if self.description.is_routed else 0)


@dataclass
class Answers:
    """What shards answered to one call."""

    of: dict[int, Any]
    missing: list[int] = field(default_factory=list)
    outdated: bool = False
    """Whether a shard knows of a newer version of the description."""
    operations: dict[int, int] = field(default_factory=dict)
    """The newest operation of each shard that answered."""


class Frequencies:
    """How many documents hold each word that was asked for, at certain operations of the shards.

    Words repeat from query to query, and as long as no shard has changed, what was said of them holds.
    """

    def __init__(self) -> None:
        self._state: tuple[dict[int, int], dict[str, Corpus]] = {}, {}

    @property
    def state(self) -> tuple[dict[int, int], dict[str, Corpus]]:
        """What is known by word, and the operation of each shard at which it holds; a value that does not change."""
        return self._state

    def note(self, operations: Mapping[int, int], words: Mapping[str, Corpus]) -> None:
        """What all shards together said at these operations, with what is known of others; what they said at other
        operations is forgotten."""
        before, known = self._state
        kept = known if before == operations and len(known) <= _WORDS else {}
        self._state = dict(operations), {**kept, **words}

    def forget(self) -> None:
        """Shards have changed."""
        self._state = {}, {}


def as_seen_by(words: Sequence[str], known: Mapping[str, Corpus]) -> Corpus:
    """The corpus as the words of a query see it, put together from how each of them does."""
    each = [known[word] for word in words]
    holders = {term: count for one in each for term, count in one.holders.items()}
    return Corpus(each[0].documents, each[0].total, holders) if each else Corpus()


class Connection:
    """Handles of the actors of a cluster, and what was learnt of it. Safe for use from many threads."""

    def __init__(self, keeper: Any, identity: str, patience: float = runtime.PATIENCE) -> None:
        self.keeper, self._identity, self.patience = keeper, identity, patience
        self._handles: dict[str, Any] = {}
        self._lock = RLock()
        self._round = count()
        self.sizes: dict[int, int] = {}
        self.counts: Any = None
        self.frequencies = Frequencies()
        self._roots: dict[int, Concept] = {}
        self._roots_seen = -1
        self._top: Upper | None = None
        self._forest: tuple[dict[int, int], Forest] | None = None
        self.known = self._fetch()

    def _fetch(self) -> Known:
        description, router, space, learnt = self.ask_keeper("describe")
        if router is None:
            return Known(description)
        return Known(description, Router.from_bundle(router), Space.from_bundle(space), learnt)

    def refresh(self) -> Known:
        """Fetch the description anew."""
        with self._lock:
            self.known = self._fetch()
            self.outdate()
            return self.known

    def ask_keeper(self, method: str, *args: Any, patience: float = runtime.RETRIED) -> Any:
        """Call the keeper, which Ray may be restarting; the call must bear being repeated."""
        return runtime.insisting(lambda: getattr(self.keeper, method).remote(*args), "the keeper", patience)

    def _actors(self, shard: int, *, writer: bool) -> list[Any]:
        """The actors that can answer for a shard, replicas in turn, the one to ask first at the front."""
        found = []
        for replica in range(1 if writer else self.known.description.replicas + 1):
            name = actor_name(shard, replica)
            if name not in self._handles:
                handle = runtime.find_actor(name, self._identity)
                if handle is None:
                    continue
                self._handles[name] = handle
            found.append(self._handles[name])
        if not found:
            raise UnreachableError(f"shard {shard} was never started: open the cluster again")
        turn = next(self._round) % len(found)
        return found[turn:] + found[:turn]

    def ask(self, calls: Mapping[int, bytes]) -> Answers:
        """Make packed calls of some shards, side by side."""
        if not calls:
            return Answers({})
        handles = {shard: self._actors(shard, writer=False) for shard in calls}
        found, missing = runtime.answers_of(handles, calls, self.patience)
        answers = Answers({}, missing)
        for shard, reply in found.items():
            assert isinstance(reply, Reply)
            answers.of[shard] = reply.value
            answers.operations[shard] = reply.operation
            answers.outdated |= reply.version > self.known.description.version
            self._note(shard, reply)
        return answers

    def ask_all(self, method: str, *args: Any, shards: Iterable[int] | None = None) -> Answers:
        """Call a method of all shards, or of some, with the same arguments."""
        wanted = self.known.shards if shards is None else shards
        return self.ask(dict.fromkeys(wanted, runtime.packed(method, args)))

    def insist(self, shard: int, method: str, *args: Any) -> Any:
        """Call a method of a shard, waiting for it while it is restarted."""
        call = lambda: getattr(self._actors(shard, writer=False)[0], method).remote(*args)  # noqa: E731
        reply = runtime.insisting(call, f"shard {shard}")
        self._note(shard, reply)
        return reply.value

    def _note(self, shard: int, reply: Reply) -> None:
        self.sizes[shard] = reply.passages

    def outdate(self) -> None:
        """The cluster was changed: the roots of shards, and how many documents concepts have, are asked for again."""
        with self._lock:
            self._roots_seen = -1
            self.counts = None

    def members(self) -> Any:
        """Documents of each concept, as last seen."""
        if self.counts is None:
            self.counts = self.ask_keeper("counts").sum(axis=1)
        return self.counts

    def forest(self) -> Forest | None:
        """The concepts above the shards; None while there are no documents."""
        known = self.known
        if known.router is None or known.space is None:
            return None
        with self._lock:
            seen, before = sum(self.sizes.values()), self._roots_seen
            if before < 0 or abs(seen - before) > _SEEN_ANEW * before:
                found = self.ask_all("describe").of.items()
                self._roots = {shard: root for shard, root in found if root is not None}
                self._top = upper_tree(known.router, known.description.assignment, sorted(self._roots))
                self._roots_seen = sum(self.sizes.values())
                self._forest = None
            sizes = dict(self.sizes)
            if self._top is None:
                return None
            if self._forest is None or self._forest[0] != sizes:
                self._forest = sizes, Forest(self._top, known.space.acuity, self._roots, sizes)
            return self._forest[1]
