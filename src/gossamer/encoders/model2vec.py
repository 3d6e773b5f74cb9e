"""``model2vec:<model>``: static embeddings, a vector for each token and their mean; fast, without torch."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from gossamer.array_types import Floats
from gossamer.encoders.protocol import CheckedEncoder, Kind, Once, fingerprint_of
from gossamer.encoders.transformers import identity, unavailable
from gossamer.errors import MissingExtraError
from gossamer.results.progress import Progress

_BLOCK = 4_096
"""Texts encoded at a time, between two reports of progress."""


class Model2VecEncoder(CheckedEncoder):
    """A Model2Vec model by hub name or folder, the same for documents and queries.

    A text without a known token gets the zero vector, which is equally far from everything.
    """

    def __init__(self, model: str) -> None:
        if find_spec("model2vec") is None:
            raise MissingExtraError(f"The encoder model2vec:{model}", "model2vec")
        self._name = model
        self._model = Once(lambda: _load(model))
        self._identity = Once(lambda: identity(model))

    @property
    def dim(self) -> int:
        """Length of the vectors; loads the model."""
        return int(self._model().dim)

    @property
    def name(self) -> str:
        """``model2vec:`` and the model."""
        return f"model2vec:{self._name}"

    @property
    def fingerprint(self) -> str:
        """A hash of the model: its hub name, or the content of its files."""
        return fingerprint_of(encoder="model2vec", model=self._identity())

    def _vectors(self, texts: list[str], kind: Kind, progress: Progress | None) -> Floats:
        model = self._model()
        vectors = np.empty((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            # Its own processes would be started anew for every block.
            vectors[start : start + len(block)] = model.encode(block, use_multiprocessing=False)
            if progress is not None:
                progress(start + len(block), len(texts))
        return vectors


def _load(model: str) -> Any:
    from model2vec import StaticModel

    try:
        return StaticModel.from_pretrained(model, force_download=False)
    except (OSError, ValueError, KeyError) as error:
        raise unavailable(f"model2vec:{model}", error) from error
