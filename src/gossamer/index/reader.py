"""What can be asked of an index: searching, explaining, and looking at its concepts and documents.

`Index` adds what changes it. Nothing here changes anything, so it works the same for an index opened with mode="r".
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, overload
from warnings import warn

import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.checks import positive
from gossamer.encoders import check_texts
from gossamer.errors import ParameterError, UnknownFieldWarning
from gossamer.filters import Where
from gossamer.index import overview
from gossamer.index.batch import as_ids, as_one_id
from gossamer.index.explanations import explain_document
from gossamer.index.facets import count_facets
from gossamer.index.query import Predicate, as_condition, as_weight, check_depth, documents_of, doubts, unknown_document
from gossamer.index.searching import Rerank, SearchArguments, SearchOptions, answers, as_queries, ranked_again
from gossamer.index.state import IndexState
from gossamer.rank.request import Method
from gossamer.results import (
    Concept,
    ConceptChange,
    ConceptMatch,
    Document,
    Explanation,
    Facets,
    Hits,
    IndexInfo,
    NearDuplicates,
    Novelty,
    Outline,
    Passage,
    Plane,
    Since,
    Topics,
    as_levels,
    operation_or_moment,
)
from gossamer.results.other_names import (
    DOCUMENTS,
    GET,
    NEAR_DUPLICATES,
    SEARCH,
    TOPICS,
    TellingNames,
    methods_of,
    telling_arguments,
    unknown_attribute,
)
from gossamer.results.progress import ProgressOption, watched
from gossamer.store import rows
from gossamer.tree.browsing import outline, top_paths
from gossamer.tree.cuts import nested_cuts


@methods_of("Index")
class IndexReader(metaclass=TellingNames):
    """The part of `Index` that reads."""

    state: IndexState

    if not TYPE_CHECKING:  # else types would not find misspelt names

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_attribute(self, name)

        def __getitem__(self, key: object) -> NoReturn:
            raise TypeError("an Index is no list and no dict: use get(ids), or documents() for all of them")

    # -- searching ---------------------------------------------------------------------------------

    @overload
    def search(self, query: str | None = None, k: int = 10, **options: Unpack[SearchArguments]) -> Hits: ...
    @overload
    def search(self, query: list[str], k: int = 10, **options: Unpack[SearchArguments]) -> list[Hits]: ...
    @telling_arguments(SEARCH)
    def search(
        self,
        query: str | Sequence[str] | None = None,
        k: int = 10,
        *,
        where: Mapping[str, Any] | Predicate | None = None,
        within: int | None = None,
        hybrid: bool | float = True,
        vector: npt.ArrayLike | None = None,
        recall: float | None = None,
        explain: bool = False,
        min_confidence: float = 0.0,
        diversity: float = 0.0,
        group_by: str | None = None,
        boost: Mapping[str, Any] | None = None,
        rerank: Rerank | None = None,
        method: Method = "guided",
    ) -> Hits | list[Hits]:
        """The k best documents, best first; fewer only where fewer match. An empty index has none: [].

        A list of queries, or a matrix of vectors, is answered as one batch on all cores, by a list of `Hits`.
        A "phrase in quotes" must be in a document, a -word must not; with hybrid=False they are text like any other.

        where           metadata filter, see `gossamer.filters`; `UnknownFieldWarning` where it can match nothing.
                        Or a function of a `Document` that says whether it is wanted: every document is read for it
        within          id of a concept: only passages below it
        hybrid          adds BM25 to the cosine: True with the usual weight, False not at all, a number as the weight
        vector          the query's vector, which is then not encoded; with a `query` beside it, that one's words count
        recall          the share of the true nearest to aim for, see `VectorIndex.search`; 1.0 looks at everything
        explain         fills `Hit.explanation`; ranks are those among the answers
        min_confidence  no answers to a query that is less at home here, see `novelty`: 0.05 is a good start
        diversity       from 0 to 1: prefers answers that differ from those before them; 0.2 is a good start
        group_by        a metadata field: the best document of each value; those without the field count by themselves
        boost           prefers recent documents: {"field": "date", "half_life": "30d"} adds 0.1 to the score of one of
                        today, 0.05 at 30 days of age; "weight" says how much instead, "now" another moment
        rerank          a function of the query and a list of hits, five times as many as wanted, that returns a score
                        for each: a cross-encoder, say. It decides the order
        method          "guided", or one of the paper's: "path-sum", "best-first". These rank by the tree alone, without
                        words; scores are log densities

        >>> [hit.id for hit in ix.search("who hunts mice", k=3, where={"words": {"$lt": 10}})]
        ['owl', 'fox', 'lynx']
        >>> [[hit.id for hit in hits] for hits in ix.search(["many moons", "apple pie"], k=1)]
        [['saturn'], ['pie']]
        """
        options = SearchOptions.checked(k, {
            "where": where, "within": within, "hybrid": hybrid, "recall": recall, "explain": explain,
            "min_confidence": min_confidence, "diversity": diversity, "group_by": group_by, "boost": boost,
            "rerank": rerank, "method": method,
        })  # fmt: skip
        texts, several = as_queries(query, vector)
        with self.state.view_for_queries(texts, vector, within, options.weight) as asked:
            found = [Hits() for _ in texts] if asked is None else answers(self.state, *asked, options)
        for message in found[0].warnings if found else ():
            warn(message, UnknownFieldWarning, stacklevel=3)  # past the decorator
        for hits, each in zip(found, () if asked is None else asked[1], strict=False):
            hits.warnings += each.warnings
        found = [ranked_again(*each, options) for each in zip(texts, found, strict=True)]
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

        >>> why = ix.explain("who hunts mice", "wolf")
        >>> why.rank, why.words, why.rival.id
        (4, ('hunts',), 'owl')
        >>> abs(why.base + sum(step.contribution for step in why.path) + why.lexical - why.score) < 1e-9
        True
        """
        weight, k = as_weight(hybrid), positive(k, "k")
        wanted = as_one_id(id)
        with self.state.view_for_query(query, vector, weight) as asked:
            if asked is None:
                raise unknown_document(wanted, 0)
            view, found = asked
            (row,) = documents_of(view.db, [wanted])
            return explain_document(view, found, row, k)

    def more_like(self, id: str, k: int = 10, **options: Unpack[SearchArguments]) -> Hits:
        """The k documents most like the document `id`, which is left out; `options` are those of `search`.

        They are found by the mean of its passages' vectors: by meaning, not by words.

        >>> [hit.id for hit in ix.more_like("mars", k=1)]
        ['saturn']
        """
        if unknown := sorted(options.keys() - SearchArguments.__optional_keys__):
            raise TypeError(f"Index.more_like() got an unexpected keyword argument {unknown[0]!r}")
        wanted, k = as_one_id(id), positive(k, "k")
        options["vector"] = self.vectors([wanted])[0]
        found = self.search(None, k + 1, **options)
        return Hits([hit for hit in found if hit.id != wanted][:k], visited=found.visited, warnings=found.warnings)

    def novelty(self, query: str | None = None, *, vector: npt.ArrayLike | None = None) -> Novelty:
        """How unusual a query is, compared with how similar the documents of the index are to each other.

        >>> ix.novelty("a red planet").confidence > ix.novelty("income tax").confidence
        True
        """
        with self.state.view_for_query(query, vector) as asked:
            if asked is None:
                return Novelty(100.0, 0.0, 0.0, None, "unlike anything here: the index is empty")
            return overview.novelty(*asked, overview.baseline(self.state, asked[0]))

    def find_concepts(
        self, query: str | None = None, k: int = 10, *, vector: npt.ArrayLike | None = None
    ) -> list[ConceptMatch]:
        """At most k concepts that a query fits, each at the level of generality that fits it best; best first.

        >>> ix.find_concepts("who hunts mice")[0].concept.label
        'forest, hunts, deer, snowy'
        """
        k = positive(k, "k")
        with self.state.view_for_query(query, vector) as asked:
            return [] if asked is None else overview.matches(*asked, k)

    # -- looking -----------------------------------------------------------------------------------

    @overload
    def get(self, ids: str) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[str], *, skip_unknown: bool = False) -> list[Document]: ...
    @telling_arguments(GET)
    def get(self, ids: str | Iterable[str], *, skip_unknown: bool = False) -> Document | list[Document]:
        """The document of an id, or those of several in their order; `UnknownIdError` where one is not there.

        With `skip_unknown` a list of ids gives those that are there.

        >>> ix.get("bread").text
        'Bake the bread in a hot oven.'
        >>> ix.get(["pie", "nothing"])
        Traceback (most recent call last):
            ...
        gossamer.errors.UnknownIdError: id 'nothing' is not in the index, which holds 18 documents
        """
        wanted = as_ids(ids)
        with self.state.reading() as db:
            if skip_unknown and not isinstance(ids, str):
                there = rows.documents_by_id(db, wanted)
                found = [there[id] for id in wanted if id in there]
            else:
                found = documents_of(db, wanted)
        documents = [Document(row.id, row.text, row.read_metadata()) for row in found]
        return documents[0] if isinstance(ids, str) else documents

    def vectors(self, ids: Iterable[str]) -> Floats:
        """The vectors of documents as the encoder made them, a row for each: of several passages their mean.

        `UnknownIdError` where an id is not there.

        >>> len(ix.vectors(["bread", "pie"]))
        2
        """
        with self.state.reading() as db:
            return rows.mean_vectors(db, [row.document for row in documents_of(db, as_ids(ids))])

    def passages(self, ids: str | Iterable[str]) -> list[list[Passage]]:
        """The passages of each of these documents with their vectors, as they were added, for another store.

        A short text, and one that was added with its vector, is one passage.

        >>> [[passage.text for passage in each] for each in ix.passages(["bread"])]
        [['Bake the bread in a hot oven.']]
        """
        wanted = as_ids(ids)
        with self.state.reading() as db:
            found = documents_of(db, wanted)
            numbers = rows.passages_of(db, [row.document for row in found])
            places = rows.read_passages(db, numbers)
            vectors = rows.vectors_in_order(db, numbers)
        parts: dict[str, list[Passage]] = {id: [] for id in wanted}
        for (start, stop, document), vector in zip((places[number] for number in numbers), vectors, strict=True):
            parts[document.id].append(Passage(start, document.text[start:stop], vector))
        return [parts[id] for id in wanted]

    def to_parquet(self, path: str | os.PathLike[str]) -> int:
        """Write all passages with their vectors as a Parquet file, for another program; returns how many.

        A row has the columns id, document, text, vector, metadata as JSON, start and whole. The id is that of the
        document, with "#0", "#1", … where it has several passages. A file that is there is replaced at the end.

        >>> ix.to_parquet("notes.parquet")  # doctest: +SKIP
        18
        """
        from gossamer.index.export import write_parquet  # needs pyarrow

        return write_parquet(self, Path(path))

    def ids(self, *, where: Mapping[str, Any] | Predicate | None = None, within: int | None = None) -> list[str]:
        """The ids of all documents, or of those that match, or that lie below a concept, in order of arrival.

        >>> ix.ids(where={"words": {"$lt": 8}})
        ['deer', 'bread', 'rolls']
        """
        condition = as_condition(where)
        with self.state.reading() as db:
            view = self.state.view_of(db, within)
            found = overview.ids(db, view, condition, within)
            unknown = () if view is None else doubts(view, condition)
        for message in unknown:
            warn(message, UnknownFieldWarning, stacklevel=2)
        return found

    @telling_arguments(DOCUMENTS)
    def documents(
        self, *, where: Mapping[str, Any] | Predicate | None = None, within: int | None = None, batch: int = 256
    ) -> Iterator[Document]:
        """All documents, or those that match, in order of arrival, `batch` of them read at a time.

        Documents that come while this goes on are left out, and so are those that are deleted before their turn.

        >>> [document.id for document in ix.documents(where={"words": {"$gte": 10}})]
        ['cake', 'comet']
        """
        batch, ids = positive(batch, "batch"), self.ids(where=where, within=within)
        for start in range(0, len(ids), batch):
            wanted = ids[start : start + batch]
            with self.state.reading() as db:
                found = rows.documents_by_id(db, wanted)
            for row in (found[id] for id in wanted if id in found):
                yield Document(row.id, row.text, row.read_metadata())

    @telling_arguments(NEAR_DUPLICATES)
    def near_duplicates(self, chance: float = 1e-3, *, progress: ProgressOption = None) -> list[NearDuplicates]:
        """Groups of documents that are nearer to each other than chance would have it where they lie, copies first.

        `chance` is the number of documents that may be expected as near by chance: fewer is stricter.

        >>> copy = ix.add("Bake the bread in a hot oven!", "bread again")
        >>> ix.near_duplicates(1e-9)[0].ids
        ('bread', 'bread again')
        """
        from gossamer.index.near_duplicates import near_duplicates  # imports parts of SciPy that no search needs

        if not isinstance(chance, int | float) or not 0.0 < chance < 1.0:
            raise ParameterError(f"chance must be between 0 and 1, both left out, got {chance!r}")
        with watched(progress, "comparing", "passages") as told, self.state.view() as view:
            return [] if view is None else near_duplicates(view, float(chance), told)

    def facets(
        self, query: str | None = None, *, where: Where = None, within: int | None = None, k: int = 200, most: int = 10
    ) -> Facets:
        """How many documents have each value of each metadata field: of those that match, or with a query, of its `k`
        best answers. At most `most` values of a field are listed; of very many documents a sample is counted.

        >>> facets = ix.facets(where={"words": {"$lt": 8}})
        >>> [(value.value, value.count) for value in facets.fields[0].values]
        [(7, 3)]
        """
        return count_facets(self.state, query, where, within, positive(k, "k"), positive(most, "most"))

    def concepts(self, depth: int | None = 2) -> list[Concept]:
        """The tree as people see it, from the root (depth 0) down to `depth`, or to the leaves: every concept before
        those below it, large ones first.

        >>> [(concept.label, concept.size) for concept in ix.concepts(1)[1:]]
        [('Bake, planet, butter, moons', 12), ('forest, hunts, deer, snowy', 6)]
        """
        check_depth(depth)
        with self.state.view() as view:
            return [] if view is None else view.last_of(top_paths(view.vectors.tree.skeleton, depth))

    def concept(self, id: int) -> Concept:
        """One concept by its id, as found in a hit's path. An id keeps its meaning as long as the concept lives.

        Any node of the tree can be asked for, also one that no path shows.

        >>> root = ix.search("mice", k=1)[0].path[0]
        >>> ix.concept(root.id).size
        18
        """
        with self.state.view(id) as view:
            assert view is not None
            return view.last_of([view.path_to(id)])[0]

    def changes(self, since: Since) -> list[ConceptChange]:
        """Which concepts are new, grown, shrunk, merged, split or gone since an operation (`info().operation` is the
        newest one) or a time (a datetime or date, also as ISO text, or a timedelta: so long ago), large ones first.

        Of concepts that are there now, those that are shown are listed. Concepts are recorded each time the tree is
        agglomerated again, so what is told is what happened since the last record before `since`.

        >>> before = ix.info().operation
        >>> added = ix.add([f"Planet number {n} goes around a star." for n in range(6)])
        >>> {change.kind for change in ix.changes(before)} <= {"new", "grown", "shrunk", "merged", "split", "gone"}
        True
        """
        start = operation_or_moment(since)
        with self.state.view() as view:
            return [] if view is None else overview.changes(view, start)

    @overload
    def assign(self, text: str) -> tuple[Concept, ...]: ...
    @overload
    def assign(self, text: list[str]) -> list[tuple[Concept, ...]]: ...
    def assign(self, text: str | list[str]) -> tuple[Concept, ...] | list[tuple[Concept, ...]]:
        """The concepts that a text, or each of several, would lie in if it were added, from the root down.

        Nothing is added. A text is taken as one passage. In an empty index there are no concepts.

        >>> [(concept.label, concept.size) for concept in ix.assign("a fox in the snowy forest")[:2]]
        [('forest, Bake, planet, butter', 18), ('forest, hunts, deer, snowy', 6)]
        """
        with self.state.view_for_vectors(check_texts([text] if isinstance(text, str) else text)) as (view, E):
            found = overview.assigned(view, E)
        return found[0] if isinstance(text, str) else found

    def labels(self, ids: Iterable[int] | None = None) -> dict[int, str]:
        """The label of every shown concept that is no single document, by its id; with `ids`, those of these concepts,
        whatever they are, and `UnknownIdError` where one is not there.

        >>> sorted(ix.labels().values())
        ['Bake, planet, butter, moons', 'forest, Bake, planet, butter', 'forest, hunts, deer, snowy']
        """
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

        >>> ix.outline(depth=1).sizes
        (18, 12, 6)
        """
        check_depth(depth)
        min_size, most = positive(min_size, "min_size"), most if most is None else positive(most, "most")
        with self.state.view(root) as view:
            if view is None:
                return Outline((), (), (), (), ())
            tree = view.vectors.tree
            path = (tree.root,) if root is None else view.path_to(root)
            return outline(tree.skeleton, path, depth, min_size, most)

    @overload
    def topics(self, n: int, *, assignments: bool = True) -> Topics: ...
    @overload
    def topics(self, *, levels: Sequence[int], assignments: bool = True) -> list[Topics]: ...
    @telling_arguments(TOPICS)
    def topics(
        self, n: int | None = None, *, levels: Sequence[int] | None = None, assignments: bool = True
    ) -> Topics | list[Topics]:
        """The corpus in `n` groups: the cut of the tree with the highest utility, whatever the depth.

        There are no more groups than different texts. A group is a concept; where one has to be divided in part to get
        `n`, it is the concept without those of its children that are groups of their own.
        `levels`, as in [8, 40, 200], gives one cut for each, from coarse to fine: each group lies in one of the level
        before. `assignments=False` leaves out which document is where, which takes longer than the groups themselves.
        `topics(8).to_pandas()` is a table of them, `topics(8).assign(texts)` tells where other texts would be.

        >>> ix.topics(3)
        Topics(3 groups: 'forest, hunts, deer, snowy' 6, 'Bake, butter, hot oven, bread' 6, 'planet, moons, sun' 6)
        >>> [len(level) for level in ix.topics(levels=[2, 5])]
        [2, 5]
        """
        if (n is None) == (levels is None):
            raise ParameterError("topics takes the number of groups, as in topics(8), or levels, as in [8, 40, 200]")
        wanted = [n] if n is not None else as_levels(levels)
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

        The first call lays out all documents (5 s of one core for 76,000) while searches and changes go on. Later ones
        place what has come since, and nothing else moves until that is a quarter of all. `labels=False` leaves out
        names.

        >>> ix.plane().positions.shape
        (18, 2)
        """
        from gossamer.index.plane import plane  # imports parts of SciPy that no search needs

        return plane(self.state, labels=labels)

    def info(self) -> IndexInfo:
        """What the index is and what it takes.

        >>> ix.info().documents, ix.info().encoder, ix.info().path
        (18, 'lsa', None)
        """
        with self.state.reading() as db:
            return overview.info(self.state, db)

    def __len__(self) -> int:
        with self.state.reading() as db:
            return rows.count_documents(db)

    def __contains__(self, id: object) -> bool:
        with self.state.reading() as db:
            return isinstance(id, str) and bool(rows.documents_by_id(db, [id]))
