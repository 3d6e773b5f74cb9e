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
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack, overload
from warnings import warn

import numpy.typing as npt

from gossamer.checks import one_of, positive
from gossamer.encoders import Encoder, Progress, is_fitted_encoder, load_encoder
from gossamer.errors import ParameterError, StateError, UnknownFieldWarning, enough_memory
from gossamer.explain.language_model import as_labeller
from gossamer.explain.naming import Labeller
from gossamer.filters import Where, parse
from gossamer.index import overview
from gossamer.index.batch import Batch, as_ids, check_batch
from gossamer.index.encoding import Encoded, EncoderSpec, encode_ahead, new_settings, reload_encoder
from gossamer.index.explanations import explain_document
from gossamer.index.facets import count_facets
from gossamer.index.plane import plane
from gossamer.index.query import as_weight, check_depth, documents_of, unknown_document
from gossamer.index.repair import repair
from gossamer.index.searching import SearchArguments, SearchOptions, answers, as_queries
from gossamer.index.state import IndexState
from gossamer.index.upsert import Plan, encoded_change, learned_change, must_learn, prepared_change, spans_of
from gossamer.results import (
    Concept,
    ConceptChange,
    ConceptMatch,
    Document,
    Explanation,
    Facets,
    Hits,
    IndexInfo,
    Novelty,
    Outline,
    Plane,
    Repair,
    Topics,
)
from gossamer.store import Change, Store, rows
from gossamer.store.backup import back_up
from gossamer.store.layout import Layout
from gossamer.store.store import Mode
from gossamer.tree.browsing import outline, top_paths
from gossamer.tree.cuts import nested_cuts


class Index:
    """Documents that can be searched by meaning, in memory or in a folder.

    Safe for use from many threads: searches run side by side, a change waits for them and is seen as a whole.
    One process may write to a folder, any number may read it.

    >>> import numpy as np
    >>> vowels = lambda texts: np.array([[text.count(vowel) for vowel in "aeiou"] for text in texts])
    >>> with Index(encoder=vowels) as ix:
    ...     ix.add(["a banana", "the queen", "moon rock"], ids=["fruit", "person", "thing"])
    ...     [hit.id for hit in ix.search("a papaya too", k=2)]
    ['fruit', 'person', 'thing']
    ['fruit', 'thing']
    """

    def __init__(
        self,
        encoder: EncoderSpec = "minilm",
        *,
        max_tokens: int | None = 200,
        overlap: int | None = None,
        language: str = "auto",
        labeller: Labeller | str | None = None,
    ) -> None:
        """An empty index in memory.

        `encoder`: a name (see `gossamer.encoders.known_encoders`) or any callable ``list[str] -> array``.
        Texts longer than `max_tokens` are split into passages that share up to `overlap` tokens (30, or less where
        passages are short); None never splits.
        `language`: "english", "german", … whose words are found in all their forms; "none" for words as they stand;
        "auto" takes that of the first documents.
        `labeller`: "openai:<model>", "ollama:<model>" or a callable that gets a `LabelRequest`. It is called in the
        background, once for each concept, and again when it has changed much. Where it fails, terms are the label.
        """
        loaded, labeller = load_encoder(encoder), as_labeller(labeller)
        self._begin(Store.in_memory(new_settings(loaded, max_tokens, overlap, language)), loaded, labeller)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        encoder: EncoderSpec = "minilm",
        *,
        max_tokens: int | None = 200,
        overlap: int | None = None,
        language: str = "auto",
        labeller: Labeller | str | None = None,
    ) -> Self:
        """An empty index in the new folder `path`, open for writing."""
        loaded, labeller = load_encoder(encoder), as_labeller(labeller)
        with enough_memory(f"to make {path}"):
            return cls._on(Store.create(path, new_settings(loaded, max_tokens, overlap, language)), loaded, labeller)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        encoder: EncoderSpec | None = None,
        *,
        mode: Mode = "w",
        labeller: Labeller | str | None = None,
    ) -> Self:
        """The index at `path`, to write and search, or with mode="r" to search alone.

        The index names its encoder. minilm and lsa are loaded by that name alone. Others can bring code, so name them
        yourself, as in encoder="st:all-mpnet-base-v2" (else `UntrustedEncoderError`); a callable must be passed again.
        A reader sees at each call what others have written up to then.
        """
        one_of(mode, "mode", ("w", "r"))
        labeller = as_labeller(labeller)
        with enough_memory(f"to open {path}"):
            store = Store.open(path, mode)
            try:
                with store.reading() as db:
                    learnt = rows.read_encoder_state(db)
                return cls._on(store, reload_encoder(store.settings, learnt, encoder), labeller)
            except BaseException:
                store.close()
                raise

    @staticmethod
    def repair(
        path: str | os.PathLike[str], encoder: EncoderSpec | None = None, *, progress: Progress | None = None
    ) -> Repair:
        """Make a healthy index at `path` from whatever its documents.sqlite still holds, and say what is lost.

        The damaged folder is kept beside it, under the name that is returned. An index without damage is left alone.
        Documents whose vectors are lost are encoded again: by the encoder the index names, or the one given.
        """
        return repair(path, encoder, progress)

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
        """Save the tree if it changed much, ready to be searched, and let go of the folder. Again does nothing.

        Ctrl-C stops the saving, never the letting go. In a child process, which shares the files with the one that
        opened the index, it does nothing.
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

    def add(
        self,
        texts: str | Iterable[str],
        ids: str | Iterable[str] | None = None,
        metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None = None,
        *,
        vectors: npt.ArrayLike | None = None,
        encoded: Encoded | None = None,
        progress: Progress | None = None,
    ) -> list[str]:
        """Add documents; returns their ids. An id that is there already is replaced, metadata included.

        All of them are in and durable when this returns; after an error, none is. Without `ids` documents are
        numbered. A text that is there already under its id is not encoded again. `vectors` brings one prepared
        vector for each text, which is then neither encoded nor split. `encoded` is what `encode` made of these texts
        ahead. `progress(done, total)` counts encoded texts.
        """
        with enough_memory("for so many documents"):
            batch = check_batch(texts, ids, metadata, vectors)
        state = self.state
        with state.writer():
            if not batch.texts:
                return []
            with state.store.reading() as db:
                plan = Plan(db, batch)
            if batch.vectors is not None:
                state.write(prepared_change(plan, batch.vectors, state.encoder, state.settings))
            elif must_learn(plan, state.encoder, state.settings):
                self._learn(plan, progress)
            elif change := encoded_change(plan, state.encoder, state.settings, encoded, progress):
                state.write(change)
            return plan.ids

    def encode(self, texts: str | Iterable[str], *, progress: Progress | None = None) -> Encoded:
        """Make the vectors of texts ahead of `add`, in any thread: one batch is encoded while another is written.

        What they are used for is up to `add`, which makes those that are missing or are not the encoder's any more.
        """
        batch = check_batch(texts, None, None, None)
        self.state.check_usable()
        encoder, settings = self.state.encoder, self.state.settings
        texts = [] if is_fitted_encoder(encoder) else batch.texts
        passages = [text[start:stop] for text in texts for start, stop in spans_of(text, settings)]
        return encode_ahead(encoder, passages, settings, progress)

    def delete(self, ids: str | Iterable[str]) -> int:
        """Remove documents; returns how many went. Ids that are not there are no error."""
        wanted = as_ids(ids)
        state = self.state
        with state.writer():
            with state.store.reading() as db:
                found = [row.document for row in rows.documents_by_id(db, wanted).values()]
            if found:
                state.write(Change("delete", removed=sorted(found)))
            return len(found)

    def rebuild(self, *, progress: Progress | None = None) -> None:
        """Fit the whitener to all documents there are now, and build a new tree.

        An encoder that learns from the corpus (lsa) learns again first, and all texts are encoded again.
        """
        state = self.state
        with state.writer():
            with state.store.reading() as db:
                plan = Plan(db, Batch([], [], [], None))
                empty = not rows.count_documents(db)
            if is_fitted_encoder(state.encoder) and not empty:
                self._learn(plan, progress)
            else:
                state.write(Change("refit"))

    refit = rebuild  # its old name

    def _learn(self, plan: Plan, progress: Progress | None) -> None:
        """Let the encoder learn from all texts there are and will be, and encode all of them again."""
        change, encoder = learned_change(self.state.store, plan, self.state.encoder, progress)
        self.state.write(change, encoder)

    def refresh(self) -> int:
        """See now what another process has written, as the next search does by itself; returns how many operations.
        An index that is open for writing sees everything already."""
        return self.state.refresh()

    def settle(self) -> None:
        """Do now what is still to be done: let a tree that is being renewed take effect, and build missing links.

        The first is an operation of the log. `close` does both where much has changed; nobody has to.
        """
        self.state.settle()

    # -- searching ---------------------------------------------------------------------------------

    @overload
    def search(self, query: str | None = None, k: int = 10, **options: Unpack[SearchArguments]) -> Hits: ...
    @overload
    def search(self, query: list[str], k: int = 10, **options: Unpack[SearchArguments]) -> list[Hits]: ...
    def search(
        self,
        query: str | Sequence[str] | None = None,
        k: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        within: int | None = None,
        hybrid: bool | float = True,
        vector: npt.ArrayLike | None = None,
        recall: float | None = None,
        explain: bool = False,
        min_confidence: float = 0.0,
    ) -> Hits | list[Hits]:
        """The k best documents, best first; fewer only where fewer match. An empty index has none: [].

        A list of queries, or a matrix of vectors, is answered as one batch on all cores, by a list of `Hits`.
        A "phrase in quotes" must be in a document, a -word must not; with hybrid=False they are text like any other.

        where           metadata filter, see `gossamer.filters`; `UnknownFieldWarning` where no document has a field
        within          id of a concept: only passages below it
        hybrid          adds BM25 to the cosine: True with the usual weight, False not at all, a number as the weight
        vector          the query's vector, which is then not encoded; with a `query` beside it, that one's words count
        recall          the share of the true nearest to aim for, see `VectorIndex.search`; 1.0 looks at everything
        explain         fills `Hit.explanation`; ranks are those among the answers
        min_confidence  no answers to a query that is less at home here, see `novelty`: 0.05 is a good start
        """
        options = SearchOptions.checked(k, where, within, hybrid, recall, explain, min_confidence)
        texts, several = as_queries(query, vector)
        with self.state.view_for_queries(texts, vector, within, options.weight) as asked:
            found = [Hits() for _ in texts] if asked is None else answers(self.state, *asked, options)
        for message in found[0].warnings if found else ():
            warn(message, UnknownFieldWarning, stacklevel=2)
        return found if several else found[0]

    def explain(
        self,
        query: str | None,
        id: str,
        *,
        k: int = 10,
        hybrid: bool | float = True,
        vector: npt.ArrayLike | None = None,
    ) -> Explanation:
        """Why document `id`, any document, scores as it does for `query`; the score is the one `search` gives.

        Its rank among all documents is exact. Of one that is not among the first `k`: where its branch lost, to
        which concept and document, and by how much.
        """
        weight, k = as_weight(hybrid), positive(k, "k")
        (wanted,) = as_ids(id)
        with self.state.view_for_query(query, vector, weight) as asked:
            if asked is None:
                raise unknown_document(wanted, 0)
            view, found = asked
            (row,) = documents_of(view.db, [wanted])
            return explain_document(view, found, row, k)

    def novelty(self, query: str | None = None, *, vector: npt.ArrayLike | None = None) -> Novelty:
        """How unusual a query is, compared with how similar the documents of the index are to each other."""
        with self.state.view_for_query(query, vector) as asked:
            if asked is None:
                return Novelty(100.0, 0.0, 0.0, None, "unlike anything here: the index is empty")
            return overview.novelty(*asked, overview.baseline(self.state, asked[0]))

    def find_concepts(
        self, query: str | None = None, k: int = 10, *, vector: npt.ArrayLike | None = None
    ) -> list[ConceptMatch]:
        """At most k concepts that a query fits, each at the level of generality that fits it best; best first."""
        k = positive(k, "k")
        with self.state.view_for_query(query, vector) as asked:
            return [] if asked is None else overview.matches(*asked, k)

    # -- looking -----------------------------------------------------------------------------------

    @overload
    def get(self, ids: str) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[str]) -> list[Document]: ...
    def get(self, ids: str | Iterable[str]) -> Document | list[Document]:
        """The document of an id, or those of several in their order; `UnknownIdError` where one is not there."""
        wanted = as_ids(ids)
        with self.state.reading() as db:
            found = documents_of(db, wanted)
        documents = [Document(row.id, row.text, row.read_metadata()) for row in found]
        return documents[0] if isinstance(ids, str) else documents

    def ids(self, *, where: Mapping[str, Any] | None = None, within: int | None = None) -> list[str]:
        """The ids of all documents, or of those that match, or that lie below a concept, in order of arrival."""
        condition = None if where is None else parse(where)
        with self.state.reading() as db:
            view = self.state.view_of(db, within)
            found = overview.ids(db, view, condition, within)
            unknown = () if view is None or condition is None else view.table.unknown_fields(db, condition)
        for message in unknown:
            warn(message, UnknownFieldWarning, stacklevel=2)
        return found

    def facets(
        self, query: str | None = None, *, where: Where = None, within: int | None = None, k: int = 200, most: int = 10
    ) -> Facets:
        """How many documents have each value of each metadata field: of those that match, or with a query, of its `k`
        best answers. At most `most` values of a field are listed; of very many documents a sample is counted."""
        return count_facets(self.state, query, where, within, positive(k, "k"), positive(most, "most"))

    def concepts(self, depth: int | None = 2) -> list[Concept]:
        """The tree as people see it, from the root (depth 0) down to `depth`, or to the leaves: every concept before
        those below it, large ones first."""
        check_depth(depth)
        with self.state.view() as view:
            return [] if view is None else view.last_of(top_paths(view.vectors.tree.arrays, depth))

    def concept(self, id: int) -> Concept:
        """One concept by its id, as found in a hit's path. An id keeps its meaning as long as the concept lives.

        Any node of the tree can be asked for, also one that no path shows.
        """
        with self.state.view(id) as view:
            assert view is not None
            return view.last_of([view.path_to(id)])[0]

    def changes(self, since: int) -> list[ConceptChange]:
        """Which concepts are new, grown, shrunk, merged, split or gone since an operation (`info().operation` is the
        newest one), large ones first. Of concepts that are there now, those that are shown are listed."""
        with self.state.view() as view:
            return [] if view is None else overview.changes(view, since)

    def rename_concept(self, id: int, name: str | None) -> None:
        """Call a concept by a name instead of its label, here and wherever it is shown; None takes the name away.

        The name is durable. It stays with the documents of the concept, also when the tree is rebuilt.
        """
        self.state.rename_concept(id, name)

    @overload
    def assign(self, text: str) -> tuple[Concept, ...]: ...
    @overload
    def assign(self, text: list[str]) -> list[tuple[Concept, ...]]: ...
    def assign(self, text: str | list[str]) -> tuple[Concept, ...] | list[tuple[Concept, ...]]:
        """The concepts that a text, or each of several, would lie in if it were added, from the root down.

        Nothing is added. A text is taken as one passage. In an empty index there are no concepts.
        """
        with self.state.view_for_vectors([text] if isinstance(text, str) else text) as (view, E):
            found = overview.assigned(view, E)
        return found[0] if isinstance(text, str) else found

    def labels(self, ids: Iterable[int] | None = None) -> dict[int, str]:
        """The label of every shown concept that is no single document, by its id; with `ids`, those of these concepts,
        whatever they are, and `UnknownIdError` where one is not there."""
        wanted = None if ids is None else list(ids)
        if wanted is None:
            self.state.finish_labels()
        with self.state.view(next(iter(wanted or ()), None)) as view:
            return {} if view is None else view.labels(wanted)

    def outline(
        self, root: int | None = None, *, depth: int | None = None, min_size: int = 1, most: int | None = None
    ) -> Outline:
        """The tree, or the part below a concept, without a word: ids and sizes, for a map of it.

        Concepts are opened from the largest on: down to `depth` levels, those with `min_size` passages, and as long as
        all together are no more than `most`.
        """
        check_depth(depth)
        min_size, most = positive(min_size, "min_size"), most if most is None else positive(most, "most")
        with self.state.view(root) as view:
            if view is None:
                return Outline((), (), (), (), ())
            tree = view.vectors.tree
            path = (tree.root,) if root is None else view.path_to(root)
            return outline(tree.arrays, path, depth, min_size, most)

    @overload
    def topics(self, n: int, *, assignments: bool = True) -> Topics: ...
    @overload
    def topics(self, *, levels: Sequence[int], assignments: bool = True) -> list[Topics]: ...
    def topics(
        self, n: int | None = None, *, levels: Sequence[int] | None = None, assignments: bool = True
    ) -> Topics | list[Topics]:
        """The corpus in `n` groups: the cut of the tree with the highest utility, whatever the depth.

        There are no more groups than different texts. A group is a concept; where one has to be divided in part to get
        `n`, it is the concept without those of its children that are groups of their own.
        `levels`, as in [8, 40, 200], gives one cut for each, from coarse to fine: each group lies in one of the level
        before. `assignments=False` leaves out which document is where, which takes longer than the groups themselves.
        `topics(8).to_pandas()` is a table of them, `topics(8).assign(texts)` tells where other texts would be.
        """
        if (n is None) == (levels is None):
            raise ParameterError("topics takes the number of groups, as in topics(8), or levels, as in [8, 40, 200]")
        wanted = [n] if n is not None else list(levels or [])
        with self.state.view() as view:
            if view is None:
                found = [Topics((), {}, 0.0) for _ in wanted]
            else:
                cuts = nested_cuts(view.vectors.tree.arrays, wanted)
                found = [overview.topics(view, cut, assign=assignments) for cut in cuts]
        found = [each.bound_to(partial(overview.groups_of, self.state, each)) for each in found]
        return found[0] if levels is None else found

    def plane(self, *, labels: bool = True) -> Plane:
        """Documents as points, near each other where they are alike, and the regions of concepts on three levels.

        The first call lays out all documents (7 s for 76,000) while searches and changes go on. Later ones place what
        has come since, and nothing else moves until that is a quarter of all. `labels=False` leaves out names."""
        return plane(self.state, labels=labels)

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Copy the index into the folder `path`, as of one operation, which is returned; it can be written meanwhile.

        The copy is an index of its own: to restore is to open it, or to copy it back. An earlier copy at `path` is
        replaced at the end, and what it shares with this one is not copied again.
        """
        self.state.check_usable()
        with enough_memory("to copy the index"):
            return back_up(self.state.store.database, self.state.store.layout, Layout(Path(path)))

    def info(self) -> IndexInfo:
        """What the index is and what it takes."""
        with self.state.reading() as db:
            return overview.info(self.state, db)

    def check(self) -> None:
        """Raise `CorruptError` or `InvariantError` if anything on disk or in the tree is not as it should be."""
        self.state.check()

    def __len__(self) -> int:
        with self.state.reading() as db:
            return rows.count_documents(db)

    def __contains__(self, id: object) -> bool:
        with self.state.reading() as db:
            return isinstance(id, str) and bool(rows.documents_by_id(db, [id]))

    def __repr__(self) -> str:
        if not self.state.process.is_current():
            state = f"opened in process {self.state.process.id}"
        else:
            state = "closed" if self.state.closed else f"{len(self)} documents"
        return f"Index({self.state.store.where}, encoder={self.state.store.settings.encoder!r}, {state})"
