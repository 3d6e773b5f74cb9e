"""Concept → what its label may be: its terms, possible labels from the best on, and exemplars.

A proposal is made from the members of the concept, those of its siblings and the corpus, and from nothing else. So it
is made again only where these have changed (`Members.fingerprint`). `labelling` chooses among the possible labels, so
that no two concepts beside or above each other have the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.array_types import NONE, Longs
from gossamer.explain.exemplars import exemplars
from gossamer.explain.labels import Holders, alternatives, breadth_of, distinctive_terms, is_mixture, usual_form
from gossamer.explain.passages import READ, SNIPPET, Pause, Texts
from gossamer.explain.sampling import Members
from gossamer.explain.terms import Counts, Terms, terms_of
from gossamer.plain_text import beginning
from gossamer.tree.browsing import shown_children

_BATCH: Final = 128
"""Concepts whose texts are read with one query."""

_PARTS: Final = 3
"""Parts of a mixture that its label names."""

_CACHED_TERMS: Final = 1 << 14
"""Passages whose terms are cached."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the label of a concept may be."""

    made_from: int
    """The fingerprint of its members, its siblings' and the corpus."""
    keys: tuple[str, ...]
    terms: tuple[str, ...]
    """As they are written, most distinctive first; a key for each."""
    choices: tuple[tuple[int, ...], ...]
    """Possible labels, best first: places in `terms`. None where the members have nothing in common."""
    exemplars: tuple[int, ...]
    """Ids of passages."""
    quote: str
    """The beginning of the first exemplar, where there are no choices."""
    mixed: tuple[str, ...] = ()
    """Of a mixture, the names of its largest parts."""
    parts: tuple[tuple[int, int], ...] = ()
    """The concepts that these names are of, or could be, with their fingerprints."""


class Proposals:
    """Makes the proposals of one state of a tree; those of an earlier state are kept where they still hold."""

    def __init__(self, members: Members, texts: Texts, known: Mapping[int, Proposal], pause: Pause) -> None:
        self.members = members
        self._texts = texts
        self._known = known
        self._pause = pause
        self.found: dict[int, Proposal] = {}
        """Proposals that were made so far, or kept."""
        self._terms: dict[int, Terms] = {}
        self._corpus: Counts | None = None
        self._parent: tuple[int, Counts] = NONE, Counts.over(())
        self.made = 0
        """Proposals that were made and not kept."""

    def of(self, parents: Mapping[int, int]) -> dict[int, Proposal]:
        """The proposals of internal nodes, given with their parents in the view; NONE for the root."""
        missing = [node for node, parent in parents.items() if not self._holds(node, parent)]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            self._read(node for each in batch for node in (each, parents[each]) if node != NONE)
            for node in batch:
                self._pause()
                self._propose(node, parents[node])
        return {node: self.found[node] for node in parents}

    def _holds(self, node: int, parent: int) -> bool:
        """Whether there is a proposal of a node that is what would be made now."""
        if node in self.found:
            return True
        old = self._known.get(node)
        if old is None or old.made_from != self.members.fingerprint(node, parent):
            return False
        if old.parts and old.parts != self._parts(node):
            return False
        self.found[node] = old
        return True

    def _parts(self, node: int) -> tuple[tuple[int, int], ...]:
        """The largest shown children of a node that are no leaves, with their fingerprints."""
        t = self.members.arrays
        inner = [part for part in shown_children(t, node).tolist() if t.n_children[part] > 0]
        largest = sorted(inner, key=lambda part: (-int(t.size[part]), part))[:_PARTS]
        return tuple((part, self.members.fingerprint(part, node)) for part in largest)

    def _propose(self, node: int, parent: int) -> Proposal:
        if self._holds(node, parent):
            return self.found[node]
        members = self.members
        places, parts = members.sample(node), members.parts(node)
        passages = self._terms_at(places)
        found = distinctive_terms(
            Counts.over(passages), self._beside(node, parent), self._of_corpus(),
            breadth_of(passages, parts) if parts else None,
        )  # fmt: skip
        holders = Holders([key for key, _ in found], passages)
        choices = alternatives(found, holders)
        documents = exemplars(members.arrays, members.documents[places])
        shown = dict(zip(members.documents[places].tolist(), members.passages[places].tolist(), strict=True))
        keys = tuple(key for key, _ in found)
        proposal = Proposal(
            made_from=members.fingerprint(node, parent),
            keys=keys,
            terms=tuple(usual_form(key, passages) for key in keys),
            choices=choices,
            exemplars=tuple(shown[document] for document in documents),
            quote="" if choices else beginning(self._texts(documents[:1])[0].text, SNIPPET),
        )
        if parent != NONE and choices and is_mixture(keys[choices[0][0]], choices[0], holders, passages, parts):
            proposal = self._mixed(node, proposal, passages, holders)
        self.found[node] = proposal
        self.made += 1
        return proposal

    def _mixed(self, node: int, proposal: Proposal, passages: Sequence[Terms], holders: Holders) -> Proposal:
        """The proposal named by its parts, if their first terms cover more members than its own terms do."""
        parts = self._parts(node)
        below = [part for part, _ in parts]
        self._read([*below, node])
        named = {}
        for part in below:
            each = self._propose(part, node)
            if each.choices:
                first = each.choices[0][0]
                named[each.keys[first]] = each.terms[first]
        covered = Holders(list(named), passages).covered(range(len(named)))
        wanted = len(named) > 1 and covered > holders.covered(proposal.choices[0])
        return Proposal(
            proposal.made_from, proposal.keys, proposal.terms, proposal.choices, proposal.exemplars, proposal.quote,
            tuple(named.values()) if wanted else (), parts,
        )  # fmt: skip

    # -- terms -------------------------------------------------------------------------------------

    def _beside(self, node: int, parent: int) -> Counts:
        """Terms of the siblings' members that are in the parent's sample."""
        if parent == NONE:
            return Counts.over(())
        if self._parent[0] != parent:
            self._parent = parent, Counts.over(self._terms_at(self.members.sample(parent)))
        inside, _ = self.members.siblings(node, parent)
        return self._parent[1].without(Counts.over(self._terms_at(inside)))

    def _of_corpus(self) -> Counts:
        if self._corpus is None:
            self._corpus = Counts.over(self._terms_at(self.members.corpus))
        return self._corpus

    def _read(self, nodes: Iterable[int]) -> None:
        """Read the texts that stand for some concepts at once."""
        samples = [self.members.sample(node) for node in dict.fromkeys(nodes)]
        if samples:
            self._terms_at(np.unique(np.concatenate(samples)))

    def _terms_at(self, places: Longs) -> list[Terms]:
        """The terms of the passages at some places, read where they are not cached."""
        wanted, terms = places.tolist(), self._terms
        missing = [place for place in wanted if place not in terms]
        if missing:
            if len(terms) + len(missing) > _CACHED_TERMS:
                terms.clear()
                missing = wanted
            documents = self.members.documents[missing].tolist()
            for at, (place, passage) in enumerate(zip(missing, self._texts(documents), strict=True)):
                if not at % 64:
                    self._pause()
                terms[place] = terms_of(passage.text[:READ])
        return [terms[place] for place in wanted]
