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
from gossamer.explain.background import Background
from gossamer.explain.exemplars import exemplars
from gossamer.explain.labels import Holders, alternatives, breadth_of, distinctive_terms, is_mixture, usual_form
from gossamer.explain.meaning import Meaning, Separation, units
from gossamer.explain.passages import READ, Pause, Texts, as_exemplar
from gossamer.explain.sampling import Members
from gossamer.explain.terms import Counts, Terms
from gossamer.results import Exemplar
from gossamer.tree.browsing import shown_children

_BATCH: Final = 128
"""Concepts whose texts are read with one query."""

_PARTS: Final = 3
"""Parts of a mixture that its label names."""

_CHECKED: Final = 8
"""Passages that tell whether a tree is made of the vectors of an encoder."""

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
    shown: tuple[Exemplar, ...]
    """The exemplars as people see them."""
    mixed: tuple[str, ...] = ()
    """Of a mixture, the names of its largest parts."""
    parts: tuple[tuple[int, int], ...] = ()
    """The concepts that these names are of, or could be, with their fingerprints."""


class Proposals:
    """Makes the proposals of one state of a tree; those of an earlier state are kept where they still hold."""

    def __init__(
        self,
        members: Members,
        texts: Texts,
        known: Mapping[int, Proposal],
        pause: Pause,
        background: Background | None = None,
        meaning: Meaning | None = None,
    ) -> None:
        """`background` is of an earlier state, and used if the corpus is still the same.

        Without `meaning` terms are compared as words alone.
        """
        self.members = members
        self._texts = texts
        self._known = known
        self._pause = pause
        self._background = background
        self._meaning = meaning
        self._own: bool | None = None  # whether the tree is of the vectors of `meaning`
        self.found: dict[int, Proposal] = {}
        """Proposals that were made so far, or kept."""
        self._terms: dict[int, tuple[Terms, Exemplar]] = {}  # and how a passage is shown
        self._prints: dict[tuple[int, int], int] = {}
        self._parent: tuple[int, Counts] = NONE, Counts.over(())
        self.made = 0
        """Proposals that were made and not kept."""

    def of(self, parents: Mapping[int, int]) -> dict[int, Proposal]:
        """The proposals of internal nodes, given with their parents in the view; NONE for the root."""
        self._note(parents)
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
        if old is None or not self._is_of(old, node, parent):
            return False
        if old.parts and old.parts != self._parts(node):
            return False
        self.found[node] = old
        return True

    def _is_of(self, old: Proposal, node: int, parent: int) -> bool:
        """Whether a proposal was made from what there is now. Where nothing can be encoded, others may have."""
        if old.made_from == self._fingerprint(node, parent):
            return True
        return bool(
            self._meaning is not None
            and not self._meaning.available
            and node in self.members.upper
            and old.made_from == self._prints[node, parent] ^ self._meaning.number
        )

    def _note(self, parents: Mapping[int, int]) -> None:
        """Compute the fingerprints of concepts, without what the encoder adds."""
        missing = [pair for pair in parents.items() if pair not in self._prints]
        if missing:
            found = self.members.fingerprints([node for node, _ in missing], [parent for _, parent in missing])
            self._prints.update(zip(missing, found, strict=True))

    def _fingerprint(self, node: int, parent: int) -> int:
        by = self._encoder if node in self.members.upper else None
        return self._prints[node, parent] ^ (0 if by is None else by.number)

    @property
    def _encoder(self) -> Meaning | None:
        """By whose vectors terms are compared; None where nothing can be encoded, or the tree is of other vectors."""
        if self._meaning is None or not self._meaning.available:
            return None
        if self._own is None:
            members = self.members
            some = members.corpus[:_CHECKED]
            texts = [passage.text for passage in self._texts(members.documents[some].tolist())]
            self._own = self._meaning.made(texts, members.units(some), members.project)
        return self._meaning if self._own else None

    def _parts(self, node: int) -> tuple[tuple[int, int], ...]:
        """The largest shown children of a node that are no leaves, with their fingerprints."""
        t = self.members.arrays
        inner = [part for part in shown_children(t, node).tolist() if t.n_children[part] > 0]
        largest = sorted(inner, key=lambda part: (-int(t.size[part]), part))[:_PARTS]
        self._note(dict.fromkeys(largest, node))
        return tuple((part, self._fingerprint(part, node)) for part in largest)

    def _propose(self, node: int, parent: int) -> Proposal:
        if self._holds(node, parent):
            return self.found[node]
        members = self.members
        places, parts = members.sample(node), members.parts(node)
        passages = self._terms_at(places)
        found = distinctive_terms(
            Counts.over(passages), self._beside(node, parent), self.background.counts,
            breadth_of(passages, parts) if parts else None,
        )  # fmt: skip
        keys = tuple(key for key, _ in found)
        terms = tuple(usual_form(key, passages) for key in keys)
        holders = Holders(keys, passages)
        choices = alternatives(found, holders, self._separation(node, parent, terms))
        documents = exemplars(members.arrays, members.documents[places])
        place_of = dict(zip(members.documents[places].tolist(), places.tolist(), strict=True))
        chosen = np.array([place_of[document] for document in documents], np.int64)
        proposal = Proposal(
            made_from=self._fingerprint(node, parent),
            keys=keys,
            terms=terms,
            choices=choices,
            exemplars=tuple(members.passages[chosen].tolist()),
            shown=tuple(exemplar for _, exemplar in self._read_at(chosen)),
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
            proposal.made_from, proposal.keys, proposal.terms, proposal.choices, proposal.exemplars, proposal.shown,
            tuple(named.values()) if wanted else (), parts,
        )  # fmt: skip

    def _separation(self, node: int, parent: int, terms: Sequence[str]) -> Separation | None:
        """What the vectors of terms tell; None where these are not looked at, or the concept has no siblings."""
        members = self.members
        if parent == NONE or not terms or node not in members.upper or self._encoder is None:
            return None
        _, others = members.siblings(node, parent)
        vectors = self._encoder.vectors(terms) if len(others) else None
        if vectors is None:
            return None
        return Separation.of(
            units(members.project(vectors)), members.units(members.sample(node)), members.units(others)
        )

    # -- terms -------------------------------------------------------------------------------------

    def _beside(self, node: int, parent: int) -> Counts:
        """Terms of the siblings' members that are in the parent's sample."""
        if parent == NONE:
            return Counts.over(())
        if self._parent[0] != parent:
            self._parent = parent, Counts.over(self._terms_at(self.members.sample(parent)))
        inside, _ = self.members.siblings(node, parent)
        return self._parent[1].without(Counts.over(self._terms_at(inside)))

    @property
    def background(self) -> Background:
        """What the labels of this state are seen against."""
        members, known = self.members, self._background
        if known is None or known.made_from != members.of_corpus:
            texts = self._texts(members.documents[members.corpus].tolist())
            read = [passage.text[:READ] for passage in texts]
            known = self._background = Background.of(read, members.units(members.corpus), int(members.of_corpus))
        return known

    def _read(self, nodes: Iterable[int]) -> None:
        """Read the texts that stand for some concepts at once."""
        samples = [self.members.sample(node) for node in dict.fromkeys(nodes)]
        if samples:
            self._terms_at(np.unique(np.concatenate(samples)))

    def _terms_at(self, places: Longs) -> list[Terms]:
        """The terms of the passages at some places."""
        return [terms for terms, _ in self._read_at(places)]

    def _read_at(self, places: Longs) -> list[tuple[Terms, Exemplar]]:
        """The terms of the passages at some places, and how each is shown; read where they are not cached."""
        wanted, terms = places.tolist(), self._terms
        missing = [place for place in wanted if place not in terms]
        if missing:
            if len(terms) + len(missing) > _CACHED_TERMS:
                terms.clear()
                missing = wanted
            background, documents = self.background, self.members.documents[missing].tolist()
            for at, (place, passage) in enumerate(zip(missing, self._texts(documents), strict=True)):
                if not at % 64:
                    self._pause()
                terms[place] = background.terms(passage.text[:READ]), as_exemplar(passage)
        return [terms[place] for place in wanted]
