"""``fastembed:<model>``: the models that FastEmbed knows, on ONNX Runtime, without torch."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import positive
from gossamer.encoders.models import cache_folder
from gossamer.encoders.onnx import disable_telemetry
from gossamer.encoders.prompts import prompts_to_add
from gossamer.encoders.protocol import CheckedEncoder, Kind, Once, fingerprint_of
from gossamer.encoders.transformers import unavailable
from gossamer.errors import MissingExtraError
from gossamer.results.progress import Progress

_BATCHES = 4
"""Batches passed to the model between two reports of progress."""


class FastEmbedEncoder(CheckedEncoder):
    """A FastEmbed model, by its name in ``TextEmbedding.list_supported_models()``.

    Its files are fetched at first use, into FASTEMBED_CACHE_PATH or the cache folder of Gossamer (FastEmbed's own
    default is a temporary folder), or taken from `folder`. Models get the prompts of their model cards.
    """

    def __init__(self, model: str, *, batch_size: int = 32, folder: str | None = None) -> None:
        if find_spec("fastembed") is None:
            raise MissingExtraError(f"The encoder fastembed:{model}", "fastembed")
        self._name = model
        self._batch_size = positive(batch_size, "batch_size")
        self._model = Once(lambda: _load(model, folder))
        self._prompts = prompts_to_add(model)

    @property
    def dim(self) -> int:
        """Length of the vectors; loads the model."""
        return int(self._model().embedding_size)

    @property
    def name(self) -> str:
        """``fastembed:`` and the model."""
        return f"fastembed:{self._name}"

    @property
    def fingerprint(self) -> str:
        """A hash of the model's name and its prompts."""
        return fingerprint_of(encoder="fastembed", model=self._name.lower(), prompts=self._prompts)

    def _vectors(self, texts: list[str], kind: Kind, progress: Progress | None) -> Floats:
        model, prompt = self._model(), self._prompts.get(kind, "")
        embed = model.query_embed if kind == "query" else model.passage_embed
        step, blocks = self._batch_size * _BATCHES, []
        for start in range(0, len(texts), step):
            block = [prompt + text for text in texts[start : start + step]]
            blocks += list(embed(block, batch_size=self._batch_size))
            if progress is not None:
                progress(start + len(block), len(texts))
        return np.stack(blocks)


def _load(model: str, folder: str | None) -> Any:
    disable_telemetry()
    from fastembed import TextEmbedding

    options: dict[str, Any] = {"cache_dir": os.environ.get("FASTEMBED_CACHE_PATH") or str(cache_folder() / "fastembed")}
    if folder is not None:
        options["specific_model_path"] = str(Path(folder).expanduser())
    try:
        return TextEmbedding(model, **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise unavailable(f"fastembed:{model}", error) from error
