"""The encoder of an index: found again when the index is opened, and watched so that it stays the same one.

Where an index comes from a stranger, so does the name of its encoder. Model files can bring code (pickled weights,
modules of a repository), so by the index's word alone only encoders without any are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import as_vectors
from gossamer.encoders import Encoder, FittedEncoder, Kind, Progress, is_fitted_encoder, known_encoders, load_encoder
from gossamer.encoders.registry import options_of
from gossamer.errors import EncoderError, EncoderMismatchError, StateError, UntrustedEncoderError
from gossamer.files.bundle import Bundle
from gossamer.store import Settings

_HARMLESS_OPTIONS = {"components", "stop_words", "seed", "threads"}

EncoderSpec: TypeAlias = str | Encoder | Callable[[list[str]], Any]


@dataclass(frozen=True)
class Encoded:
    """Passages with their vectors, made ahead of `Index.add`."""

    fingerprint: str
    """Of the encoder that made them."""
    vectors: Mapping[str, Floats] = field(repr=False)


class Unloaded:
    """Stands for the encoder of an index that is only looked at, for which no model has to be trusted or loaded."""

    name = "unloaded"
    fingerprint = ""

    @property
    def dim(self) -> int:
        """Unknown."""
        raise StateError("the index was opened without its encoder: open it with one")

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """Refuse."""
        raise StateError("the index was opened without its encoder: open it with one")


def reload_encoder(settings: Settings, learnt: Bundle | None, given: EncoderSpec | None) -> Encoder:
    """The encoder an index was built with: the one given, or by its name; with what it learnt."""
    if isinstance(given, Unloaded):
        return given
    if isinstance(given, str) and _is_of_another_kind(given, settings.encoder):
        # Said before it is loaded: nobody should install or download an encoder that cannot be used here.
        raise EncoderMismatchError(
            f"the index was built with the encoder {settings.encoder!r}, and {given!r} gives other vectors: "
            "open it with the former, or build a new index"
        )
    encoder = _named_by_the_index(settings.encoder) if given is None else load_encoder(given)
    if is_fitted_encoder(encoder):
        if encoder.name != settings.encoder:
            raise _mismatch(settings, encoder)
        return encoder if learnt is None else _with_state(encoder, learnt)
    if encoder.fingerprint != settings.fingerprint:
        raise _mismatch(settings, encoder)
    _check_dim(settings, encoder)
    return encoder


def _named_by_the_index(name: str) -> Encoder:
    """The encoder of this name, if neither it nor its options can make us read a file that the index chooses."""
    base = name.partition("?")[0]
    if base.startswith("callable:"):
        return load_encoder(name)  # raises: it has to be passed again
    if base not in ("minilm", "lsa") or not options_of(name).keys() <= _HARMLESS_OPTIONS:
        raise UntrustedEncoderError(
            f"the index names the encoder {name!r}, and loading a model can run code that comes with it: "
            f"if you trust it, name it yourself, as in Index.open(path, encoder={name!r})",
            encoder=name,
        )
    return load_encoder(name)


def twin(encoder: FittedEncoder) -> FittedEncoder:
    """Another one to be fitted: the first stays in use until the change is durable."""
    return deepcopy(encoder)


def encode(
    encoder: Encoder, texts: Sequence[str], settings: Settings, kind: Kind, progress: Progress | None = None
) -> Floats:
    """The vectors of `texts`, checked: one for each, of the index's dimension."""
    vectors = as_vectors(encoder.encode(texts, kind=kind, progress=progress), what="the encoder's vectors")
    if len(vectors) != len(texts):
        raise EncoderError(f"the encoder gave {len(vectors)} vectors for {len(texts)} texts: it must give one for each")
    if settings.dim is not None and vectors.shape[1] != settings.dim:
        raise _other_dim(settings, encoder, vectors.shape[1])
    return vectors


def encode_ahead(encoder: Encoder, texts: Sequence[str], settings: Settings, progress: Progress | None) -> Encoded:
    """The vectors of texts, to be used later. None of an encoder that learns: by then it may have learnt anew."""
    if is_fitted_encoder(encoder) or not texts:
        return Encoded("", {})
    vectors = encode(encoder, texts, settings, "document", progress)
    return Encoded(encoder.fingerprint, dict(zip(texts, vectors, strict=True)))


def encode_rest(
    encoder: Encoder, texts: Sequence[str], settings: Settings, ahead: Encoded | None, progress: Progress | None
) -> Floats:
    """The vectors of documents' texts: those made ahead by this encoder, and the rest now."""
    known = dict(ahead.vectors) if ahead is not None and ahead.fingerprint == encoder.fingerprint else {}
    missing = [text for text in texts if text not in known]
    if len(missing) == len(texts):
        return encode(encoder, texts, settings, "document", progress)
    if missing:
        known |= zip(missing, encode(encoder, missing, settings, "document", progress), strict=True)
    vectors = np.stack([known[text] for text in texts])
    if settings.dim is not None and vectors.shape[1] != settings.dim:
        raise _other_dim(settings, encoder, vectors.shape[1])
    return vectors


def _is_of_another_kind(given: str, built_with: str) -> bool:
    """Whether two names are of different kinds (lsa, st:…), both of them known; those of one kind may be the same."""
    kinds = {name.partition(":")[0] for name in known_encoders()}
    wanted = given.partition(":")[0]
    return wanted in kinds and wanted != built_with.partition(":")[0]


def _with_state(encoder: FittedEncoder, learnt: Bundle) -> FittedEncoder:
    restore: Callable[[Bundle], FittedEncoder] | None = getattr(type(encoder), "from_state", None)
    if restore is None:
        raise EncoderError(
            f"the encoder {encoder.name!r} cannot take up what it learnt: it needs a classmethod from_state(bundle)"
        )
    return restore(learnt)


def _check_dim(settings: Settings, encoder: Encoder) -> None:
    """A function says nothing about itself, so it is tried on one word."""
    if settings.dim is None or not settings.encoder.startswith("callable:"):
        return
    dim = encoder_dim(encoder)
    if dim not in (None, settings.dim):
        raise _other_dim(settings, encoder, dim)


def encoder_dim(encoder: Encoder) -> int | None:
    """The length of an encoder's vectors, for which its model may be loaded; None where that cannot be known."""
    try:
        return encoder.dim
    except (StateError, EncoderError):
        pass
    try:
        return int(as_vectors(encoder.encode(["dimension"], kind="document")).shape[1])
    except Exception:  # a function of the user's that is there for show, or a model that cannot be had now
        return None


def _mismatch(settings: Settings, encoder: Encoder) -> EncoderMismatchError:
    return EncoderMismatchError(
        f"the index was built with the encoder {settings.encoder!r} ({settings.fingerprint[:8]}), and {encoder.name!r} "
        f"({encoder.fingerprint[:8]}) gives other vectors: open it with the former, or build a new index"
    )


def _other_dim(settings: Settings, encoder: Encoder, dim: int | None) -> EncoderMismatchError:
    return EncoderMismatchError(
        f"the index was built with vectors of {settings.dim} dimensions (encoder {settings.encoder!r}), and "
        f"{encoder.name!r} gives {dim}: open it with the encoder it was built with, or build a new index"
    )
