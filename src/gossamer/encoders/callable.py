"""Any function from texts to vectors, made an encoder."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import as_vectors
from gossamer.encoders.protocol import Kind, Progress, check_kind, check_texts, fingerprint_of
from gossamer.errors import EncoderError, StateError


class CallableEncoder:
    """A callable ``list[str] -> array`` with its output checked.

    `kind` ("document" or "query") is handed on if the callable has a parameter of that name.

    A function cannot be told from another by looking at it, so all unnamed ones share a fingerprint and
    only the dimension guards an index against the wrong one; give a `name` that changes with the model
    (a version, say) and the index will notice.
    """

    def __init__(self, function: Callable[..., Any], *, name: str | None = None, dim: int | None = None) -> None:
        self._function = function
        self._name = name
        self._dim = dim
        self._takes_kind = _takes_kind(function)

    @property
    def dim(self) -> int:
        """Length of the vectors, known once the callable was called."""
        if self._dim is None:
            raise StateError(
                "the dimension of a callable encoder is known after its first call: encode something first"
            )
        return self._dim

    @property
    def name(self) -> str:
        """``callable:`` and the name it was given or was defined under."""
        return f"callable:{self._name or getattr(self._function, '__qualname__', type(self._function).__name__)}"

    @property
    def named(self) -> bool:
        """Whether a name was given that tells this function from others."""
        return self._name is not None

    @property
    def fingerprint(self) -> str:
        """A hash of the given name; the same for all functions without one."""
        return fingerprint_of(encoder="callable", name=self._name)

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """The callable's vectors, one row for each text; errors of the callable come through as they are."""
        rows = check_texts(texts)
        check_kind(kind)
        if not rows:
            return np.empty((0, self._dim or 0), np.float32)
        given = self._function(rows, kind=kind) if self._takes_kind else self._function(rows)
        vectors = as_vectors(_to_numpy(given), self._dim, what="the encoder's vectors")
        if len(vectors) != len(rows):
            raise EncoderError(
                f"the encoder gave {len(vectors)} vectors for {len(rows)} texts: it must give one for each"
            )
        self._dim = vectors.shape[1]
        if progress is not None:
            progress(len(rows), len(rows))
        return vectors


def _takes_kind(function: Callable[..., Any]) -> bool:
    try:
        parameter = inspect.signature(function).parameters.get("kind")
    except (TypeError, ValueError):  # some built-in callables have no signature
        return False
    return parameter is not None and parameter.kind in (
        parameter.POSITIONAL_OR_KEYWORD,
        parameter.KEYWORD_ONLY,
    )


def _to_numpy(values: Any) -> Any:
    """A torch tensor as an array, wherever it lives and whether or not it wants gradients."""
    return values.detach().cpu().float().numpy() if hasattr(values, "detach") else values
