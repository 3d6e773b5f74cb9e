"""Concepts of the tree in words: labels, exemplars, topics, outlines, and how well a query fits them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self, TypeAlias, TypeVar

from gossamer.errors import DtypeError, ParameterError, StateError, UnknownIdError
from gossamer.plain_text import beginning, counted
from gossamer.results import notebook
from gossamer.results.other_names import unknown_attribute
from gossamer.results.tables import as_dataframe

_T = TypeVar("_T")

Assigner: TypeAlias = Callable[[list[str]], list[int]]
"""Texts → the concept id of the group of each."""

TOPIC_COLUMNS: Final = ("id", "label", "size", "share", "terms", "exemplars")
"""Columns of `Topics.rows`."""


@dataclass(frozen=True)
class Exemplar:
    """A document that stands for a concept.

    >>> ix.topics(3).concepts[0].exemplars[0].id in notes
    True
    """

    id: str
    text: str
    """Its passage on one line, at most 200 characters."""


@dataclass(frozen=True, repr=False)
class Concept:
    """A node of the tree with its label and figures. Its id stays the same as long as the concept exists.

    Parent, children and path are those that people see: levels of the tree that tell little are left out.

    >>> root, concept = ix.search("who hunts mice")[0].path[:2]
    >>> concept.size < root.size, concept.parent == root.id, len(concept.terms) > 0
    (True, True, True)
    """

    id: int
    size: int
    """Passages below."""
    depth: int
    """Steps from the root, along the path."""
    label: str
    """A name, or up to four terms that tell it from its siblings; of a leaf the beginning of its text. Never empty."""
    parent: int | None
    """Id of the parent; None for the root."""
    children: tuple[int, ...]
    """Ids in ascending order; none for a leaf."""
    terms: tuple[str, ...]
    """Up to ten terms, most telling first; none for a leaf."""
    exemplars: tuple[Exemplar, ...]
    """Up to three: the one nearest to the mean first, then others that are typical and differ from it."""
    spread: float
    """Root mean square distance of the members from the mean, in the whitened space."""
    utility: float
    """Category utility in its parent's partition, P(c|parent)·[H(parent) − H(c)]; 0 at the root."""
    path: tuple[int, ...]
    """Ids from the root to this concept, both included."""
    basic: bool = False
    """Whether it is the basic level of the path it was returned in."""

    def __repr__(self) -> str:
        passages = "passage" if self.size == 1 else "passages"
        return f"Concept(#{self.id} {beginning(self.label, 60)!r}, {self.size:,} {passages}, depth {self.depth})"

    def _repr_html_(self) -> str:
        quotes = "".join(f"<li>{notebook.text(each.text)}</li>" for each in self.exemplars)
        terms = notebook.quiet(notebook.text(", ".join(self.terms)))
        return notebook.box("concept", f"<b>{notebook.named(self.label, self.size)}</b>{terms}<ul>{quotes}</ul>")


@dataclass(frozen=True)
class LabelRequest:
    """What a user's labeller gets to label one concept.

    >>> from gossamer import Index
    >>> def labeller(request):
    ...     return " and ".join(request.terms[:2])
    >>> named = Index("lsa", labeller=labeller)
    """

    id: int
    size: int
    """Passages below."""
    terms: tuple[str, ...]
    """Most telling first."""
    exemplars: tuple[str, ...]
    """Texts of the exemplars, shortened."""
    parent: str | None
    """The label of the parent; None for the root."""
    suggestion: str
    """The label that is used without a labeller."""
    siblings: tuple[str, ...] = ()
    """Labels of the concepts beside it, from which the name should tell it."""
    parts: tuple[str, ...] = ()
    """Labels of its children that are no single documents. These are named before it."""


@dataclass(frozen=True)
class ConceptMatch:
    """A concept that a query fits.

    >>> match = ix.find_concepts("who hunts mice")[0]
    >>> match.path[0].size >= match.concept.size
    True
    """

    concept: Concept
    score: float
    """P(c)^⅓ · [log p(x|c) − log p(x|root)]; 0 for the root. Comparable within one query."""
    path: tuple[Concept, ...]
    """The concepts from the root to this one; the basic level is marked."""


@dataclass(frozen=True, repr=False)
class Outline:
    """A part of the tree, as people see it, as columns: entry n of each belongs to concept n. Parents come first.

    >>> outline = ix.outline(depth=1)
    >>> outline.sizes[0], outline.parents[0]
    (18, None)
    >>> outline
    Outline(3 concepts, 18 passages, depth 0 to 1)
    """

    ids: tuple[int, ...]
    parents: tuple[int | None, ...]
    """Ids; None for the first concept, where the part begins."""
    sizes: tuple[int, ...]
    """Passages below each."""
    depths: tuple[int, ...]
    """Steps from the root of the tree."""
    children: tuple[int, ...]
    """Number of children of each, in this part or not; 0 for a leaf."""

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        if not self.ids:
            return "Outline(0 concepts)"
        depths = f"depth {min(self.depths)} to {max(self.depths)}"
        return f"Outline({counted(len(self), 'concept')}, {counted(self.sizes[0], 'passage')}, {depths})"


@dataclass(frozen=True, repr=False)
class Topics:
    """A corpus divided into groups by a cut of the tree.

    >>> topics = ix.topics(3)
    >>> len(topics.concepts), topics.assignments["owl"] in {topic.id for topic in topics.concepts}
    (3, True)
    """

    concepts: tuple[Concept, ...]
    """The groups, largest first. A concept some of whose children are groups of their own has the size of the rest."""
    assignments: dict[str, int]
    """Document id to the concept id of its group; empty where assignments were not asked for."""
    utility: float
    """H(root) − Σ P(c)·H(c) over the groups: compares cuts of one index."""

    if not TYPE_CHECKING:  # else types would not find misspelt names

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_attribute(self, name)

        def __getitem__(self, key: object) -> NoReturn:
            raise TypeError("Topics is no list and no table: take concepts[0], rows() or to_pandas()")

    def bound_to(self, assigner: Assigner) -> Self:
        """The same, with a function that tells the group of each of some texts."""
        object.__setattr__(self, "_assigner", assigner)
        return self

    def assign(self, texts: str | Sequence[str]) -> list[int]:
        """The concept id of the group that each text would be in if it were added; nothing is added.

        >>> topics = ix.topics(3)
        >>> topics.assign("a small moon of a planet") == [topics.assignments["mars"]]
        True
        """
        assigner: Assigner | None = self.__dict__.get("_assigner")
        if assigner is None:
            raise StateError("these topics do not know their index: use Index.assign, and look for a group in the path")
        if not isinstance(texts, Iterable):
            raise DtypeError(f"texts must be a string or a list of strings, got {type(texts).__name__}")
        return assigner([texts] if isinstance(texts, str) else list(texts))

    def rename(self, id: int, name: str) -> Topics:
        """The same groups, one of them called by another name. `Index.rename_concept` keeps a name.

        >>> topics = ix.topics(3)
        >>> topics.rename(topics.concepts[0].id, "Animals").concepts[0].label
        'Animals'
        """
        group = self._group(id)
        return self._with([replace(each, label=name) if each is group else each for each in self.concepts], {})

    def merge(self, ids: Iterable[int], name: str | None = None) -> Topics:
        """The same documents with some groups as one, which has the id of the largest; the index stays as it is.

        >>> topics = ix.topics(3)
        >>> topics.merge([topics.concepts[0].id, topics.concepts[1].id], "On earth")
        Topics(2 groups: 'On earth' 12, 'planet, moons, sun' 6)
        """
        merged = [self._group(id) for id in dict.fromkeys(ids)]
        if len(merged) < 2:
            raise ParameterError(f"merge takes the ids of two groups or more, got {len(merged)}")
        merged.sort(key=lambda each: (-each.size, each.id))
        one = replace(
            merged[0],
            label=name or " · ".join(each.label for each in merged),
            size=sum(each.size for each in merged),
            children=tuple(sorted({child for each in merged for child in each.children})),
            terms=_in_turn([each.terms for each in merged], 10),
            exemplars=_in_turn([each.exemplars for each in merged], 3),
        )
        left = [each for each in self.concepts if each not in merged]
        groups = sorted([one, *left], key=lambda each: (-each.size, each.id))
        return self._with(groups, {each.id: one.id for each in merged})

    def _group(self, id: int) -> Concept:
        found = next((each for each in self.concepts if each.id == id), None)
        if found is None:
            raise UnknownIdError(f"{id!r} is none of these groups: choose one of {[each.id for each in self.concepts]}")
        return found

    def _with(self, concepts: Sequence[Concept], moved: Mapping[int, int]) -> Topics:
        """These groups in the place of those there are; `moved` are ids that others have now."""
        assignments = {document: moved.get(group, group) for document, group in self.assignments.items()}
        found = Topics(tuple(concepts), assignments, self.utility)
        assigner: Assigner | None = self.__dict__.get("_assigner")
        if assigner is None:
            return found
        return found.bound_to(lambda texts: [moved.get(group, group) for group in assigner(texts)])

    def rows(self, exemplars: int = 3) -> list[dict[str, Any]]:
        """The groups as a table, large ones first: id, label, documents, share of all, terms, texts of exemplars.

        >>> [(row["label"], row["size"]) for row in ix.topics(3).rows()]
        [('forest, hunts, deer, snowy', 6), ('Bake, butter, hot oven, bread', 6), ('planet, moons, sun', 6)]
        """
        counts = Counter(self.assignments.values())
        sizes = [counts[each.id] if counts else each.size for each in self.concepts]
        total = max(1, sum(sizes))
        rows = [
            {
                "id": each.id,
                "label": each.label,
                "size": size,
                "share": size / total,
                "terms": list(each.terms),
                "exemplars": [exemplar.text for exemplar in each.exemplars[:exemplars]],
            }
            for each, size in zip(self.concepts, sizes, strict=True)
        ]
        return sorted(rows, key=lambda row: -row["size"])  # concepts are in the order of their passages

    def to_pandas(self) -> Any:
        """`rows` as a DataFrame.

        >>> ix.topics(3).to_pandas()[["label", "size"]].values.tolist()[0]
        ['forest, hunts, deer, snowy', 6]
        """
        return as_dataframe(self.rows(), TOPIC_COLUMNS)

    def __len__(self) -> int:
        return len(self.concepts)

    def __repr__(self) -> str:
        largest = ", ".join(f"{beginning(row['label'], 40)!r} {row['size']:,}" for row in self.rows(0)[:3])
        return f"Topics({len(self)} groups{': ' * bool(largest)}{largest}{', …' * (len(self) > 3)})"

    def _repr_html_(self) -> str:
        rows = [
            (
                f"<b>{notebook.text(row['label'])}</b>",
                f"{row['size']:,}",
                f"{row['share']:.1%}",
                notebook.text("".join(row["exemplars"])),
            )
            for row in self.rows(1)[: notebook.SHOWN]
        ]
        heads = ("topic", "documents", "share", "for example")
        return notebook.box("topics", notebook.table(heads, rows, of=len(self)))


def as_levels(levels: Any) -> list[Any]:
    """The argument `levels` of `topics`, several numbers of groups, as a list."""
    if isinstance(levels, str | bytes) or not isinstance(levels, Iterable):
        raise ParameterError(f"levels must be a list of numbers of groups, as in [8, 40, 200], got {levels!r}")
    return list(levels)


def _in_turn(lists: Sequence[Sequence[_T]], most: int) -> tuple[_T, ...]:
    """The first of each, then the second of each ..., none twice."""
    found = dict.fromkeys(each for row in zip_longest(*lists) for each in row if each is not None)
    return tuple(found)[:most]


@dataclass(frozen=True)
class ConceptChange:
    """What became of one concept since an earlier state of the index.

    >>> before = ix.info().operation
    >>> added = ix.add([f"Planet number {n} goes around a star." for n in range(6)])
    >>> all(change.size_after > 0 for change in ix.changes(before) if change.kind == "grown")
    True
    """

    id: int
    kind: Literal["new", "grown", "shrunk", "merged", "split", "gone"]
    """new: it was not there, and is not most of what another was. split: it was part of `other`. grown, shrunk: by more
    than a tenth. merged: it is gone, and its members make up a good part of `other`. gone: it is not there any more."""
    size_before: int
    """Passages below; 0 where it was not there."""
    size_after: int
    """Passages below; 0 where it is not there any more."""
    other: int | None
    """Of a concept that is new or split: the smallest earlier one that held most of its members. Of one that is merged
    or gone: the smallest one that holds most of its members now. None if there is none, or it is not known."""


@dataclass(frozen=True, repr=False)
class Novelty:
    """How unusual a query is, compared with the corpus's own documents.

    >>> novelty = ix.novelty("income tax")
    >>> novelty.confidence < 0.2, novelty.nearest is not None
    (True, True)
    """

    percentile: float
    """0 to 100: the share of documents that are nearer to another document than the query is to any."""
    confidence: float
    """0 to 1, above 0: the share of documents, query included, at most as near. `min_confidence` compares with it."""
    score: float
    """The cosine to the nearest passage, of vectors as the encoder made them."""
    nearest: Concept | None
    """The concept that fits best; None in an empty index."""
    verdict: str
    """The same as a sentence."""

    def __repr__(self) -> str:
        nearest = "" if self.nearest is None else f", nearest {beginning(self.nearest.label, 40)!r}"
        return f"Novelty(confidence {self.confidence:.3f}{nearest}: {self.verdict!r})"

    def _repr_html_(self) -> str:
        figures = f"confidence {self.confidence:.3f}, percentile {self.percentile:.1f}, score {self.score:.3f}"
        nearest = "" if self.nearest is None else f"nearest: {notebook.named(self.nearest.label, self.nearest.size)}"
        return notebook.box(
            "novelty", f"<b>{notebook.text(self.verdict)}</b>{notebook.quiet(figures)}{notebook.quiet(nearest)}"
        )
