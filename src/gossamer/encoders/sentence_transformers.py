"""``st:<model>``: any sentence-transformers model, by hub name or folder."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import positive
from gossamer.encoders.prompts import prompts_for
from gossamer.encoders.protocol import CheckedEncoder, Kind, Once, fingerprint_of
from gossamer.encoders.transformers import identity, quiet, unavailable
from gossamer.errors import MissingExtraError
from gossamer.results.progress import Progress

_BATCHES = 16
"""Batches passed to the model at a time: enough to be sorted by length, few enough to report progress."""

_PROMPT_NAMES = {"document": ("document", "passage", "corpus"), "query": ("query",)}
"""The names under which models define the prompts."""


class SentenceTransformersEncoder(CheckedEncoder):
    """A sentence-transformers model; its vectors have unit length only if the model normalises them.

    Queries and documents get the prompts the model defines; models of the e5 and bge families that define
    none get those of their model cards.
    """

    def __init__(self, model: str, *, batch_size: int = 32, device: str | None = None) -> None:
        if find_spec("sentence_transformers") is None:
            raise MissingExtraError(f"The encoder st:{model}", "st")
        self._name = model
        self._batch_size = positive(batch_size, "batch_size")
        self._model = Once(lambda: _load(model, device))
        self._identity = Once(lambda: identity(model))

    @property
    def dim(self) -> int:
        """Length of the vectors; loads the model."""
        model = self._model()
        stated = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return int(stated() or self._vectors(["dimension"], "document", None).shape[1])

    @property
    def name(self) -> str:
        """``st:`` and the model."""
        return f"st:{self._name}"

    @property
    def fingerprint(self) -> str:
        """A hash of the model (hub name, or content of its files) and of the prompts for its name."""
        return fingerprint_of(encoder="st", model=self._identity(), prompts=prompts_for(self._name))

    def _vectors(self, texts: list[str], kind: Kind, progress: Progress | None) -> Floats:
        call = self._call(kind)
        step = self._batch_size * _BATCHES
        blocks = []
        for start in range(0, len(texts), step):
            blocks.append(call(texts[start : start + step]))
            if progress is not None:
                progress(min(start + step, len(texts)), len(texts))
        return np.concatenate(blocks)

    def _call(self, kind: Kind) -> Any:
        """The model's method for `kind` (from version 5; it may route), else `encode` with a prompt."""
        model = self._model()
        options: dict[str, Any] = {"batch_size": self._batch_size, "show_progress_bar": False, "convert_to_numpy": True}
        defined = [name for name in _PROMPT_NAMES[kind] if model.prompts.get(name)]
        if not any(model.prompts.values()):
            options["prompt"] = prompts_for(self._name).get(kind, "")
        elif defined:
            options["prompt_name"] = defined[0]
        method = getattr(model, f"encode_{kind}", model.encode)
        return lambda some: method(some, **options)


def _load(model: str, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    try:
        with quiet():
            return SentenceTransformer(model, device=device)
    except (OSError, ValueError) as error:
        raise unavailable(f"st:{model}", error) from error
