"""The keeper: the actor that carries out changes, one at a time, and knows on which shard each document is.

It starts the shards. It may die at any moment: Ray makes it again, and what was under way is completed from the log of
intents before the next change (`recover`). Searches do not pass through it.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from gossamer.array_types import Floats
from gossamer.cluster import router, runtime
from gossamer.cluster.description import SHARDS, Description, Folder
from gossamer.cluster.placement import Intent, Placement
from gossamer.cluster.shard import Shard
from gossamer.errors import NotAnIndexError, ParameterError
from gossamer.files.bundle import Bundle, read_bundle, write_bundle
from gossamer.index.part import EncodedElsewhere, Space, create_part

BATCH = 256
"""Documents that are moved to another shard at once."""

TOLERANCE = 1.2
"""A shard is too large where it holds so many times as many documents as the mean of all."""


class Bound(NamedTuple):
    """Documents of one change on their way to one shard: their ids and concepts, and the load, which Ray keeps."""

    shard: int
    ids: list[str]
    concepts: list[int]
    rows: list[int]
    """Their places in the order in which they were given."""
    load: Any


class Keeper:
    """The one that changes a cluster."""

    def __init__(self, path: str) -> None:
        self._folder = Folder(Path(path))
        self._description = Description.read(self._folder)
        self._placement = Placement(self._folder.placement)
        self._turn = RLock()
        self._handles: dict[str, Any] = {}
        if self._description.is_routed:
            self._start_shards()

    # -- shards ------------------------------------------------------------------------------------

    def _start_shards(self) -> None:
        for shard in range(self._description.shards):
            for replica in range(self._description.replicas + 1):
                self._handle(shard, replica)

    def _handle(self, shard: int, replica: int = 0) -> Any:
        name = actor_name(shard, replica)
        if name not in self._handles:
            found = self._description
            encoder = (found.encoder, found.fingerprint, found.dim)
            arguments = str(self._folder.shard(shard)), encoder, "r" if replica else "w", found.version
            self._handles[name] = runtime.create_actor(Shard, name, found.identity, *arguments, spread=True)
        return self._handles[name]

    def _on(self, shard: int, method: str, *args: Any) -> tuple[str, Callable[[], Any]]:
        """A call of a shard, for `runtime.insisting_on_all`."""
        return f"shard {shard}", lambda: getattr(self._handle(shard), method).remote(*args)

    def _change(self, description: Description) -> None:
        """Make a new description durable, then known."""
        description.write(self._folder)
        self._description = description
        for handle in self._handles.values():
            handle.set_version.remote(description.version)

    # -- asking ------------------------------------------------------------------------------------

    def describe(self) -> tuple[Description, Bundle | None, Bundle | None, Bundle | None]:
        """The description, with router, space and what the encoder has learnt."""
        found = self._description
        if not found.is_routed:
            return found, None, None, None
        learnt = read_bundle(self._folder.encoder, "encoder") if self._folder.encoder.exists() else None
        return found, read_bundle(self._folder.router, "router"), read_bundle(self._folder.space, "space"), learnt

    def count(self) -> int:
        """Documents that were acknowledged."""
        return len(self._placement)

    def counts(self) -> Any:
        """Documents by concept and shard."""
        return self._placement.counts(len(self._description.assignment), self._description.shards)

    def places(self, ids: list[str]) -> dict[str, tuple[int, int]]:
        """The shard and the arrival number of those of some documents that are there."""
        return {id: (place.shard, place.number) for id, place in self._placement.places(ids).items()}

    def new_ids(self, count: int) -> list[str]:
        """Ids for documents that come without one."""
        return self._placement.new_ids(count)

    def operation(self) -> int:
        """The number of the newest operation."""
        return self._placement.operation

    def pid(self) -> int:
        """The process of the keeper."""
        return os.getpid()

    # -- beginning ---------------------------------------------------------------------------------

    def begin(self, sample: Floats, fingerprint: str, language: str, learnt: Bundle | None) -> None:
        """Make space and router from the vectors of the first documents, and the shards; again does nothing."""
        with self._turn:
            found = self._description
            if found.is_routed:
                return
            space = Space.fitted(sample)
            made, assignment, curve = router.fit(space.project(sample), found.shards)
            if learnt is not None:
                write_bundle(self._folder.encoder, "encoder", learnt)
            write_bundle(self._folder.space, "space", space.to_bundle())
            write_bundle(self._folder.router, "router", made.to_bundle())
            dim = sample.shape[1]
            found = found.changed(
                fingerprint=fingerprint, language=language, dim=dim, assignment=tuple(assignment), curve=tuple(curve)
            )
            for shard in range(found.shards):
                self._create_shard(found, shard, space)
            self._change(found)  # the last step: before it there is no cluster
            self._start_shards()

    def _create_shard(self, found: Description, shard: int, space: Space) -> None:
        path = self._folder.shard(shard)
        shutil.rmtree(path, ignore_errors=True)  # what a crash left of an earlier beginning
        path.parent.mkdir(exist_ok=True)
        encoder = EncodedElsewhere(found.encoder, found.fingerprint, found.dim)
        with create_part(
            path, encoder, space, max_tokens=found.max_tokens, overlap=found.overlap, language=found.language
        ):
            pass

    # -- changing ----------------------------------------------------------------------------------

    def add(self, version: int, bound: Sequence[Bound]) -> bool:
        """Add documents to the shards they were routed to; all of them are durable when this returns.

        False, and nothing was done, where they were routed by an older version of the description.
        """
        with self._turn:
            if version != self._description.version:
                return False
            self.recover()
            targets = [
                (row, (id, concept, each.shard))
                for each in bound
                for id, concept, row in zip(each.ids, each.concepts, each.rows, strict=True)
            ]
            intents = self._placement.begin(target for _, target in sorted(targets))
            runtime.insisting_on_all([self._on(each.shard, "add", each.load) for each in bound])
            self._finish(intents)
            return True

    def _finish(self, intents: Sequence[Intent]) -> None:
        """The shards have done their parts: let placements take effect, and old shards delete their copies."""
        self._placement.settle(intents)
        left = [each for each in intents if each.target is not None and each.source not in (None, each.target)]
        if left:
            self._delete_from_sources(left)
            self._placement.forget(left)

    def _delete_from_sources(self, intents: Sequence[Intent]) -> None:
        by_shard: dict[int, list[str]] = defaultdict(list)
        for each in intents:
            assert each.source is not None
            by_shard[each.source].append(each.id)
        runtime.insisting_on_all([self._on(shard, "delete", ids) for shard, ids in by_shard.items()])

    def recover(self) -> int:
        """Complete what the last keeper, or a shard that died, left undone; returns how many documents that were."""
        with self._turn:
            pending = self._placement.intents()
            if not pending:
                return 0
            deleted = [each for each in pending if each.target is None]
            if deleted:
                self._delete_from_sources(deleted)
                self._placement.settle(deleted)
            coming: dict[int, list[Intent]] = defaultdict(list)
            for each in pending:
                if each.target is not None:
                    coming[each.target].append(each)
            for shard, intents in coming.items():
                held = runtime.insisting(
                    self._on(shard, "get", [each.id for each in intents])[1], f"shard {shard}"
                ).value
                self._finish([each for each in intents if each.id in held])
                self._placement.forget([each for each in intents if each.id not in held])
            return len(pending)

    def update(self, ids: list[str], metadata: list[Mapping[str, Any]]) -> list[str]:
        """Set fields of metadata; returns the ids that are not there, and then nothing was done."""
        with self._turn:
            self.recover()
            places = self._placement.places(ids)
            if missing := [id for id in ids if id not in places]:
                return missing
            by_shard: dict[int, tuple[list[str], list[Mapping[str, Any]]]] = defaultdict(lambda: ([], []))
            for id, change in zip(ids, metadata, strict=True):
                by_shard[places[id].shard][0].append(id)
                by_shard[places[id].shard][1].append(change)
            runtime.insisting_on_all([self._on(shard, "update", *both) for shard, both in by_shard.items()])
            return []

    def delete(self, ids: list[str]) -> int:
        """Delete documents; returns how many were there."""
        with self._turn:
            self.recover()
            intents = self._placement.begin_deletion(ids)
            if intents:
                self._delete_from_sources(intents)
                self._placement.settle(intents)
            return len(intents)

    # -- keeping in balance --------------------------------------------------------------------------

    def grow(self, shards: int) -> None:
        """Make further shards, which are empty until the next rebalancing."""
        with self._turn:
            found = self._description
            if not found.shards <= shards <= SHARDS:
                raise ParameterError(f"the cluster has {found.shards} shards: choose as many, or up to {SHARDS}")
            if found.is_routed:
                space = Space.from_bundle(read_bundle(self._folder.space, "space"))
                for shard in range(found.shards, shards):
                    self._create_shard(found, shard, space)
            self._change(found.changed(shards=shards))
            if found.is_routed:
                self._start_shards()

    def plan(self, tolerance: float) -> list[tuple[int, int, int]]:
        """Which concepts to move, from and to which shard, so that no shard is too large."""
        found = self._description
        if not found.is_routed:
            return []
        made = router.Router.from_bundle(read_bundle(self._folder.router, "router"))
        return planned(made.means, list(found.assignment), self.counts().sum(axis=1), found.shards, tolerance)

    def move(self, concept: int, target: int) -> int:
        """Move the documents of a concept to another shard, in batches; returns how many were moved.

        New documents of the concept go to the new shard from the start. Searches ask both until all are moved, and
        other changes are made between two batches. Should this be stopped, the next rebalancing goes on.
        """
        with self._turn:
            source = self._description.assignment[concept]
            assignment = list(self._description.assignment)
            assignment[concept] = target
            leaving = dict.fromkeys((*self._description.leaving, (concept, source)))
            leaving.pop((concept, target), None)
            self._change(self._description.changed(assignment=tuple(assignment), leaving=tuple(leaving)))
        return self.complete_moves()

    def complete_moves(self) -> int:
        """Move what is still on shards that its concept was moved away from."""
        moved = 0
        for concept, source in self._description.leaving:
            while count := self._move_some(concept, source):
                moved += count
            with self._turn:
                left = tuple(each for each in self._description.leaving if each != (concept, source))
                self._change(self._description.changed(leaving=left))
        return moved

    def _move_some(self, concept: int, source: int) -> int:
        with self._turn:
            self.recover()
            target = self._description.assignment[concept]
            ids = self._placement.some_of(concept, source, BATCH)
            if not ids or source == target:
                return 0
            loads = runtime.insisting(self._on(source, "take", ids)[1], f"shard {source}")
            intents = self._placement.begin((id, concept, target) for id in ids)
            for load in loads:
                runtime.insisting(self._on(target, "add", load)[1], f"shard {target}")
            self._finish(intents)
            return len(ids)

    # -- keeping -------------------------------------------------------------------------------------

    def on(self, shard: int, method: str, *args: Any) -> None:
        """Call a method of one shard; changes wait meanwhile."""
        with self._turn:
            runtime.insisting(self._on(shard, method, *args)[1], f"shard {shard}")

    def on_all(self, method: str, *args: Any) -> None:
        """Call a method of every shard; changes wait meanwhile."""
        with self._turn:
            if self._description.is_routed:
                runtime.insisting_on_all([self._on(shard, method, *args) for shard in range(self._description.shards)])

    def backup(self, path: str) -> int:
        """Copy the whole cluster as of one operation, which is returned; changes wait, searches go on."""
        target = Folder(Path(path).absolute())
        if target.path.exists() and any(target.path.iterdir()):
            raise NotAnIndexError(f"{target.path} exists: choose another path for the copy of a cluster")
        draft = Folder(target.path.with_name(f".{target.path.name}.{uuid4().hex[:12]}"))
        with self._turn:
            self.recover()
            draft.path.mkdir(parents=True)
            try:
                operation = self._placement.copy_to(draft.placement)
                if self._description.is_routed:
                    (draft.path / "shards").mkdir()
                    runtime.insisting_on_all([
                        self._on(shard, "backup", str(draft.shard(shard))) for shard in range(self._description.shards)
                    ])  # fmt: skip
                for name in ("space", "router", "encoder"):
                    if (self._folder.path / name).exists():
                        shutil.copytree(self._folder.path / name, draft.path / name)
                # A name of its own: original and copy may be open on one Ray cluster.
                replace(self._description, identity=uuid4().hex).write(draft)
                if target.path.exists():
                    target.path.rmdir()
                os.rename(draft.path, target.path)
            except BaseException:
                shutil.rmtree(draft.path, ignore_errors=True)
                raise
        return operation

    def stop(self) -> None:
        """End all shards, their files closed, and close the placements."""
        with self._turn:
            for handle in self._handles.values():
                runtime.end_actor(handle, "close")
            self._placement.close()


def actor_name(shard: int, replica: int) -> str:
    """The name of the actor of a shard; 0 is the one that writes."""
    return f"shard-{shard}" if not replica else f"shard-{shard}-replica-{replica}"


def planned(
    means: Floats, assignment: list[int], sizes: Any, shards: int, tolerance: float
) -> list[tuple[int, int, int]]:
    """Moves (concept, from, to) after which no shard has more than `tolerance` times the mean, if concepts allow it.

    From the largest shard to the smallest: of the concepts that make both more equal, the one that is nearest to what
    the smallest shard holds already, so that neighbours stay together.
    """
    moves: list[tuple[int, int, int]] = []
    held = np.bincount(assignment, weights=sizes, minlength=shards)
    for _ in range(len(assignment) * 2):
        large, small = int(held.argmax()), int(held.argmin())
        if held[large] <= tolerance * held.mean():
            break
        own = [concept for concept, shard in enumerate(assignment) if shard == large and sizes[concept] > 0]
        gap = held[large] - held[small]
        fitting = [concept for concept in own if sizes[concept] < gap]
        if not fitting:
            break
        there = [concept for concept, shard in enumerate(assignment) if shard == small and sizes[concept] > 0]
        if there:
            middle = np.average(means[there], axis=0, weights=np.asarray(sizes)[there])
            chosen = min(fitting, key=lambda concept: float(np.square(means[concept] - middle).sum()))
        else:  # an empty shard begins with the largest concept that fits
            chosen = max(fitting, key=lambda concept: (sizes[concept] <= gap / 2, sizes[concept]))
        moves.append((chosen, large, small))
        assignment[chosen] = small
        held[large] -= sizes[chosen]
        held[small] += sizes[chosen]
    return moves
