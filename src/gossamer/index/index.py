"""Index: text in, explained answers out. Read this first.

    with Index.create("news.gsm", encoder="minilm") as ix:
        ix.add(texts, ids, metadata)
        hits = ix.search("a question", k=10, where={"year": {"$gte": 2020}})

Documents and a log of changes are in SQLite (`store`); the tree over the vectors of their passages is derived from the
log (`replay`); the encoder makes vectors of texts (`encoding`). `state` keeps the three in step. `Index` checks
arguments and says what happens in which order: `batch` and `upsert` for a change; `searching`, `query`, `ranking` and
`hits` for a search.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

import numpy.typing as npt

from gossamer.checks import as_place, as_timeout, one_of
from gossamer.encoders import Encoder, Progress, is_fitted_encoder, load_encoder
from gossamer.errors import ParameterError, StateError, enough_memory
from gossamer.explain.language_model import as_labeller
from gossamer.explain.naming import Labeller
from gossamer.index.batch import Batch, as_changes, as_ids, check_batch
from gossamer.index.encoding import Encoded, EncoderSpec, encode_ahead, new_settings, reload_encoder
from gossamer.index.query import Predicate, documents_of
from gossamer.index.reader import IndexReader
from gossamer.index.reencoding import reencode
from gossamer.index.repair import repair
from gossamer.index.state import IndexState
from gossamer.index.tables import read_table
from gossamer.index.upsert import (
    Plan,
    encoded_change,
    learned_change,
    must_learn,
    new_passages,
    prepared_change,
    spans_of,
)
from gossamer.results import Compaction, Passage, Repair, notebook
from gossamer.results.other_names import ADD, NEW, TABLE, UPDATE, telling_arguments
from gossamer.results.progress import ProgressOption, watched
from gossamer.store import Change, Store, rows
from gossamer.store.backup import back_up
from gossamer.store.layout import Layout
from gossamer.store.store import TIMEOUT, Mode

_UNFOLDED: Final = 2
"""Levels of concepts that an index shows of itself in a notebook."""


class Index(IndexReader):
    """Documents that can be searched by meaning, in memory or in a folder.

    Safe for use from many threads: searches run side by side, a change waits for them and is seen as a whole.
    Several processes may have one folder open, and write to it one at a time: a change takes a lock, waiting for others
    up to `timeout` seconds, and gives it back. Every call sees what all of them have written up to then.

    >>> import numpy as np
    >>> vowels = lambda texts: np.array([[text.count(vowel) for vowel in "aeiou"] for text in texts])
    >>> with Index(encoder=vowels) as ix:
    ...     ix.add(["a banana", "the queen", "moon rock"], ids=["fruit", "person", "thing"])
    ...     [hit.id for hit in ix.search("a papaya too", k=2)]
    ['fruit', 'person', 'thing']
    ['fruit', 'thing']
    """

    @telling_arguments(NEW)
    def __init__(
        self,
        encoder: EncoderSpec = "minilm",
        *,
        preset: Literal["default", "paper"] = "default",
        max_tokens: int | None = 200,
        overlap: int | None = None,
        language: str = "auto",
        labeller: Labeller | str | None = None,
    ) -> None:
        """An empty index in memory.

        `encoder`: a name (see `gossamer.encoders.known_encoders`) or any callable ``list[str] -> array``.
        `preset`: "default", or "paper" for whitening, acuity and structure of the paper (see `VectorIndex`).
        Texts longer than `max_tokens` are split into passages that share up to `overlap` tokens (30, or less where
        passages are short); None never splits.
        `language`: "english", "german", … whose words are found in all their forms; "none" for words as they stand;
        "auto" takes that of the first documents.
        `labeller`: "openai:<model>", "ollama:<model>" or a callable that gets a `LabelRequest`. It is called in the
        background, once for each concept, and again when it has changed much. Where it fails, terms are the label.
        """
        if isinstance(encoder, os.PathLike) or (isinstance(encoder, str) and encoder.endswith(".gsm")):
            raise ParameterError(
                f"Index({str(encoder)!r}) would be in memory, with an encoder of that name: "
                "use Index.create(path) for a new folder, Index.open(path) for one that is there"
            )
        loaded, labeller = load_encoder(encoder), as_labeller(labeller)
        self._begin(Store.in_memory(new_settings(loaded, preset, max_tokens, overlap, language)), loaded, labeller)

    @classmethod
    @telling_arguments(NEW)
    def create(
        cls,
        path: str | os.PathLike[str],
        encoder: EncoderSpec = "minilm",
        *,
        preset: Literal["default", "paper"] = "default",
        max_tokens: int | None = 200,
        overlap: int | None = None,
        language: str = "auto",
        labeller: Labeller | str | None = None,
        timeout: float = TIMEOUT,
    ) -> Self:
        """An empty index in the new folder `path`, open for writing; `timeout` as in `open`.

        `IndexExistsError` where there is one: `Index.open(path) if Path(path).exists() else Index.create(path)`.

        >>> with Index.create("notes.gsm", encoder="lsa") as index:
        ...     index.add(["a first note", "a second one"])
        ['1', '2']
        """
        path, loaded, labeller = as_place(path), load_encoder(encoder), as_labeller(labeller)
        settings = new_settings(loaded, preset, max_tokens, overlap, language)
        with enough_memory(f"to make {path}"):
            return cls._on(Store.create(path, settings, as_timeout(timeout)), loaded, labeller)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        encoder: EncoderSpec | None = None,
        *,
        mode: Mode = "w",
        labeller: Labeller | str | None = None,
        timeout: float = TIMEOUT,
    ) -> Self:
        """The index at `path`, to write and search, or with mode="r" to search alone.

        The index names its encoder. minilm and lsa are loaded by that name alone. Others can bring code, so name them
        yourself, as in encoder="st:all-mpnet-base-v2" (else `UntrustedEncoderError`); a callable must be passed again.
        Other processes may have it open at the same time, to read or to write. A change waits for another one that is
        being written, up to `timeout` seconds, then raises `LockedError`, which names the process.

        >>> ix.backup("notes.gsm")
        1
        >>> with Index.open("notes.gsm", mode="r") as reader:
        ...     len(reader)
        18
        """
        one_of(mode, "mode", ("w", "r"))
        path, labeller = as_place(path), as_labeller(labeller)
        with enough_memory(f"to open {path}"):
            store = Store.open(path, mode, as_timeout(timeout))
            try:
                with store.reading() as db:
                    learnt = rows.read_encoder_state(db)
                return cls._on(store, reload_encoder(store.settings, learnt, encoder), labeller)
            except BaseException:
                store.close()
                raise

    @staticmethod
    def repair(
        path: str | os.PathLike[str], encoder: EncoderSpec | None = None, *, progress: ProgressOption = None
    ) -> Repair:
        """Make a healthy index at `path` from whatever its documents.sqlite still holds, and say what is lost.

        The damaged folder is kept beside it, under the name that is returned. An index without damage is left alone.
        Documents whose vectors are lost are encoded again: by the encoder the index names, or the one given.

        >>> ix.backup("notes.gsm")
        1
        >>> Index.repair("notes.gsm").was_sound
        True
        """
        with watched(progress, "repairing", "texts") as told:
            return repair(as_place(path), encoder, told)

    @classmethod
    def _on(cls, store: Store, encoder: Encoder, labeller: Labeller | None) -> Self:
        index = cls.__new__(cls)
        try:
            index._begin(store, encoder, labeller)
        except BaseException:
            store.close()
            raise
        return index

    def _begin(self, store: Store, encoder: Encoder, labeller: Labeller | None) -> None:
        self.state = IndexState(store, encoder, labeller)

    def close(self) -> None:
        """Save the tree if it changed much, ready to be searched, and close the files. Again does nothing.

        Ctrl-C stops the saving, never the closing. In a child process, which shares the files with the one that
        opened the index, it does nothing.

        >>> ix.close()
        >>> ix.search("mice")
        Traceback (most recent call last):
            ...
        gossamer.errors.ClosedError: this index was closed: open it again with Index.open
        """
        self.state.close()

    def __reduce__(self) -> Any:
        raise StateError(
            "an open index cannot be pickled: pass its path to the other process, and open it there with Index.open"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- changing ----------------------------------------------------------------------------------

    @telling_arguments(ADD)
    def add(
        self,
        texts: str | Iterable[str],
        ids: str | Iterable[str] | None = None,
        metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None = None,
        *,
        vectors: npt.ArrayLike | None = None,
        passages: Iterable[Sequence[Passage]] | None = None,
        encoded: Encoded | None = None,
        progress: ProgressOption = None,
    ) -> list[str]:
        """Add documents; returns their ids. An id that is there already is replaced, metadata included.

        All of them are in and durable when this returns; after an error, none is. Without `ids` documents are
        numbered. A text that is there already under its id is not encoded again. `vectors` brings one prepared
        vector for each text, which is then neither encoded nor split; `passages` those of each text, with vectors, as
        `passages` of another index gives them. `encoded` is what `encode` made of these texts ahead.
        `progress(done, total)` counts encoded texts; True shows a bar, False none. At a prompt and in notebooks one
        appears by itself after two seconds.

        >>> ix.add(["A note on rye.", "A note on oats."], ids=["rye", "oats"], metadata=[{"year": 2025}, {}])
        ['rye', 'oats']
        """
        with enough_memory("for so many documents"):
            batch = check_batch(texts, ids, metadata, vectors, passages)
        state = self.state
        state.check_writable()
        if not batch.texts:
            return []
        with watched(progress, "encoding", "texts", then="building the tree") as told:
            return self._add(batch, encoded, told)

    def _add(self, batch: Batch, encoded: Encoded | None, progress: Progress | None) -> list[str]:
        state = self.state
        ahead = self._encode_ahead(batch, encoded, progress) if batch.vectors is None else None
        with state.writer():
            if ahead is not None and ahead[0] is state.encoder:  # else the index has another one by now
                encoded, progress = ahead[1], None
            with state.store.reading() as db:
                plan = Plan(db, batch)
            if batch.vectors is not None:
                state.write(prepared_change(plan, batch, batch.vectors, state.encoder, state.settings))
            elif must_learn(plan, state.encoder, state.settings):
                self._learn(plan, progress)
            elif change := encoded_change(plan, state.encoder, state.settings, encoded, progress):
                state.write(change)
            return plan.ids

    def _encode_ahead(
        self, batch: Batch, given: Encoded | None, progress: Progress | None
    ) -> tuple[Encoder, Encoded] | None:
        """The vectors that adding a batch will need, and their encoder. None of one that learns: it needs all texts.

        They are made before the write lock is taken, so that others do not wait for a model. Which texts are there
        already is looked up again under the lock, and what is missing then is made there.
        """
        with enough_memory("for this change"):
            with self.state.reading() as db:
                encoder, settings = self.state.encoder, self.state.settings
                texts = [] if is_fitted_encoder(encoder) else new_passages(db, batch, settings)
            if is_fitted_encoder(encoder):
                return None
            known = given.vectors if given is not None and given.fingerprint == encoder.fingerprint else {}
            found = encode_ahead(encoder, [text for text in texts if text not in known], settings, progress)
            return encoder, Encoded(encoder.fingerprint, {**known, **found.vectors})

    def encode(self, texts: str | Iterable[str], *, progress: ProgressOption = None) -> Encoded:
        """Make the vectors of texts ahead of `add`, in any thread: one batch is encoded while another is written.

        What they are used for is up to `add`, which makes those that are missing or are not the encoder's any more.

        >>> text = "A note on rye."
        >>> ix.add(text, "rye", encoded=ix.encode(text))
        ['rye']
        """
        batch = check_batch(texts, None, None, None)
        self.state.check_usable()
        encoder, settings = self.state.encoder, self.state.settings
        texts = [] if is_fitted_encoder(encoder) else batch.texts
        passages = [text[start:stop] for text in texts for start, stop in spans_of(text, settings)]
        with watched(progress, "encoding", "texts") as told:
            return encode_ahead(encoder, passages, settings, told)

    @telling_arguments(TABLE)
    def add_table(
        self,
        table: Any,
        text: str | Sequence[str] | None = None,
        *,
        id: str | None = None,
        metadata: Sequence[str] | None = None,
        progress: ProgressOption = None,
    ) -> list[str]:
        """Add the rows of a table: pandas, Polars, Arrow, a Hugging Face dataset, or a list of dicts.

        `text`, which is needed, names the column of texts, or several that are joined; `id` that of ids. `metadata` are
        the columns to keep, all others without it; missing values are left out, and dates become ISO text.

        >>> ix.add_table([{"key": "rye", "body": "A note on rye.", "year": 2025}], text="body", id="key")
        ['rye']
        >>> ix.get("rye").metadata
        {'year': 2025}
        """
        found = read_table(table, text, id, metadata)
        return self.add(found.texts, found.ids, found.metadata, progress=progress)

    @telling_arguments(UPDATE)
    def update(self, ids: str | Iterable[str], metadata: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> None:
        """Set fields of the metadata of documents: one dict for all of them, or one for each. Nothing is encoded.

        Other fields stay as they are; the value None takes a field away. `UnknownIdError` where an id is not there.

        >>> ix.update(["fox", "owl"], {"read": True})
        >>> ix.get("fox").metadata
        {'words': 9, 'read': True}
        """
        wanted, state = as_ids(ids), self.state
        changes = as_changes(metadata, len(wanted))
        with state.writer():
            with state.store.reading() as db:
                found = documents_of(db, wanted)
                fields = [{**row.read_metadata(), **change} for row, change in zip(found, changes, strict=True)]
                kept = [{name: value for name, value in each.items() if value is not None} for each in fields]
                plan = Plan(db, check_batch([row.text for row in found], wanted, kept, None))
            if plan.updated:
                state.write(plan.change([], None, None))

    def delete(
        self, ids: str | Iterable[str] | None = None, *, where: Mapping[str, Any] | Predicate | None = None
    ) -> int:
        """Remove documents by their ids, or those that match a filter; returns how many went.

        Ids that are not there are no error. The empty filter, {}, matches all documents.

        >>> ix.delete(["fox", "nothing"]), ix.delete(where={"words": {"$gt": 9}}), len(ix)
        (1, 2, 15)
        """
        if (ids is None) == (where is None):
            raise ParameterError('delete takes ids, or a filter, as in delete(where={"year": 2019})')
        state = self.state
        with state.writer():
            wanted = self.ids(where=where) if ids is None else as_ids(ids)
            with state.store.reading() as db:
                found = [row.document for row in rows.documents_by_id(db, wanted).values()]
            if found:
                state.write(Change("delete", removed=sorted(found)))
            return len(found)

    def rebuild(self, *, progress: ProgressOption = None) -> None:
        """Fit the whitener to all documents there are now, and build a new tree.

        An encoder that learns from the corpus (lsa) learns again first, and all texts are encoded again.

        >>> ix.rebuild()
        """
        state = self.state
        with watched(progress, "encoding", "texts", then="building the tree") as told, state.writer():
            with state.store.reading() as db:
                plan = Plan(db, Batch([], [], [], None))
                empty = not rows.count_documents(db)
            if is_fitted_encoder(state.encoder) and not empty:
                self._learn(plan, told)
            else:
                state.write(Change("refit"))

    refit = rebuild  # its old name

    def _learn(self, plan: Plan, progress: Progress | None) -> None:
        """Let the encoder learn from all texts there are and will be, and encode all of them again."""
        change, encoder = learned_change(self.state.store, plan, self.state.encoder, progress)
        self.state.write(change, encoder)

    def reencode(self, encoder: EncoderSpec, *, progress: ProgressOption = None) -> int:
        """Give the index another encoder, and encode all texts again; returns how many texts were encoded.

        The index can be searched and changed meanwhile. Vectors are kept beside it until all are there: a run that was
        stopped or killed goes on where it ended, when it is called again with the same encoder (not with a function,
        which cannot be told from others). Then one operation replaces all vectors and the tree.
        `progress(done, total)` counts texts.

        >>> ix.reencode(lambda texts: [[text.count(letter) for letter in "aeiou"] for text in texts])
        18
        """
        loaded = load_encoder(encoder)
        self.state.check_writable()
        with watched(progress, "encoding", "texts", then="building the tree") as told:
            return reencode(self.state, loaded, told)

    def refresh(self) -> int:
        """See now what another process has written, as the next call does by itself; returns how many operations.

        >>> ix.refresh()
        0
        """
        return self.state.refresh()

    def settle(self) -> None:
        """Do now what is still to be done: let a tree that is being renewed take effect, and build missing links.

        The first is an operation of the log. `close` does both where much has changed; nobody has to.

        >>> ix.settle()
        """
        self.state.settle()

    def rename_concept(self, id: int, name: str | None) -> None:
        """Call a concept by a name instead of its label, here and wherever it is shown; None takes the name away.

        The name is durable. It stays with the documents of the concept, also when the tree is rebuilt.

        >>> animals = ix.search("who hunts mice")[0].path[1]
        >>> ix.rename_concept(animals.id, "Animals of the forest")
        >>> ix.concept(animals.id).label
        'Animals of the forest'
        """
        self.state.rename_concept(id, name)

    # -- keeping ---------------------------------------------------------------------------------------

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Copy the index into the folder `path`, as of one operation, which is returned; it can be written meanwhile.

        The copy is an index of its own: to restore is to open it, or to copy it back. An earlier copy at `path` is
        replaced at the end, and what it shares with this one is not copied again.

        >>> operation = ix.backup("copy.gsm")
        >>> Index.open("copy.gsm", mode="r").info().operation == operation
        True
        """
        self.state.check_usable()
        with enough_memory("to copy the index"):
            return back_up(self.state.store.database, self.state.store.layout, Layout(Path(as_place(path))))

    def compact(self, *, erase: bool = False, progress: ProgressOption = None) -> Compaction:
        """Give back the disk space that deleted documents left: old snapshots, history and free pages of the database.

        With `erase` nothing of a deleted text, its metadata or its vector is left in any file of the folder. For that
        the index is rebuilt, as by `rebuild`: the means of concepts, labels and what an encoder learnt were made of
        deleted texts, too. Copies elsewhere, and blocks that the file system freed, are not reached. It takes room for
        a second copy of the database.

        >>> ix.delete(["fox"]), ix.compact(erase=True).erased
        (1, True)
        """
        if erase:
            self.rebuild(progress=progress)
        with enough_memory("to compact the index"):
            return self.state.compact(erase=erase)

    def check(self) -> None:
        """Raise `CorruptError` or `InvariantError` if anything on disk or in the tree is not as it should be.

        >>> ix.check()
        """
        self.state.check()

    def __repr__(self) -> str:
        if not self.state.process.is_current():
            state = f"opened in process {self.state.process.id}"
        else:
            state = "closed" if self.state.closed else f"{len(self)} documents"
        return f"Index({self.state.store.where}, encoder={self.state.store.settings.encoder!r}, {state})"

    def _repr_html_(self) -> str:
        if self.state.closed or not self.state.process.is_current():
            return notebook.box("index", notebook.text(repr(self)))
        branches = [notebook.Branch(each.id, each.parent, each.label, each.size) for each in self.concepts(_UNFOLDED)]
        return notebook.box("index", f"<p>{notebook.text(repr(self))}</p>{notebook.tree(branches)}")
