"""``st:<model>``: any sentence-transformers model, by hub name or folder."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import as_vectors, positive
from gossamer.encoders.folders import identity
from gossamer.encoders.prompts import prompt_for, prompts_for
from gossamer.encoders.protocol import Kind, Once, Progress, check_kind, check_texts, fingerprint_of
from gossamer.encoders.quiet import quiet
from gossamer.errors import MissingExtraError, ModelUnavailableError

_BATCHES = 16
"""Batches handed over at a time: enough to be sorted by length, few enough to report progress."""

_OTHER_NAMES = {"document": ("document", "passage", "corpus"), "query": ("query",)}
"""What models call the prompts in their own settings."""


class SentenceTransformersEncoder:
    """A sentence-transformers model; vectors as it gives them, of unit length only if it makes them so.

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
        asked = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return int(asked() or self.encode(["dimension"]).shape[1])

    @property
    def name(self) -> str:
        """``st:`` and the model."""
        return f"st:{self._name}"

    @property
    def fingerprint(self) -> str:
        """A hash of the model (hub name, or content of its files) and of the prompts its name implies."""
        return fingerprint_of(encoder="st", model=self._identity(), prompts=prompts_for(self._name))

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """The model's vectors, with its prompt for `kind`."""
        rows = check_texts(texts)
        check_kind(kind)
        if not rows:
            return np.empty((0, self.dim), np.float32)
        call = self._call(kind)
        step = self._batch_size * _BATCHES
        blocks = []
        for start in range(0, len(rows), step):
            blocks.append(as_vectors(call(rows[start : start + step]), what="the model's vectors"))
            if progress is not None:
                progress(min(start + step, len(rows)), len(rows))
        return np.concatenate(blocks)

    def _call(self, kind: Kind) -> Any:
        """The model's own method for `kind` (version 5 on; it may route), else `encode` with a prompt."""
        model = self._model()
        options: dict[str, Any] = {
            "batch_size": self._batch_size,
            "show_progress_bar": False,
            "convert_to_numpy": True,
        }
        defined = [name for name in _OTHER_NAMES[kind] if model.prompts.get(name)]
        if not any(model.prompts.values()):
            options["prompt"] = prompt_for(self._name, kind)
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
        raise ModelUnavailableError(
            f"st:{model} could not be loaded ({error}): check the name, or give the path of a folder "
            'that holds the model, or use encoder="lsa", which needs no files'
        ) from error
