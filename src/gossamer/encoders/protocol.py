"""What an encoder is, and the checks every encoder makes on its input.

An encoder turns texts into vectors. The index asks four things of it: the vectors, how long they are,
a name it can be loaded by again, and a fingerprint that tells whether two encoders give the same
vectors. Anything with these four will do; no class has to be inherited from.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeGuard, TypeVar

from gossamer.array_types import Floats
from gossamer.checks import one_of
from gossamer.errors import DtypeError, EmptyTextError, InputError
from gossamer.files.bundle import Bundle

Kind: TypeAlias = Literal["document", "query"]
"""Some models encode a question otherwise than the passage that answers it."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) from the thread that asked for the work."""

T = TypeVar("T")


class Encoder(Protocol):
    """Texts in, float32 vectors out, row by row."""

    @property
    def dim(self) -> int:
        """Length of the vectors. May load the model; StateError where it cannot be known yet."""

    @property
    def name(self) -> str:
        """What `load_encoder` takes to make this encoder again."""

    @property
    def fingerprint(self) -> str:
        """Equal for encoders that give the same vectors, on every machine; cheap, loads no model."""

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """One row for each text, in their order; (0, dim) for no texts."""


class FittedEncoder(Encoder, Protocol):
    """An encoder that learns from the corpus: `fit` comes before `encode`, and what was learnt is saved."""

    @property
    def fitted(self) -> bool:
        """Whether `fit` was called (or the state was loaded)."""

    def fit(self, texts: Sequence[str]) -> object:
        """Learn from `texts`; vectors given before and after are not comparable."""

    def state(self) -> Bundle:
        """All that was learnt, to be saved beside the index."""


def is_encoder(value: object) -> TypeGuard[Encoder]:
    """Whether `value` has all an encoder needs.

    Looked up without running properties: `dim` may load a model or not be known yet.
    """
    return callable(getattr(value, "encode", None)) and all(
        inspect.getattr_static(value, name, None) is not None for name in ("dim", "name", "fingerprint")
    )


def is_fitted_encoder(value: object) -> TypeGuard[FittedEncoder]:
    """Whether `value` is an encoder that has to see the corpus first."""
    return is_encoder(value) and all(
        inspect.getattr_static(value, name, None) is not None for name in ("fit", "fitted", "state")
    )


def check_texts(texts: Sequence[str], *, what: str = "texts") -> list[str]:
    """`texts` as a list of strings that hold something, or the error that names the first bad row."""
    if isinstance(texts, str | bytes):
        raise DtypeError(f"{what} must be a list of strings, got a single {type(texts).__name__}: wrap it in a list")
    try:
        rows = list(texts)
    except TypeError as error:
        raise DtypeError(f"{what} must be a list of strings, got {type(texts).__name__}") from error
    for row, text in enumerate(rows):
        if not isinstance(text, str):
            raise DtypeError(f"{what}: row {row} is {type(text).__name__}, not a string: convert it or leave it out")
        if not text or text.isspace():
            raise EmptyTextError(f"{what}: row {row} is empty: leave it out or give it some text")
        if not text.isascii():
            _check_unicode(text, row, what)
    return rows


def check_kind(kind: str) -> None:
    """`kind` must be one of the two."""
    one_of(kind, "kind", ("document", "query"))


def fingerprint_of(**settings: Any) -> str:
    """A short hash of what decides an encoder's vectors."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]


class Once(Generic[T]):
    """A value made at the first call, once, whichever thread comes first: models load when needed."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: list[T] = []

    def __call__(self) -> T:
        """The value; made now if this is the first call."""
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]


def _check_unicode(text: str, row: int, what: str) -> None:
    """Half of a surrogate pair is a string to Python, but neither tokenizers nor SQLite can take it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what}: row {row} holds half of a surrogate pair at character {error.start}: "
            "repair it with text.encode('utf-8', 'replace').decode()"
        ) from error
