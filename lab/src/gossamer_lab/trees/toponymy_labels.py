"""The keyphrases that Toponymy would show a language model of the same groups. The lab does not install Toponymy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from gossamer_lab.engine import Floats, Longs


def is_installed() -> bool:
    """Whether Toponymy can be imported."""
    return find_spec("toponymy") is not None


class Keyphrases:
    """The keyphrases of one collection: words and up to four words in a row. Each is encoded once."""

    def __init__(self, texts: Sequence[str], embed: Callable[[list[str]], Floats]) -> None:
        from toponymy.keyphrases import KeyphraseBuilder

        self._embed = embed
        self._matrix, self._phrases, _ = KeyphraseBuilder(n_jobs=1, verbose=False).fit_transform(list(texts))
        # Vectors that are zero are encoded where they are needed, and written here by Toponymy.
        self._vectors = np.zeros((len(self._phrases), embed(["a"]).shape[1]), np.float32)

    def of(self, members: Sequence[Longs], most: int = 10) -> list[list[str]]:
        """The keyphrases of each group, weighted by information and made to differ, as Toponymy does by default."""
        from toponymy.keyphrases import information_weighted_keyphrases

        groups = np.full(self._matrix.shape[0], -1)
        for number, places in enumerate(members):
            groups[places] = number
        found: list[list[str]] = information_weighted_keyphrases(
            groups, self._matrix.copy(), self._phrases, self._vectors, self, n_keyphrases=most, verbose=False
        )
        return found

    def encode(self, texts: Sequence[str], **_: Any) -> Floats:
        """Toponymy's interface of an encoder."""
        return self._embed([str(text) for text in texts])
