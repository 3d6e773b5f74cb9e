"""The part of the tree that a picture shows.

`read_branch` reads it from an index as nested `Branch` values, `branch_of_topics` the groups of a cut; `mark` adds the
answers to a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from gossamer.errors import ParameterError
from gossamer.results import Concept, Hit, Topics

if TYPE_CHECKING:
    from gossamer.index import Index


@dataclass(frozen=True)
class Answer:
    """A document found for a query."""

    rank: int
    id: str
    text: str
    score: float


@dataclass(frozen=True)
class Branch:
    """A concept, and its children if they are shown: all of them, largest first, or none."""

    concept: Concept
    below: tuple[Branch, ...] = ()
    answers: tuple[Answer, ...] = ()
    """The answers in this concept, best first."""

    @property
    def name(self) -> str:
        """The label; "everything" for the root."""
        return "everything" if self.concept.parent is None and self.concept.children else self.concept.label

    @property
    def hidden(self) -> int:
        """The number of children that are not shown."""
        return 0 if self.below else len(self.concept.children)

    def walk(self) -> Iterator[Branch]:
        """This branch and all below it, parents first."""
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting.extend(reversed(branch.below))

    def __len__(self) -> int:
        return sum(1 for _ in self.walk())


def read_branch(
    ix: Index,
    *,
    concept: int | None = None,
    depth: int | None = None,
    most: int = 10_000,
    progress: Callable[[int, int], None] | None = None,
) -> Branch | None:
    """The branch below `concept`, or below the root; None if the index is empty.

    Concepts are opened in order of size, down to `depth` levels, as long as no more than `most` are shown.
    `progress(done, most)` counts the concepts read.
    """
    if most < 1:
        raise ParameterError(f"a picture shows at least 1 concept, got most={most}")
    top = _top(ix, concept)
    if top is None:
        return None
    deepest = None if depth is None else top.depth + depth
    children: dict[int, list[Concept]] = {}
    shown, waiting = 1, [(-top.size, top.id, top)]
    while waiting:
        _, _, at = heappop(waiting)
        deep_enough = deepest is not None and at.depth >= deepest
        if not at.children or deep_enough or shown + len(at.children) > most:
            continue
        found = [ix.concept(child) for child in at.children]
        children[at.id] = sorted(found, key=lambda child: (-child.size, child.id))
        shown += len(found)
        if progress is not None:
            progress(shown, most)
        for child in found:
            heappush(waiting, (-child.size, child.id, child))
    return _assembled(top, children)


def branch_of_topics(ix: Index, topics: Topics, *, concept: int | None = None) -> Branch | None:
    """The groups of a cut below the root, or those that lie in `concept` below that; None if the index is empty.

    The levels between are left out: a cut need not follow the levels that are shown.
    """
    top = _top(ix, concept)
    if top is None:
        return None
    inside = [group for group in topics.concepts if top.id in group.path]
    if inside == [top]:
        return Branch(top)
    return Branch(top, tuple(Branch(replace(group, parent=top.id)) for group in inside))


def _top(ix: Index, concept: int | None) -> Concept | None:
    if concept is not None:
        return ix.concept(concept)
    return next(iter(ix.concepts(0)), None)


def _assembled(top: Concept, children: dict[int, list[Concept]]) -> Branch:
    """Build the branches bottom-up, without recursion: a tree may be deeper than Python's stack."""
    order, done = [top], 0
    while done < len(order):
        order.extend(children.get(order[done].id, []))
        done += 1
    made: dict[int, Branch] = {}
    for concept in reversed(order):
        made[concept.id] = Branch(concept, tuple(made[child.id] for child in children.get(concept.id, [])))
    return made[top.id]


def mark(branch: Branch, hits: Sequence[Hit], groups: Mapping[str, int] | None = None) -> Branch:
    """The same branch with the answers to a query in every concept on their paths.

    All of them are in the first one. `groups` are the assignments of topics: an answer is then in its group.
    """
    answers = {}
    for rank, hit in enumerate(hits, 1):
        path = {step.id for step in hit.path} if groups is None else {groups[hit.id]}
        answers[rank] = Answer(rank, hit.id, hit.passage, hit.score), path
    marked: dict[int, Branch] = {}
    for each in reversed(list(branch.walk())):
        own = tuple(answer for answer, path in answers.values() if each is branch or each.concept.id in path)
        below = tuple(marked[id(child)] for child in each.below)
        marked[id(each)] = replace(each, below=below, answers=own)
    return marked[id(branch)]
