"""A Ray dataset → encoded documents: read on all nodes, encoded by actors that each load the encoder once.

In: a `ray.data.Dataset` and what is to be done with its rows (`Work`). Out: documents with the vectors of their
passages, batch by batch, in the order of the dataset. `Cluster.add_dataset` adds them.

A batch comes back pickled, in one value: Arrow need not know what is in it, and an error of this package arrives as
the error it was.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import positive
from gossamer.cluster import runtime
from gossamer.cluster.connection import Known
from gossamer.errors import DtypeError, GossamerError, InputError, ParameterError, UnknownEncoderError
from gossamer.files.bundle import Bundle
from gossamer.index import Encoder, EncoderSpec, encode_texts, load_encoder
from gossamer.index.part import checked_documents, encoder_again, is_learning, passages_of, read_table


class EncodedText(NamedTuple):
    """A document with the vectors of its passages."""

    text: str
    metadata: dict[str, Any]
    passages: list[str]
    vectors: Floats


EncodedBatch: TypeAlias = dict[str, EncodedText]
"""Documents by their ids, in the order of the dataset."""


class Columns(NamedTuple):
    """The columns that hold the texts, the ids and the metadata; None means all others."""

    text: str | Sequence[str]
    id: str
    metadata: Sequence[str] | None


class Work(NamedTuple):
    """What an actor needs to know to read and encode rows."""

    columns: Columns
    encoder: str
    name: str
    """The name that the cluster has for the encoder; `encoder` may have options besides."""
    fingerprint: str
    dim: int
    learnt: Bundle | None
    max_tokens: int | None
    overlap: int


class Pool(NamedTuple):
    """The actors that encode: how many, the CPUs and GPUs of each, and the documents that it encodes at a time."""

    encoders: int
    num_cpus: float
    num_gpus: float
    batch_size: int

    @classmethod
    def checked(cls, encoders: int, num_cpus: float, num_gpus: float, batch_size: int) -> Pool:
        """A pool that Ray has room for: if its actors took all CPUs, Ray would wait for ever for one to read with."""
        made = cls(positive(encoders, "encoders"), num_cpus, num_gpus, positive(batch_size, "batch_size"))
        for name, each in (("num_cpus", num_cpus), ("num_gpus", num_gpus)):
            if isinstance(each, bool) or not isinstance(each, int | float) or not each >= 0:
                raise ParameterError(f"{name} must be a number of at least 0, got {each!r}")
        there: Mapping[str, float] = runtime.ray().cluster_resources()
        cpus, gpus = there.get("CPU", 0.0), there.get("GPU", 0.0)
        if num_cpus and encoders * num_cpus + 1 > cpus:
            raise ParameterError(
                f"encoders={encoders} with num_cpus={num_cpus:g} each, and one CPU to read with, are more than the "
                f"{cpus:g} CPUs that Ray has: take fewer encoders, or a smaller num_cpus"
            )
        if encoders * num_gpus > gpus:
            raise ParameterError(
                f"encoders={encoders} with num_gpus={num_gpus:g} each are more than the {gpus:g} GPUs that Ray has: "
                "take fewer encoders, or a smaller num_gpus"
            )
        return made


class BatchEncoder:
    """An actor of Ray Data. Its encoder is loaded with the first batch."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._encoder: Encoder | None = None

    def __call__(self, table: Any) -> dict[str, list[bytes]]:
        """One row for a batch, an Arrow table: its documents, or the error that they ended in."""
        found: EncodedBatch | GossamerError
        try:
            found = self._encoded(table.to_pylist())
        except GossamerError as error:
            found = error
        return {"encoded": [pickle.dumps(found, protocol=5)]}

    def _encoded(self, rows: list[dict[str, Any]]) -> EncodedBatch:
        work = self._work
        if self._encoder is None:
            self._encoder = encoder_again(work.name, work.fingerprint, work.dim, work.learnt, work.encoder)
        try:
            ids, texts, metadata = _documents(rows, work.columns)
        except ParameterError:
            raise
        except InputError as error:
            first = rows[0].get(work.columns.id)
            raise type(error)(f"in the batch that begins with the id {first!r}: {error}") from error
        parts = [passages_of(text, work.max_tokens, work.overlap) for text in texts]
        vectors = encode_texts(self._encoder, [part for own in parts for part in own])
        by_text = np.split(vectors, np.cumsum([len(own) for own in parts])[:-1])
        return dict(zip(ids, map(EncodedText, texts, metadata, parts, by_text), strict=True))


def _documents(rows: list[dict[str, Any]], columns: Columns) -> tuple[list[str], list[str], list[dict[str, Any]]]:
    """Ids, texts and metadata of rows, checked as `Cluster.add` does; of rows with the same id the last one counts."""
    found = read_table(rows, columns.text, columns.id, columns.metadata)
    assert found.ids is not None
    last = {id: at for at, id in enumerate(found.ids)}
    texts, metadata = [found.texts[at] for at in last.values()], [found.metadata[at] for at in last.values()]
    texts, _, metadata, _ = checked_documents(texts, list(last), metadata, None)
    return list(last), texts, metadata


def work_for(known: Known, encoder: Encoder, given: EncoderSpec | None, columns: Columns) -> Work:
    """What actors have to know of a cluster; raises where they could not load its encoder."""
    found = known.description
    if is_learning(encoder) and not found.is_routed:
        raise ParameterError(
            f"the encoder {encoder.name!r} learns from the first documents, which one program has to hold: add some "
            "thousand of them, a mixture, with add, and the rest with add_dataset"
        )
    name = given if isinstance(given, str) else encoder.name
    try:
        load_encoder(name)
    except UnknownEncoderError as error:
        raise ParameterError(
            f"the encoder {name!r} cannot be loaded by its name, as the actors that encode have to: create the cluster "
            "with the name of an encoder, or encode the texts yourself and pass vectors to add"
        ) from error
    return Work(
        columns, name, encoder.name, encoder.fingerprint, found.dim, known.learnt, found.max_tokens, found.overlap
    )


def encoded_batches(dataset: Any, work: Work, pool: Pool) -> Generator[EncodedBatch, None, None]:
    """The documents of a dataset. Ray Data reads ahead, by as much as its store of objects has room for."""
    data = runtime.ray_data()
    # One task for each batch: a file of one large block is divided among all actors, and comes back bit by bit.
    mapped = dataset.repartition(target_num_rows_per_block=pool.batch_size).map_batches(
        BatchEncoder,
        fn_constructor_args=(_with_threads(work, pool),),
        batch_size=pool.batch_size,
        batch_format="pyarrow",
        compute=data.ActorPoolStrategy(size=pool.encoders),
        num_cpus=pool.num_cpus,
        num_gpus=pool.num_gpus or None,
    )
    options = mapped.context.execution_options  # the dataset's own: put back what it was
    before, options.preserve_order = options.preserve_order, True
    try:
        with closing(iter(mapped.iter_rows())) as rows:
            for row in rows:
                found = pickle.loads(row["encoded"])
                if isinstance(found, GossamerError):
                    raise found
                yield found
    finally:
        options.preserve_order = before


def check_dataset(dataset: Any) -> None:
    """Raise for anything but a dataset of Ray."""
    if not isinstance(dataset, runtime.ray_data().Dataset):
        raise DtypeError(
            f"add_dataset takes a ray.data.Dataset, got {type(dataset).__name__}: read files by ray.data.read_parquet, "
            "read_json or read_csv; for texts in memory use add"
        )


def gathered(batches: Iterable[EncodedBatch], enough: Callable[[], int]) -> Iterator[EncodedBatch]:
    """The batches, joined until they have `enough` documents; of documents with the same id the last one counts."""
    waiting: EncodedBatch = {}
    for batch in batches:
        waiting |= batch
        if len(waiting) >= enough():
            yield waiting
            waiting = {}
    if waiting:
        yield waiting


def _with_threads(work: Work, pool: Pool) -> Work:
    """The same, where minilm takes as many threads as an actor has CPUs; torch learns this from Ray by itself."""
    if work.encoder.strip() != "minilm":
        return work
    return work._replace(encoder=f"minilm?threads={max(1, int(pool.num_cpus))}")
