"""Terms and members as vectors → how well some terms together tell the members of a concept from those of its siblings.

The vector of a label is close to the sum of the vectors of its terms. Of a set S of terms, let c be the sum of a
passage's cosines to them, with mean and variance μ, v over members and μ', v' over siblings' members. If these were
normal, a random member would be nearer to the label than a random member of a sibling with probability

    area(S) = Φ((μ − μ') / √(v + v'))

the area under the ROC curve. It needs the means and covariances of the single terms alone.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np

from gossamer.array_types import Doubles, Floats

_log = logging.getLogger("gossamer.explain")

_CACHED: Final = 1 << 14
"""Terms whose vectors are cached."""

_LIKE: Final = 0.7
"""Mean cosine of passages in a tree to what an encoder makes of them, at least, if the tree is of its vectors."""


@dataclass(frozen=True)
class Separation:
    """What vectors tell of some terms: for each its mean cosine to members less that to others, and covariances."""

    apart: Doubles
    spread: Doubles

    @classmethod
    def of(cls, terms: Floats, members: Floats, others: Floats) -> Separation:
        """Terms, members of a concept and members of its siblings are rows of a matrix each, of length 1."""
        # Not by BLAS, whose sums depend on the number of threads.
        inside, outside = (np.einsum("pd,td->pt", each, terms).astype(np.float64) for each in (members, others))
        apart = inside.mean(axis=0) - outside.mean(axis=0)
        centred = [each - each.mean(axis=0) for each in (inside, outside)]
        spread = sum(np.einsum("ps,pt->st", each, each) / len(each) for each in centred)
        return cls(apart, np.asarray(spread))

    def areas(self, chosen: Sequence[int], more: Sequence[int]) -> list[float]:
        """The area under the ROC curve of the chosen terms and one more, for each of `more`."""
        one, some = list(chosen), list(more)
        apart = self.apart[one].sum() + self.apart[some]
        spread = self.spread[np.ix_(one, one)].sum() + 2.0 * self.spread[np.ix_(one, some)].sum(axis=0)
        spread += self.spread[some, some]
        return [0.5 + 0.5 * math.erf(a / math.sqrt(2.0 * max(v, 1e-12))) for a, v in zip(apart, spread, strict=True)]


class Meaning:
    """An encoder of terms. Each is encoded once, and rounded to 16 bits whether it was cached or not."""

    def __init__(self, name: str, encode: Callable[[list[str]], Floats] | None) -> None:
        """`name` tells encoders with different vectors apart; `encode` is None where nothing can be encoded here."""
        self.name = name
        self.number = int.from_bytes(blake2b(name.encode(), digest_size=7).digest(), "little")
        """The same for encoders of one name."""
        self._encode = encode
        self._known: dict[str, Floats] = {}

    @property
    def available(self) -> bool:
        """Whether texts can be encoded. One that has failed is not asked again for this object's life."""
        return self._encode is not None

    def vectors(self, texts: Sequence[str]) -> Floats | None:
        """As the encoder gives them; None where it fails."""
        known = self._known
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if len(known) + len(missing) > _CACHED:
            known, missing = {}, list(dict.fromkeys(texts))
        if missing:
            if self._encode is None:
                return None
            try:
                rounded = self._encode(missing).astype(np.float16)
            except Exception as error:
                _log.warning("terms cannot be encoded, labels are chosen by words alone: %s", error)
                self._encode = None
                return None
            known.update(zip(missing, rounded, strict=True))
            self._known = known
        return np.stack([known[text] for text in texts]).astype(np.float32)

    def made(self, texts: Sequence[str], vectors: Floats, project: Callable[[Floats], Floats]) -> bool:
        """Whether a tree is made of vectors of this encoder, as far as some of its passages tell.

        `vectors` are those in the tree, of length 1. Where they were given, another model may have made them.
        """
        filled = [at for at, text in enumerate(texts) if text and not text.isspace()]
        found = self.vectors([texts[at] for at in filled]) if filled else None
        if found is None:
            return False
        own = units(project(found))
        return own.shape[1] == vectors.shape[1] and float((own * vectors[filled]).sum(axis=1).mean()) >= _LIKE


def units(X: Floats) -> Floats:
    """Rows scaled to length 1."""
    scaled: Floats = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return scaled
