"""The encoder of an index: loaded again when the index is opened, and called with its output checked.

An index may come from someone else, and then so does the name of its encoder. Loading a model can run code (pickled
weights, modules of a repository), so only encoders that bring no code are loaded because an index names them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import one_of, positive
from gossamer.encoders import (
    Encoder,
    FittedEncoder,
    Kind,
    Progress,
    encode_texts,
    is_fitted_encoder,
    known_encoders,
    load_encoder,
)
from gossamer.encoders.registry import options_of
from gossamer.errors import EncoderError, EncoderMismatchError, StateError, UntrustedEncoderError
from gossamer.files.bundle import Bundle
from gossamer.index.chunking import split
from gossamer.lexical.analysis import DETECT, languages
from gossamer.runtime.compiling import start_helpers
from gossamer.store import Settings

_HARMLESS_OPTIONS = {"components", "stop_words", "seed", "threads"}
"""Options in the name of an encoder that cannot make it read a file."""

EncoderSpec: TypeAlias = str | Encoder | Callable[[list[str]], Any]


@dataclass(frozen=True)
class Encoded:
    """The vectors of passages by text, computed before `Index.add`, and the fingerprint of their encoder.

    >>> from gossamer import Index
    >>> vowels = Index(lambda texts: [[text.count(vowel) for vowel in "aeiou"] for text in texts])
    >>> ahead = vowels.encode(["A note on rye.", "A note on oats."])
    >>> len(ahead.vectors), vowels.add("A note on rye.", "rye", encoded=ahead)
    (2, ['rye'])
    """

    fingerprint: str
    vectors: Mapping[str, Floats] = field(repr=False)


class Unloaded:
    """A placeholder for the encoder of an index that is only inspected: no model is loaded, and nothing is encoded."""

    name = "unloaded"
    fingerprint = ""

    @property
    def dim(self) -> int:
        """Unknown."""
        raise StateError("the index was opened without its encoder: open it with one")

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """Refuse."""
        raise StateError("the index was opened without its encoder: open it with one")


def reload_encoder(settings: Settings, state: Bundle | None, given: EncoderSpec | None) -> Encoder:
    """The encoder an index was built with: `given`, or loaded by the name in the settings; with its saved state."""
    if isinstance(given, Unloaded):
        return given
    if isinstance(given, str) and _is_of_another_kind(given, settings.encoder):
        # Raised before loading: nobody should install or download an encoder that cannot be used here.
        raise EncoderMismatchError(
            f"the index was built with the encoder {settings.encoder!r}, and {given!r} gives other vectors: "
            "open it with the former, or change its encoder with reencode"
        )
    encoder = _load_trusted(settings.encoder) if given is None else load_encoder(given)
    if is_fitted_encoder(encoder):
        if encoder.name != settings.encoder:
            raise _mismatch(settings, encoder)
        return encoder if state is None else _with_state(encoder, state)
    if encoder.fingerprint != settings.fingerprint:
        raise _mismatch(settings, encoder)
    if settings.dim is not None and settings.encoder.startswith("callable:"):
        dim = encoder_dim(encoder)  # all functions have the same fingerprint
        if dim not in (None, settings.dim):
            raise _other_dim(settings, encoder, dim)
    return encoder


def _load_trusted(name: str) -> Encoder:
    """Load the encoder that an index names, if neither it nor its options can read a file of the index's choice."""
    base = name.partition("?")[0]
    if base.startswith("callable:"):
        return load_encoder(name)  # raises: it has to be passed again
    if base not in ("minilm", "lsa") or not options_of(name).keys() <= _HARMLESS_OPTIONS:
        risk = "it sends texts to a server" if _is_served(base) else "loading a model can run code that comes with it"
        raise UntrustedEncoderError(
            f"the index names the encoder {name!r}, and {risk}: "
            f"if you trust it, name it yourself, as in Index.open(path, encoder={name!r}), or with --encoder",
            encoder=name,
        )
    return load_encoder(name)


def _is_served(name: str) -> bool:
    return name.startswith(("openai:", "ollama:"))


def encode(
    encoder: Encoder, texts: Sequence[str], settings: Settings, kind: Kind, progress: Progress | None = None
) -> Floats:
    """The vectors of `texts`; raises unless there is one for each text, of the index's dimension."""
    if kind == "document":
        start_helpers()  # by the time there are vectors, kernels are needed
    vectors = encode_texts(encoder, texts, kind=kind, progress=progress)
    if settings.dim is not None and vectors.shape[1] != settings.dim:
        raise _other_dim(settings, encoder, vectors.shape[1])
    return vectors


def new_settings(encoder: Encoder, preset: str, max_tokens: int | None, overlap: int | None, language: str) -> Settings:
    """The settings of a new index, checked; `overlap` is chosen where it is None."""
    one_of(preset, "preset", ("default", "paper"))
    one_of(language, "language", (DETECT, *languages()))
    if max_tokens is not None:
        overlap = min(30, positive(max_tokens, "max_tokens") // 4) if overlap is None else overlap
        split("", max_tokens=max_tokens, overlap=overlap)  # says what is wrong with them
    return Settings.new(encoder.name, encoder.fingerprint, max_tokens, overlap or 0, language, preset)


def encode_ahead(encoder: Encoder, texts: Sequence[str], settings: Settings, progress: Progress | None) -> Encoded:
    """The vectors of texts, for a later `add`; none of an encoder that learns, since it may learn again before."""
    if is_fitted_encoder(encoder) or not texts:
        return Encoded("", {})
    vectors = encode(encoder, texts, settings, "document", progress)
    return Encoded(encoder.fingerprint, dict(zip(texts, vectors, strict=True)))


def encode_missing(
    encoder: Encoder, texts: Sequence[str], settings: Settings, ahead: Encoded | None, progress: Progress | None
) -> Floats:
    """The vectors of texts: those that this encoder computed ahead, and the rest computed now."""
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
    """Whether a given name is of a known kind (lsa, st:…), and not of the kind the index was built with."""
    kinds = {name.partition(":")[0] for name in known_encoders()}
    wanted = given.partition(":")[0]
    return wanted in kinds and wanted != built_with.partition(":")[0]


def _with_state(encoder: FittedEncoder, state: Bundle) -> FittedEncoder:
    restore: Callable[[Bundle], FittedEncoder] | None = getattr(type(encoder), "from_state", None)
    if restore is None:
        raise EncoderError(
            f"the encoder {encoder.name!r} cannot be restored: it needs a classmethod from_state(bundle)"
        )
    return restore(state)


def encoder_dim(encoder: Encoder) -> int | None:
    """The dimension of an encoder's vectors, for which its model may be loaded; None where it cannot be known."""
    try:
        return encoder.dim
    except (StateError, EncoderError):
        pass
    try:
        return int(np.shape(encoder.encode(["dimension"], kind="document"))[1])
    except Exception:  # a function that is never meant to be called, or a model that cannot be loaded now
        return None


def _mismatch(settings: Settings, encoder: Encoder) -> EncoderMismatchError:
    return EncoderMismatchError(
        f"the index was built with the encoder {settings.encoder!r} ({settings.fingerprint[:8]}), and {encoder.name!r} "
        f"({encoder.fingerprint[:8]}) gives other vectors: open it with the former, or change its encoder with reencode"
    )


def _other_dim(settings: Settings, encoder: Encoder, dim: int | None) -> EncoderMismatchError:
    return EncoderMismatchError(
        f"the index was built with vectors of {settings.dim} dimensions (encoder {settings.encoder!r}), and "
        f"{encoder.name!r} gives {dim}: open it with the encoder it was built with, or build a new index"
    )
