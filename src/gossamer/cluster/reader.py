"""What can be asked of a cluster: searching, explaining, and looking at its concepts and documents.

`Cluster` adds what changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload
from warnings import warn

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.checks import as_vectors, positive
from gossamer.cluster import runtime
from gossamer.cluster.concepts import divided, local_id
from gossamer.cluster.connection import Connection
from gossamer.cluster.description import Folder
from gossamer.cluster.overview import info_of, labels_of, matches_of, novelty_of, outline_of
from gossamer.cluster.results import ClusterHits
from gossamer.cluster.searching import Asked, check_options, explain, search
from gossamer.cluster.topics import facets_of, topics_of
from gossamer.errors import ClosedError, ParameterError, UnknownFieldWarning, UnknownIdError
from gossamer.index import EncoderSpec, encode_texts, load_encoder
from gossamer.index.part import as_ids, encoder_again, text_to_encode
from gossamer.results import (
    Concept,
    ConceptChange,
    ConceptMatch,
    Document,
    Explanation,
    Facets,
    IndexInfo,
    NearDuplicates,
    Novelty,
    Outline,
    Plane,
    Topics,
)
from gossamer.results.other_names import methods_of


@methods_of("Cluster")
class ClusterReader:
    """The part of `Cluster` that reads."""

    def __init__(self, folder: Folder, connection: Connection, encoder: EncoderSpec | None) -> None:
        self._folder, self._connection, self._given = folder, connection, encoder
        self._loaded: Any = None
        self._closed = False

    @property
    def _open(self) -> Connection:
        if self._closed:
            raise ClosedError("this cluster was closed: open it again with Cluster.open")
        return self._connection

    @property
    def _encoder(self) -> Any:
        if self._loaded is None:
            found = self._open.known.description
            if not found.is_routed:
                found = self._open.refresh().description
            if not found.is_routed:
                return load_encoder(self._given if self._given is not None else found.encoder)
            learnt = self._open.known.learnt
            self._loaded = encoder_again(found.encoder, found.fingerprint, found.dim, learnt, self._given)
        return self._loaded

    # -- searching ---------------------------------------------------------------------------------

    @overload
    def search(self, query: str | None = None, k: int = 10, **options: Any) -> ClusterHits: ...
    @overload
    def search(self, query: list[str], k: int = 10, **options: Any) -> list[ClusterHits]: ...
    def search(
        self,
        query: str | list[str] | None = None,
        k: int = 10,
        *,
        vector: npt.ArrayLike | None = None,
        rerank: Callable[[str | None, list[Any]], Sequence[float]] | None = None,
        **options: Any,
    ) -> ClusterHits | list[ClusterHits]:
        """The k best documents, best first, as `Index.search` finds them; `options` are those of it.

        `recall`: the share of the ten nearest to aim for when shards are chosen (default 0.985), and within each; 1.0
        asks all. Shards are chosen where meaning alone decides: filters, phrases and words look at all of them.
        `explain` asks all shards about each hit. Not here: diversity, and methods other than "guided".

        >>> hits = cluster.search("who hunts mice", k=2)
        >>> [hit.id for hit in hits], hits.partial
        (['owl', 'fox'], False)
        """
        k = positive(k, "k")
        if rerank is not None and not callable(rerank):
            raise ParameterError(f"rerank must be a function of a query and its candidates, got {rerank!r}")
        check_options(options, k)
        options, (texts, several) = dict(options), _as_queries(query, vector)
        wanted = k if rerank is None else max(5 * k, 50)
        asked = Asked(texts, self._query_vectors(texts, vector, options.get("hybrid", True)), wanted, options)
        explained, least = bool(options.pop("explain", False)), float(options.pop("min_confidence", 0.0))
        found = search(self._open, asked) if texts else []
        for at, (text, x) in enumerate(zip(texts, asked.vectors, strict=True)):
            if found[at] and least > 0.0 and self.novelty(text, vector=x).confidence < least:
                found[at] = found[at].none()
            if explained:
                hybrid = options.get("hybrid", True)
                found[at][:] = [
                    replace(hit, explanation=explain(self._open, text, x, hit.id, k, hybrid)) for hit in found[at]
                ]
        for message in found[0].warnings if found else ():
            warn(message, UnknownFieldWarning, stacklevel=2)
        if rerank is not None:
            found = [_ranked_again(*each, rerank, k) for each in zip(texts, found, strict=True)]
        return found if several else found[0]

    def _query_vectors(self, texts: Sequence[str | None], vector: npt.ArrayLike | None, hybrid: bool | float) -> Floats:
        dim = self._open.known.description.dim or self._open.refresh().description.dim
        if vector is not None:
            found = as_vectors(vector, dim or None, what="the query's vector")
            if len(found) != len(texts):
                raise ParameterError(f"vectors: {len(found)}, queries: {len(texts)}; pass one vector for each query")
            return found
        if any(text is None for text in texts):
            raise ParameterError("there is nothing to search for: pass a query, a vector, or both")
        if not dim:
            return np.zeros((len(texts), 1), np.float32)
        return encode_texts(
            self._encoder, [text_to_encode(text or "") if hybrid else text or "" for text in texts], kind="query"
        )

    def explain(
        self,
        query: str | None,
        id: str,
        *,
        k: int = 10,
        hybrid: bool | float = True,
        vector: npt.ArrayLike | None = None,
    ) -> Explanation:
        """Why document `id`, any document, scores as it does for `query`; its rank among all documents is exact.

        >>> cluster.explain("who hunts mice", "wolf").rank
        4
        """
        k, (wanted,) = positive(k, "k"), as_ids(id)
        found = self._query_vectors([query], vector, hybrid)[0]
        return explain(self._open, query, found, wanted, k, hybrid)

    def more_like(self, id: str, k: int = 10, **options: Any) -> ClusterHits:
        """The k documents most like the document `id`, which is left out; `options` are those of `search`.

        >>> [hit.id for hit in cluster.more_like("mars", k=1)]
        ['saturn']
        """
        (wanted,), k = as_ids(id), positive(k, "k")
        found = self.search(None, k + 1, vector=self.vectors([wanted])[0], **options)
        hits = [hit for hit in found if hit.id != wanted][:k]
        return ClusterHits(
            hits, visited=found.visited, warnings=found.warnings, asked=found.asked, missing=found.missing,
            shards=found.shards,
        )  # fmt: skip

    # -- looking -----------------------------------------------------------------------------------

    @overload
    def get(self, ids: str) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[str], *, skip_unknown: bool = False) -> list[Document]: ...
    def get(self, ids: str | Iterable[str], *, skip_unknown: bool = False) -> Document | list[Document]:
        """The document of an id, or those of several in their order; `UnknownIdError` where one is not there.

        >>> cluster.get("bread").text
        'Bake the bread in a hot oven.'
        """
        wanted = as_ids(ids)
        by_shard, _ = self._shards_of(wanted, skip_unknown=skip_unknown and not isinstance(ids, str))
        found: dict[str, Document] = {}
        for shard, own in by_shard.items():
            found |= self._open.insist(shard, "get", own)
        documents = [found[id] for id in wanted if id in found]
        return documents[0] if isinstance(ids, str) else documents

    def vectors(self, ids: Iterable[str]) -> Floats:
        """The vectors of documents as the encoder made them, a row for each: of several passages their mean.

        >>> len(cluster.vectors(["bread", "pie"]))
        2
        """
        wanted = as_ids(ids)
        by_shard, _ = self._shards_of(wanted)
        found: dict[str, Floats] = {}
        for shard, own in by_shard.items():
            found |= zip(own, self._open.insist(shard, "vectors", own), strict=True)
        return np.stack([found[id] for id in wanted]) if wanted else np.empty((0, 0), np.float32)

    def _shards_of(
        self, ids: list[str], *, skip_unknown: bool = False
    ) -> tuple[dict[int, list[str]], dict[str, tuple[int, int]]]:
        """The documents by shard, and the place of each."""
        places: dict[str, tuple[int, int]] = self._open.ask_keeper("places", ids)
        by_shard: dict[int, list[str]] = {}
        for id in ids:
            if id in places:
                by_shard.setdefault(places[id][0], []).append(id)
            elif not skip_unknown:
                raise self._unknown(id)
        return by_shard, places

    def ids(
        self, *, where: Mapping[str, Any] | Callable[[Document], bool] | None = None, within: int | None = None
    ) -> list[str]:
        """The ids of all documents, or of those that match, or that lie below a concept, in order of arrival.

        >>> cluster.ids(where={"words": {"$lt": 8}})
        ['deer', 'bread', 'rolls']
        """
        connection = self._open
        shards, inside = self._inside(within)
        found: list[str] = []
        told: list[set[str]] = []
        for shard in shards:
            own, unknown = connection.insist(shard, "ids", where, inside)
            found += own
            if connection.sizes.get(shard):  # an empty one knows no field
                told.append(set(unknown))
        for message in sorted(set.intersection(*told)) if told else ():
            warn(message, UnknownFieldWarning, stacklevel=2)
        places = connection.ask_keeper("places", found) if found else {}
        there = dict.fromkeys(id for id in found if id in places)
        return sorted(there, key=lambda id: places[id][1])

    def documents(
        self,
        *,
        where: Mapping[str, Any] | Callable[[Document], bool] | None = None,
        within: int | None = None,
        batch: int = 256,
    ) -> Iterator[Document]:
        """All documents, or those that match, in order of arrival, `batch` of them read at a time.

        >>> [document.id for document in cluster.documents(where={"words": {"$gte": 10}})]
        ['cake', 'comet']
        """
        batch, ids = positive(batch, "batch"), self.ids(where=where, within=within)
        for start in range(0, len(ids), batch):
            yield from self.get(ids[start : start + batch], skip_unknown=True)

    def facets(
        self,
        query: str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        within: int | None = None,
        k: int = 200,
        most: int = 10,
    ) -> Facets:
        """How many documents have each value of each metadata field: of those that match, or with a query, of its `k`
        best answers.

        >>> facets = cluster.facets(where={"words": {"$lt": 8}})
        >>> [(value.value, value.count) for value in facets.fields[0].values]
        [(7, 3)]
        """
        connection, most = self._open, positive(most, "most")
        if query is not None:
            found = [hit.id for hit in self.search(query, positive(k, "k"), where=where, within=within)]
            by_shard, _ = self._shards_of(found, skip_unknown=True)
            return facets_of(connection, {shard: (ids,) for shard, ids in by_shard.items()}, "facets_of", most)
        shards, inside = self._inside(within)
        return facets_of(connection, dict.fromkeys(shards, (where, inside)), "facets", most)

    def _inside(self, within: int | None) -> tuple[list[int], int | None]:
        """The shards that have documents below a concept, and its number where it is one of a shard."""
        connection = self._open
        if within is None:
            return list(connection.known.shards), None
        number, shard = local_id(within)
        forest = connection.forest()
        below = None if forest is None else [shard] if shard is not None else forest.shards_below(within)
        if below is None:
            raise UnknownIdError(f"there is no concept {within!r} in the cluster")
        return below, number if shard is not None else None

    def concepts(self, depth: int | None = 2) -> list[Concept]:
        """The tree as people see it, from the root (depth 0) down to `depth`, or to the leaves: every concept before
        those below it, large ones first. Concepts of the router come above those of the shards.

        >>> cluster.concepts(0)[0].size
        18
        """
        if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
            raise ParameterError(f"depth must be a whole number of at least 0, or None for all, got {depth!r}")
        forest, found = self._open.forest(), []
        for here, concept in [] if forest is None else forest.down_to(depth):
            if concept is not None:
                found.append(concept)
            elif forest is not None and here.shard is not None:
                left = None if depth is None else depth - len(forest.above(here.shard))
                below = self._open.insist(here.shard, "concepts", left)
                found += [forest.lifted(each, here.shard) for each in below]
        return found

    def concept(self, id: int) -> Concept:
        """One concept by its id, as found in a hit's path.

        >>> root = cluster.concepts(0)[0]
        >>> cluster.concept(root.id).size
        18
        """
        forest = self._open.forest()
        number, shard = local_id(id)
        if forest is not None and shard is None and (found := forest.upper(id)) is not None:
            return found
        if forest is None or shard is None or shard not in self._open.known.shards:
            raise UnknownIdError(f"there is no concept {id!r} in the cluster")
        return forest.lifted(self._open.insist(shard, "concept", number), shard)

    def outline(
        self, root: int | None = None, *, depth: int | None = None, min_size: int = 1, most: int | None = None
    ) -> Outline:
        """The tree, or the part below a concept, without a word, for a map of it: see `Index.outline`.

        >>> cluster.outline(depth=0).sizes
        (18,)
        """
        forest, min_size = self._open.forest(), positive(min_size, "min_size")
        if forest is None:
            return Outline((), (), (), (), ())
        if root is not None:
            self.concept(root)
        return outline_of(self._open, forest, root, depth, min_size, None if most is None else positive(most, "most"))

    def labels(self, ids: Iterable[int] | None = None) -> dict[int, str]:
        """The labels of some concepts by their ids, or of all that are shown and are no single documents.

        >>> root = cluster.concepts(0)[0]
        >>> cluster.labels([root.id]) == {root.id: root.label}
        True
        """
        return labels_of(self._open, self._open.forest(), None if ids is None else list(ids))

    def find_concepts(
        self, query: str | None = None, k: int = 10, *, vector: npt.ArrayLike | None = None
    ) -> list[ConceptMatch]:
        """At most k concepts that a query fits, each at the level of generality that fits it best; best first.

        >>> len(cluster.find_concepts("who hunts mice", 1))
        1
        """
        k, forest, x = positive(k, "k"), self._open.forest(), self._query_vectors([query], vector, True)[0]
        return [] if forest is None else matches_of(self._open, forest, x, k)

    def novelty(self, query: str | None = None, *, vector: npt.ArrayLike | None = None) -> Novelty:
        """How unusual a query is, compared with the documents of the shard that has the nearest one.

        >>> cluster.novelty("income tax").confidence < 0.5
        True
        """
        forest, x = self._open.forest(), self._query_vectors([query], vector, True)[0]
        if forest is None:
            return Novelty(100.0, 0.0, 0.0, None, "unlike anything here: the cluster is empty")
        return novelty_of(self._open, forest, x)

    def info(self) -> IndexInfo:
        """What the cluster is and what all its shards take together; `status` tells of each of them.

        >>> cluster.info().documents
        18
        """
        return info_of(self._open, self._folder)

    def changes(self, since: Any) -> list[ConceptChange]:
        """Not told of a cluster: its shards count operations of their own. Raises `ParameterError`."""
        raise ParameterError(f"a cluster does not tell what changed since {since!r}: ask the index of one shard")

    def near_duplicates(self, chance: float = 1e-3) -> list[NearDuplicates]:
        """Not found in a cluster, whose documents no process holds together. Raises `ParameterError`."""
        raise ParameterError("a cluster does not look for near duplicates: ask the index of one shard")

    def plane(self, *, labels: bool = True) -> Plane:
        """Not made of a cluster, whose documents no process holds together. Raises `ParameterError`."""
        raise ParameterError("a cluster has no plane: look at the map of its concepts, or at the index of one shard")

    @overload
    def assign(self, text: str) -> tuple[Concept, ...]: ...
    @overload
    def assign(self, text: list[str]) -> list[tuple[Concept, ...]]: ...
    def assign(self, text: str | list[str]) -> tuple[Concept, ...] | list[tuple[Concept, ...]]:
        """The concepts that a text, or each of several, would lie in if it were added, from the root down.

        >>> cluster.assign("a fox in the snowy forest")[0].size
        18
        """
        texts = [text] if isinstance(text, str) else text
        known, forest = self._open.known, self._open.forest()
        if forest is None or known.router is None or known.space is None:
            found: list[tuple[Concept, ...]] = [() for _ in texts]
        else:
            vectors = encode_texts(self._encoder, texts)
            concepts = known.router.concepts_of(known.space.project(vectors))
            shards = [known.description.assignment[concept] for concept in concepts.tolist()]
            found = [
                forest.path(self._open.insist(shard, "assign", vector), shard)
                for shard, vector in zip(shards, vectors, strict=True)
            ]
        return found[0] if isinstance(text, str) else found

    @overload
    def topics(self, n: int, *, assignments: bool = True) -> Topics: ...
    @overload
    def topics(self, *, levels: Sequence[int], assignments: bool = True) -> list[Topics]: ...
    def topics(
        self, n: int | None = None, *, levels: Sequence[int] | None = None, assignments: bool = True
    ) -> Topics | list[Topics]:
        """The corpus in `n` groups, as `Index.topics` has them. Those of fewer groups than shards are whole shards.

        `levels` gives one cut for each number. Each is made by itself: groups of one need not lie in those of another.

        >>> len(cluster.topics(3))
        3
        """
        if (n is None) == (levels is None):
            raise ParameterError("topics takes the number of groups, as in topics(8), or levels, as in levels=[8, 40]")
        wanted, forest = [positive(each, "n") for each in ([n] if levels is None else levels)], self._open.forest()
        if forest is None:
            found = [Topics((), {}, 0.0) for _ in wanted]
        else:
            found = [topics_of(self._open, forest, *divided(forest, n), assignments=assignments) for n in wanted]
        return found[0] if levels is None else found

    @property
    def address(self) -> str:
        """Where the Ray cluster is, for other programs to join it: `Cluster.open(path, address=...)`."""
        return runtime.address()

    def __len__(self) -> int:
        count: int = self._open.ask_keeper("count")
        return count

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and id in self._open.ask_keeper("places", [id])

    def __repr__(self) -> str:
        if self._closed:
            return f"Cluster({self._folder.path}, closed)"
        found = self._connection.known.description
        return f"Cluster({self._folder.path}, {found.shards} shards, encoder={found.encoder!r}, {len(self)} documents)"

    def _unknown(self, id: str) -> UnknownIdError:
        return UnknownIdError(f"id {id!r} is not in the cluster, which holds {len(self):,} documents")


def _as_queries(query: Any, vector: npt.ArrayLike | None) -> tuple[list[str | None], bool]:
    """The texts of queries, and whether there are several: a list of texts, or a matrix of vectors."""
    if isinstance(query, list | tuple):
        return list(query), True
    rows = np.shape(vector)[:-1] if vector is not None and query is None else ()
    return ([None] * rows[0], True) if len(rows) == 1 else ([query], False)


def _ranked_again(query: str | None, hits: ClusterHits, rerank: Callable[..., Any], k: int) -> ClusterHits:
    given = np.asarray(rerank(query, list(hits)), np.float64)
    if given.shape != (len(hits),) or np.isnan(given).any():
        raise ParameterError(f"rerank must return a number for each of the {len(hits)} candidates, none of them NaN")
    best = np.argsort(-given, kind="stable")[:k].tolist()
    hits[:] = [replace(hits[place], score=float(given[place])) for place in best]
    return hits
