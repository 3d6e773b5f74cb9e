"""Cluster: one logical index over many nodes. Read this first.

    with Cluster.create("news.cluster", encoder="minilm", shards=4) as cluster:
        cluster.add(texts, ids, metadata)
        hits = cluster.search("a question", k=10, where={"year": {"$gte": 2020}})

Documents are divided among shards by a router: the upper concepts of a tree over the first documents (`router`). Each
shard is a Ray actor that holds an index of its own, a `.gsm` folder (`shard`). One more actor, the keeper, carries out
changes and knows where each document is (`keeper`, `placement`). A query is encoded here and goes to the shards
themselves (`searching`). `Cluster` checks arguments and says what happens in which order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.checks import as_vectors, positive
from gossamer.cluster import runtime
from gossamer.cluster.concepts import local_id
from gossamer.cluster.connection import Connection
from gossamer.cluster.dataset import Columns, EncodedBatch, Pool, check_dataset, encoded_batches, gathered, work_for
from gossamer.cluster.description import SHARDS, Description, Folder
from gossamer.cluster.keeper import TOLERANCE, Bound, Keeper
from gossamer.cluster.reader import ClusterReader
from gossamer.cluster.results import ClusterStatus, Rebalancing, ShardStatus
from gossamer.cluster.shard import Load
from gossamer.errors import InputError, NotAnIndexError, ParameterError
from gossamer.index import EncoderSpec, Progress, encode_texts, load_encoder
from gossamer.index.part import (
    as_changes,
    as_ids,
    check_chunking,
    check_language,
    checked_documents,
    is_learning,
    language_of,
    passages_of,
)
from gossamer.results import Document

SAMPLE: Final = 20_000
"""Documents that the router is made of, at most: the first of those that are added first."""

_ATTEMPTS: Final = 10
"""How often documents are routed again because concepts were given to other shards meanwhile."""


class _Made(NamedTuple):
    """Encoded texts: the passages of each, the vectors of all passages, and the vector by which each text is routed.

    Texts that came with vectors are not divided: there are no passages.
    """

    parts: list[list[str]] | None
    vectors: Floats
    means: Floats


class Cluster(ClusterReader):
    """Documents over many nodes that are searched as one index. It needs Ray: ``pip install "gossamer[ray]"``.

    The folder must be on a file system that every node sees. Any number of programs may have one cluster open; changes
    are made one at a time. Where a shard is away, searches go on over the others and say so, see `ClusterHits.partial`;
    Ray makes it again from its folder.

    >>> with Cluster.create("notes.cluster", encoder="lsa", shards=2) as notes:
    ...     notes.add(["a first note", "a second one"])
    ...     len(notes)
    ['1', '2']
    2
    """

    def __init__(self, folder: Folder, connection: Connection, encoder: EncoderSpec | None, *, ends: bool) -> None:
        """Use `create`, `open` or `connect`."""
        super().__init__(folder, connection, encoder)
        self._ends = ends

    # -- opening -----------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        encoder: EncoderSpec = "minilm",
        *,
        shards: int = 4,
        replicas: int = 0,
        max_tokens: int | None = 200,
        overlap: int | None = None,
        language: str = "auto",
        address: str | None = None,
        patience: float = runtime.PATIENCE,
    ) -> Self:
        """An empty cluster in the new folder `path`, open.

        `shards`: into how many indexes documents are divided; `grow` makes more. `replicas`: of each shard so many
        further actors that answer searches. `encoder`, `max_tokens`, `overlap` and `language` are those of
        `Index.create`; an encoder that learns does so once, from the documents of the first `add`. `address`: the Ray
        cluster to join; without it one is started on this machine, unless the program has joined one. `patience`:
        seconds that a search waits for a shard before it goes on without it.

        The first `add` makes the router, of at most 20,000 of its documents. With less than a thousand, or four for
        each dimension of the vectors, they are taken as they are instead of whitened, and every search asks all shards.

        >>> with Cluster.create("empty.cluster", encoder="lsa", shards=2) as empty:
        ...     len(empty)
        0
        """
        loaded, folder = load_encoder(encoder), Folder(Path(path).absolute())
        if not 1 <= positive(shards, "shards") <= SHARDS:
            raise ParameterError(f"shards must be at most {SHARDS}, got {shards}")
        if isinstance(replicas, bool) or not isinstance(replicas, int) or replicas < 0:
            raise ParameterError(f"replicas must be a whole number of at least 0, got {replicas!r}")
        overlap = check_chunking(max_tokens, overlap)
        check_language(language)
        runtime.ray()  # says what to install before a folder is made
        if folder.path.exists() and (not folder.path.is_dir() or any(folder.path.iterdir())):
            raise NotAnIndexError(f"{folder.path} exists: open it with Cluster.open, or choose another path")
        folder.path.mkdir(parents=True, exist_ok=True)
        Description(
            uuid4().hex, loaded.name, loaded.fingerprint, max_tokens, overlap, language, shards, replicas
        ).write(folder)  # fmt: skip
        return cls.open(path, encoder, address=address, patience=patience)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        encoder: EncoderSpec | None = None,
        *,
        address: str | None = None,
        patience: float = runtime.PATIENCE,
    ) -> Self:
        """The cluster at `path`: its actors are started where they do not run yet.

        Who has started them ends them with `close`. The cluster names its encoder, as an index does: see `Index.open`.

        >>> operation = cluster.backup("copy.cluster")
        >>> with Cluster.open("copy.cluster") as copy:
        ...     len(copy)
        18
        """
        folder = Folder(Path(path).absolute())
        found = Description.read(folder)
        runtime.start(address)
        ends = runtime.find_actor("keeper", found.identity) is None
        keeper = runtime.create_actor(Keeper, "keeper", found.identity, str(folder.path))
        cluster = cls(folder, Connection(keeper, found.identity, patience), encoder, ends=ends)
        if found.is_routed:
            cluster._connection.ask_keeper("recover", patience=runtime.RETRIED)
        return cluster

    def close(self, *, stop: bool | None = None) -> None:
        """Leave the cluster. Its actors end, with their files closed, if this object started them, or by `stop`.

        >>> cluster.close()  # doctest: +SKIP
        """
        if self._closed:
            return
        self._closed = True
        if self._ends if stop is None else stop:
            runtime.end_actor(self._connection.keeper, "stop", patience=60.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- changing ----------------------------------------------------------------------------------

    def add(
        self,
        texts: str | Iterable[str],
        ids: str | Iterable[str] | None = None,
        metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None = None,
        *,
        vectors: npt.ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> list[str]:
        """Add documents; returns their ids. An id that is there already is replaced, metadata included.

        All of them are in and durable when this returns. After an error some may be in, all of a shard or none of it:
        add them again. A new text may move a document to another shard: after a crash it is on one of the two.

        >>> cluster.add(["A note on rye.", "A note on oats."], ids=["rye", "oats"], metadata=[{"year": 2025}, {}])
        ['rye', 'oats']
        >>> cluster.delete(["rye", "oats"])
        2
        """
        connection = self._open
        listed, given, fields, prepared = checked_documents(texts, ids, metadata, vectors)
        if not listed:
            return []
        wanted = given if given is not None else connection.ask_keeper("new_ids", len(listed))
        make = self._encoded if self._is_routed() else self._begin
        self._place(listed, wanted, fields, make(listed, prepared, progress))
        return wanted

    def add_dataset(
        self,
        dataset: Any,
        *,
        text: str | Sequence[str] = "text",
        id: str = "id",
        metadata: Sequence[str] | None = None,
        encoders: int = 1,
        num_cpus: float = 1.0,
        num_gpus: float = 0.0,
        batch_size: int = 1_000,
        progress: Progress | None = None,
    ) -> int:
        """Add the rows of a `ray.data.Dataset`, which Ray reads and encodes on all nodes; returns how many were added.

        `text` names the column of texts, or several that are joined; `id` that of ids; `metadata` the columns to keep,
        all others without it. `encoders` actors load the encoder by its name, with `num_cpus` and `num_gpus` of a node
        each, and encode `batch_size` documents at a time; these are added, durably, as they come. An id that is there
        already is replaced, so after an error the whole dataset can be added again. For `progress` rows are counted
        first. The first documents make the router, 20,000 of them, which are added together: shuffle what is sorted.

        >>> import ray.data
        >>> rows = ray.data.from_items([{"key": "rye", "body": "A note on rye."}, {"key": "oats", "body": "On oats."}])
        >>> cluster.add_dataset(rows, text="body", id="key")
        2
        >>> cluster.delete(["rye", "oats"])
        2
        """
        connection = self._open
        check_dataset(dataset)
        pool = Pool.checked(encoders, num_cpus, num_gpus, batch_size)
        columns, encoder = Columns(text, id, metadata), self._encoder
        work = work_for(connection.known, encoder, self._given, columns)
        total, added = dataset.count() if progress is not None else 0, 0
        with closing(encoded_batches(dataset, work, pool)) as batches:
            for some in gathered(batches, lambda: pool.batch_size if self._is_routed() else SAMPLE):
                self._add_encoded(some)
                added += len(some)
                if progress is not None:
                    progress(added, total)
        return added

    def _add_encoded(self, documents: EncodedBatch) -> None:
        texts = [each.text for each in documents.values()]
        parts = [each.passages for each in documents.values()]
        vectors = np.concatenate([each.vectors for each in documents.values()])
        made = _Made(parts, vectors, _mean_by(vectors, parts))
        if not self._is_routed():
            self._begin(texts, made.means, None)
        self._place(texts, list(documents), [each.metadata for each in documents.values()], made)

    def _is_routed(self) -> bool:
        """Whether there is a router: there is none before the first documents."""
        connection = self._connection
        return connection.known.description.is_routed or connection.refresh().description.is_routed

    def _place(self, texts: list[str], ids: list[str], metadata: list[dict[str, Any]], made: _Made) -> None:
        """Let the keeper put encoded documents on the shards that the router names."""
        connection = self._connection
        for _ in range(_ATTEMPTS):
            known = connection.known
            bound = self._bound(texts, ids, metadata, made)
            if connection.ask_keeper("add", known.description.version, bound):
                connection.outdate()
                return
            connection.refresh()
        raise InputError(f"concepts of {self._folder.path} were moved {_ATTEMPTS} times meanwhile: add again")

    def _begin(self, texts: list[str], prepared: Floats | None, progress: Progress | None) -> _Made:
        """Encode the first documents, and let the keeper make the router from them; an encoder that learns does so."""
        description, encoder = self._connection.known.description, self._encoder
        made, learnt = None, None
        if is_learning(encoder):
            if prepared is not None:
                raise ParameterError(
                    f"the encoder {encoder.name!r} learns from the corpus: leave vectors out, or create the cluster "
                    "with the encoder they come from"
                )
            encoder.fit([part for text in texts for part in self._passages(text)])
            learnt = encoder.state()
            parts = [self._passages(text) for text in texts[:SAMPLE]]
            sample = _mean_by(encode_texts(encoder, [part for own in parts for part in own], progress=progress), parts)
        else:
            made = self._encoded(texts, prepared, progress)
            sample = made.means[:SAMPLE]
        language = language_of(texts[:SAMPLE], description.language)
        self._connection.ask_keeper("begin", sample, encoder.fingerprint, language, learnt, patience=600.0)
        self._connection.refresh()
        # Another program may have begun at the same time: then its encoder has learnt what counts.
        return self._encoded(texts, prepared, progress) if made is None else made

    def _passages(self, text: str) -> list[str]:
        found = self._connection.known.description
        return passages_of(text, found.max_tokens, found.overlap)

    def _encoded(self, texts: list[str], prepared: Floats | None, progress: Progress | None) -> _Made:
        if prepared is not None:
            checked = as_vectors(prepared, self._connection.known.description.dim or None)
            return _Made(None, checked, checked)
        parts = [self._passages(text) for text in texts]
        vectors = encode_texts(self._encoder, [part for own in parts for part in own], progress=progress)
        return _Made(parts, vectors, _mean_by(vectors, parts))

    def _bound(self, texts: list[str], ids: list[str], metadata: list[dict[str, Any]], made: _Made) -> list[Bound]:
        """Documents on their way to the shards that the router names."""
        known = self._connection.known
        assert known.router is not None
        assert known.space is not None
        parts, vectors, means = made
        concepts = known.router.concepts_of(known.space.project(means))
        shards = np.array(known.description.assignment)[concepts]
        starts = np.arange(len(texts) + 1) if parts is None else np.cumsum([0, *map(len, parts)])
        bound = []
        for shard in np.unique(shards).tolist():
            rows = np.flatnonzero(shards == shard).tolist()
            own = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
            load = Load(
                [ids[row] for row in rows], [texts[row] for row in rows], [metadata[row] for row in rows],
                vectors[own], None if parts is None else [part for row in rows for part in parts[row]],
            )  # fmt: skip
            bound.append(Bound(shard, load.ids, concepts[rows].tolist(), rows, runtime.ray().put(load)))
        return bound

    def update(self, ids: str | Iterable[str], metadata: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> None:
        """Set fields of the metadata of documents: one dict for all of them, or one for each. Nothing is encoded.

        Other fields stay as they are; the value None takes a field away. `UnknownIdError` where an id is not there.

        >>> cluster.update(["fox", "owl"], {"read": True})
        >>> cluster.get("fox").metadata
        {'words': 9, 'read': True}
        """
        wanted = as_ids(ids)
        changes = as_changes(metadata, len(wanted))
        missing = self._open.ask_keeper("update", wanted, [dict(each) for each in changes])
        if missing:
            raise self._unknown(missing[0])

    def delete(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        where: Mapping[str, Any] | Callable[[Document], bool] | None = None,
    ) -> int:
        """Remove documents by their ids, or those that match a filter; returns how many went.

        >>> cluster.add("A note on rye.", "rye")
        ['rye']
        >>> cluster.delete(["rye", "nothing"]), len(cluster)
        (1, 18)
        """
        if (ids is None) == (where is None):
            raise ParameterError('delete takes ids, or a filter, as in delete(where={"year": 2019})')
        wanted = self.ids(where=where) if ids is None else list(dict.fromkeys(as_ids(ids)))
        count: int = self._open.ask_keeper("delete", wanted)
        self._connection.outdate()
        return count

    def rename_concept(self, id: int, name: str | None) -> None:
        """Call a concept of a shard by a name instead of its label; None takes the name away.

        >>> below = cluster.find_concepts("who hunts mice", 1)[0].concept
        >>> cluster.rename_concept(below.id, "Hunters")
        >>> cluster.concept(below.id).label
        'Hunters'
        >>> cluster.rename_concept(below.id, None)
        """
        self.concept(id)  # raises where there is none
        number, shard = local_id(id)
        if shard is None:
            raise ParameterError("concepts above the shards have no names of their own: rename one below them")
        self._open.ask_keeper("on", shard, "rename", number, name)
        self._connection.outdate()

    # -- keeping -------------------------------------------------------------------------------------

    def status(self) -> ClusterStatus:
        """The cluster and each of its shards, as they are now.

        >>> status = cluster.status()
        >>> status.whole, len(status.shards), status.documents
        (True, 2, 18)
        """
        connection = self._open
        found = connection.refresh().description
        answers = connection.ask_all("info").of
        counts = connection.ask_keeper("counts").sum(axis=0) if found.is_routed else [0] * found.shards
        shards = []
        for shard in range(found.shards):
            info, pid = answers.get(shard, (None, 0))
            shards.append(
                ShardStatus(
                    shard=shard,
                    path=str(self._folder.shard(shard)),
                    documents=int(counts[shard]),
                    concepts=found.assignment.count(shard),
                    answers=info is not None or not found.is_routed,
                    bytes=0 if info is None else info.bytes,
                    operation=0 if info is None else info.operation,
                    pid=pid,
                )
            )
        return ClusterStatus(
            path=str(self._folder.path), documents=len(self), operation=connection.ask_keeper("operation"),
            version=found.version, encoder=found.encoder, dim=found.dim, concepts=len(found.assignment),
            replicas=found.replicas, shards=tuple(shards), moving=len(found.leaving),
        )  # fmt: skip

    def grow(self, shards: int) -> None:
        """Have so many shards from now on; new ones are empty until `rebalance`.

        >>> cluster.grow(2)
        >>> len(cluster.status().shards)
        2
        """
        self._open.ask_keeper("grow", positive(shards, "shards"))
        self._connection.refresh()

    def rebalance(self, *, tolerance: float = TOLERANCE, progress: Progress | None = None) -> Rebalancing:
        """Give concepts of shards that are too large to others, and move their documents.

        A shard is too large with more than `tolerance` times the mean. Searches and changes go on meanwhile.
        `progress(done, total)` counts concepts.

        >>> sum(cluster.rebalance().sizes)
        18
        """
        connection = self._open
        moved = connection.ask_keeper("complete_moves", patience=3600.0)
        plan: list[tuple[int, int, int]] = connection.ask_keeper("plan", float(tolerance))
        for done, (concept, _, target) in enumerate(plan, 1):
            moved += connection.ask_keeper("move", concept, target, patience=3600.0)
            if progress is not None:
                progress(done, len(plan))
        connection.refresh()
        sizes = connection.ask_keeper("counts").sum(axis=0).tolist() if connection.known.description.is_routed else []
        return Rebalancing(len(plan), moved, tuple(sizes))

    def rebuild(self) -> None:
        """Build the tree of every shard anew. The router and the whitener stay as they are.

        >>> cluster.rebuild()
        """
        self._open.ask_keeper("on_all", "rebuild", patience=3600.0)
        self._connection.outdate()

    def settle(self) -> None:
        """Do now what shards still have to do: let trees that are being renewed take effect, build missing links.

        >>> cluster.settle()
        """
        self._open.ask_keeper("on_all", "settle", patience=3600.0)
        self._connection.outdate()

    def check(self) -> None:
        """Raise where anything on disk or in a tree is not as it should be.

        >>> cluster.check()
        """
        self._open.ask_keeper("recover")
        self._open.ask_keeper("on_all", "check", patience=3600.0)

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Copy the cluster into the new folder `path`, as of one operation, which is returned; changes wait meanwhile.

        The copy is a cluster of its own: to restore is to open it.

        >>> operation = cluster.backup("copy.cluster")
        """
        operation: int = self._open.ask_keeper("backup", str(Path(path).absolute()), patience=3600.0)
        return operation


def _mean_by(vectors: Floats, parts: Sequence[Sequence[str]]) -> Floats:
    """The mean of the vectors of each text's passages."""
    if all(len(own) == 1 for own in parts):
        return vectors
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    sums = np.add.reduceat(vectors.astype(np.float64), starts, axis=0)
    found: Floats = (sums / np.array([len(own) for own in parts])[:, None]).astype(np.float32)
    return found
