"""Proposals → the labels of a tree's concepts: no two the same beside or above each other.

    labels = make(Proposals(Members(state), texts, known.proposals, pause), Family.whole(state.arrays))

All of this depends on the state of the tree and its texts alone. What is known already only saves time: a label is a
function of its concept, whoever asks for it first and whenever it is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gossamer.array_types import NONE
from gossamer.explain.passages import SNIPPET
from gossamer.explain.proposals import Proposal, Proposals
from gossamer.plain_text import shortened
from gossamer.results import Exemplar
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.browsing import concepts_of, shown_children_of, shown_concepts

_SAME: Final = 0.75
"""Share of the passages that two groups have in common if the name of one is also that of the other."""

MIXED: Final = "mixed: "
"""How the label of a mixture begins."""


@dataclass(frozen=True, slots=True)
class Label:
    """The words for an internal node."""

    text: str
    terms: tuple[str, ...]
    """As they are written, most distinctive first."""
    exemplars: tuple[int, ...]
    """Ids of passages, which are below the concept that the label is of."""
    shown: tuple[Exemplar, ...] = ()
    """The same as people see them; none where an earlier version saved the label."""


@dataclass(frozen=True)
class Labels:
    """The labels of a tree's concepts by their ids. A search reads one such value; it is replaced as a whole."""

    of: Mapping[int, Label] = field(default_factory=dict)
    proposals: Mapping[int, Proposal] = field(default_factory=dict)
    names: Mapping[int, Name] = field(default_factory=dict)
    """Names that a labeller gave, which stand in the place of the labels it was shown."""
    operation: int = -1
    """The operation of which these are all labels; -1 where some may be missing or of an earlier one."""

    def merged_into(self, others: Labels) -> Labels:
        """These and others, which are older."""
        return Labels({**others.of, **self.of}, {**others.proposals, **self.proposals}, {**others.names, **self.names})

    def renamed(self, names: Mapping[int, str], known: Mapping[int, Label]) -> Labels:
        """The same with other words for some concepts. Labels that are `known` and the same stay the same objects."""
        of = {node: replace(label, text=names[node]) if node in names else label for node, label in self.of.items()}
        return replace(self, of={node: old if (old := known.get(node)) == new else new for node, new in of.items()})

    def with_name(self, node: int, name: Name) -> Labels:
        """The same with the name that a labeller gave a concept."""
        of = {**self.of, node: replace(self.of[node], text=name.text)} if name.text else self.of
        return replace(self, of=of, names={**self.names, node: name})


@dataclass(frozen=True, slots=True)
class Name:
    """What a labeller called a group of documents."""

    text: str
    """Empty where it failed: the concept keeps its terms."""
    members: tuple[int, ...]
    """Passages that stand for the group, in ascending order."""

    def fits(self, members: Sequence[int]) -> bool:
        """Whether a group that these passages stand for is mostly the same."""
        common = len(set(self.members).intersection(members))
        return common >= _SAME * max(len(self.members), len(members))


@dataclass(frozen=True)
class Family:
    """Concepts to label, with all that their labels have to differ from."""

    parents: Mapping[int, int]
    """Internal nodes with their parents in the view, NONE for the root; a parent comes before its children."""
    hidden: frozenset[int] = frozenset()
    """Those of them that the view leaves out: others take no heed of their labels."""

    @classmethod
    def of_paths(cls, t: TreeArrays, paths: Sequence[Sequence[int]]) -> Family:
        """The internal nodes of shown paths, and all that are beside them."""
        wanted = concepts_of(t, paths)
        above = [parent for parent in dict.fromkeys(wanted.values()) if parent != NONE]
        children = dict(zip(above, shown_children_of(t, above), strict=True)) if above else {}
        found: dict[int, int] = {}
        hidden = set()
        for node, parent in wanted.items():
            beside = children.get(parent)
            if beside is not None:
                found.update((each, parent) for each in beside if t.n_children[each] > 0)
                if node not in beside:
                    hidden.add(node)
            found[node] = parent
        return cls(found, frozenset(hidden))

    @classmethod
    def whole(cls, t: TreeArrays) -> Family:
        """All concepts that are shown."""
        return cls(shown_concepts(t))


def make(work: Proposals, family: Family) -> Labels:
    """The labels of some concepts."""
    proposals = work.of(family.parents)
    return Labels(choose(work.members.arrays, proposals, family), proposals)


def choose(t: TreeArrays, proposals: Mapping[int, Proposal], family: Family) -> dict[int, Label]:
    """The label of each concept: the best one proposed that none above it and none beside it has.

    Of siblings the one with the lowest id chooses first.
    """
    families: dict[int, list[int]] = {}
    for node, parent in family.parents.items():
        families.setdefault(parent, []).append(node)
    found: dict[int, Label] = {}
    above: dict[int, tuple[frozenset[str], ...]] = {NONE: ()}  # terms of the labels of a concept and of those above it
    for parent, children in families.items():
        keys, texts = set(above[parent]), {found[parent].text} if parent in found else set()
        for node in sorted(children, key=lambda child: (child in family.hidden, child)):
            proposal = proposals[node]
            text, chosen = _chosen(proposal, int(t.size[node]), keys, texts)
            texts.add(text)
            above[node] = above[parent]
            if chosen:
                keys.add(chosen)
                above[node] += (chosen,)
            found[node] = Label(text, proposal.terms, proposal.exemplars, proposal.shown)
    return found


def _chosen(proposal: Proposal, size: int, keys: set[frozenset[str]], texts: set[str]) -> tuple[str, frozenset[str]]:
    """A label that is none of those taken, and its terms: of a mixture those of its parts, or it quotes an exemplar."""
    text, chosen = "", frozenset[str]()
    if proposal.mixed:
        text = MIXED + " · ".join(proposal.mixed)
    if not text or text in texts:
        for choice in proposal.choices:
            chosen = frozenset(proposal.keys[at] for at in choice)
            text = ", ".join(proposal.terms[at] for at in choice)
            if chosen not in keys and text not in texts:
                break
        else:
            chosen = frozenset()
            text = text or f"“{shortened(proposal.shown[0].text, SNIPPET)}” and {size - 1} like it"
    number, plain = 2, text
    while text in texts:
        text, number = f"{plain} ({number})", number + 1
    return text, chosen
