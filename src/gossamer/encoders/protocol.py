"""What an encoder is, and the checks on what goes into one and what comes out.

An encoder turns texts into vectors. An index needs four things of it: the vectors, their length, a name by which it can
be loaded again, and a fingerprint that tells whether two encoders give the same vectors. Any object with these four
is an encoder; it need not inherit from a class of this package.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import as_vectors, one_of
from gossamer.errors import DtypeError, EmptyTextError, EncoderError, InputError, StateError
from gossamer.files.bundle import Bundle
from gossamer.results.progress import Progress

Kind: TypeAlias = Literal["document", "query"]
"""What a text is: some models encode a query differently from the documents that answer it."""

T = TypeVar("T")


class Encoder(Protocol):
    """Texts in, vectors out."""

    @property
    def dim(self) -> int:
        """Length of the vectors. May load the model; StateError if it is not known yet."""

    @property
    def name(self) -> str:
        """What `load_encoder` takes to make this encoder again."""

    @property
    def fingerprint(self) -> str:
        """Equal for encoders that give the same vectors, on every machine; does not load the model."""

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """One vector for each text, in the same order, as rows of a matrix; shape (0, dim) for no texts.

        The encoders of this package guarantee a C-contiguous float32 matrix without NaN, infinity, values above 1e17
        or -0.0. Use `encode_texts` for the same guarantee from any encoder.
        """


class FittedEncoder(Encoder, Protocol):
    """An encoder that learns from the corpus: `fit` comes before `encode`, and its state is saved."""

    @property
    def fitted(self) -> bool:
        """Whether `fit` was called or a state was loaded."""

    def fit(self, texts: Sequence[str]) -> object:
        """Learn from `texts`; vectors from before and after are not comparable."""

    def state(self) -> Bundle:
        """Everything that was learnt, to be saved with the index."""


class CheckedEncoder(ABC):
    """Base of the encoders of this package: checks texts, kind and vectors, each once, in `encode`."""

    @property
    def quick(self) -> bool:
        """Whether a few words take about a millisecond, and nothing is fetched: labels are then chosen with it, too."""
        return False

    @property
    @abstractmethod
    def dim(self) -> int:
        """Length of the vectors."""

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """The vectors of `texts`, with the guarantees of `Encoder.encode`."""
        rows = check_texts(texts)
        one_of(kind, "kind", ("document", "query"))
        try:
            dim = self.dim
        except StateError:
            dim = None
        if not rows:
            return np.empty((0, dim or 0), np.float32)
        return _check_vectors(self._vectors(rows, kind, progress), len(rows), dim)

    @abstractmethod
    def _vectors(self, texts: list[str], kind: Kind, progress: Progress | None) -> Any:
        """One vector for each of `texts`, of which there is at least one."""


def encode_texts(
    encoder: Encoder, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None
) -> Floats:
    """The vectors of `texts` from any encoder, with the guarantees of `Encoder.encode`."""
    vectors = encoder.encode(texts, kind=kind, progress=progress)
    return vectors if isinstance(encoder, CheckedEncoder) else _check_vectors(vectors, len(texts))


def _check_vectors(vectors: Any, count: int, dim: int | None = None) -> Floats:
    checked = as_vectors(vectors, dim, what="the encoder's vectors")
    if len(checked) != count:
        raise EncoderError(f"the encoder gave {len(checked)} vectors for {count} texts: it must give one for each")
    return checked


def is_encoder(value: object) -> TypeGuard[Encoder]:
    """Whether `value` has the four members of an encoder. Properties are not evaluated: `dim` may load a model."""
    return callable(getattr(value, "encode", None)) and _has(value, "dim", "name", "fingerprint")


def is_fitted_encoder(value: object) -> TypeGuard[FittedEncoder]:
    """Whether `value` is an encoder that learns from the corpus."""
    return is_encoder(value) and _has(value, "fit", "fitted", "state")


def _has(value: object, *names: str) -> bool:
    return all(inspect.getattr_static(value, name, None) is not None for name in names)


def check_texts(texts: Sequence[str], *, what: str = "texts") -> list[str]:
    """`texts` as a list of non-empty strings; the error names the first bad row."""
    if isinstance(texts, str | bytes):
        raise DtypeError(f"{what} must be a list of strings, got a single {type(texts).__name__}: wrap it in a list")
    try:
        rows = list(texts)
    except TypeError as error:
        raise DtypeError(f"{what} must be a list of strings, got {type(texts).__name__}") from error
    for row, text in enumerate(rows):
        if not isinstance(text, str):
            raise DtypeError(f"{what}: row {row} is {type(text).__name__}, not a string: convert it or leave it out")
        if type(text) is not str:  # of NumPy, say: they are written and compared as plain strings
            rows[row] = str.__str__(text)
        if not text or text.isspace():
            raise EmptyTextError(f"{what}: row {row} is empty: leave it out or give it some text")
        if not text.isascii():
            _check_unicode(text, row, what)
    return rows


def _check_unicode(text: str, row: int, what: str) -> None:
    """A Python string may contain lone surrogates, but neither tokenizers nor SQLite accept them."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what}: row {row} holds half of a surrogate pair at character {error.start}: "
            "repair it with text.encode('utf-8', 'replace').decode()"
        ) from error


def fingerprint_of(**settings: Any) -> str:
    """A short hash of the settings that decide an encoder's vectors."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]


class Once(Generic[T]):
    """A value computed at the first call, once for all threads; models are loaded this way."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: list[T] = []

    def __call__(self) -> T:
        """The value; computed now if this is the first call."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
        return self._made[0]
