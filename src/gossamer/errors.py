"""Every error Gossamer raises on purpose.

Catch ``GossamerError`` for all of them. Each message states what was given, what was expected, and the cure.

    GossamerError
    ├── InputError (ValueError)             what was passed in is wrong; the index is as it was
    │   ├── DimensionError                  vectors of another length than the index's
    │   ├── NotFiniteError                  NaN or infinity in a vector
    │   ├── DtypeError (TypeError)          something that is not numbers, or ids of another kind
    │   ├── EmptyTextError                  a document or a query without text
    │   ├── DuplicateIdError                the same id twice in one call
    │   ├── UnknownIdError (KeyError)       an id, document or concept that is not there
    │   ├── ParameterError                  k, budget, method and the like out of their range
    │   └── FilterError                     a ``where`` that cannot be understood
    ├── StateError (RuntimeError)           the object cannot do this now
    │   ├── ClosedError                     it was closed
    │   ├── ReadOnlyError                   it was opened for reading
    │   ├── ForkedError                     it was opened in another process, before a fork
    │   ├── DegradedError                   its tree could not be made: search works, changes need a repair
    │   └── InvariantError                  ``check()`` found the tree inconsistent
    ├── DiskError (OSError)                 files
    │   ├── NotAnIndexError                 no index at this path, or something else where one is to be made
    │   │   └── IndexExistsError (FileExistsError)  an index is there already: open it
    │   ├── CorruptError                    truncated, altered or incomplete
    │   ├── FormatVersionError              written by a newer Gossamer
    │   └── LockedError                     others are writing for too long, or have it open
    ├── EncoderError (RuntimeError)         text could not become vectors
    │   ├── UnknownEncoderError             no encoder of that name
    │   ├── ModelUnavailableError           model files could not be had from any source
    │   ├── UntrustedEncoderError           the index names an encoder that can bring code: name it yourself
    │   └── EncoderMismatchError            the index was built with another encoder
    ├── TooSlowError (TimeoutError)         a read took longer than its deadline; nothing was changed
    ├── ServiceError (RuntimeError)         a server could not be asked, or failed (`gossamer.Client`)
    │   ├── AccessError                     no key, a wrong one, or one that does not allow this
    │   ├── BusyError                       too much at once, or stopping: nothing was done
    │   └── UnreachableError                no answer came
    ├── OutOfMemoryError (MemoryError)      there is too little memory; the index is as it was
    └── MissingExtraError (ImportError)     an optional dependency is not installed

There is one warning: `UnknownFieldWarning`, for a filter that no document can match by its fields, or a boost by a
field without dates.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class GossamerError(Exception):
    """Base of every error in this package.

    >>> from gossamer import GossamerError
    >>> try:
    ...     ix.get("nothing")
    ... except GossamerError as error:
    ...     print(error)
    id 'nothing' is not in the index, which holds 18 documents
    """


class InputError(GossamerError, ValueError):
    """What was passed in is wrong; nothing was changed."""


class DimensionError(InputError):
    """Vectors of another length than expected."""


class NotFiniteError(InputError):
    """NaN or infinity where a number is needed."""


class DtypeError(InputError, TypeError):
    """Values of a kind that cannot be used here."""


class EmptyTextError(InputError):
    """A document or query without text."""


class DuplicateIdError(InputError):
    """The same id twice in one call."""


class UnknownIdError(InputError, KeyError):
    """An id, document or concept that is not there."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which would put the sentence in quotes.
        return str(self.args[0]) if self.args else ""


class ParameterError(InputError):
    """A parameter out of its range."""


class FilterError(InputError):
    """A ``where`` filter that cannot be understood."""


class UnknownFieldWarning(UserWarning):
    """A filter names a field that no document has, or has another kind of value for one: most often by mistake."""


class StateError(GossamerError, RuntimeError):
    """The object cannot do this in its present state."""


class ClosedError(StateError):
    """The index was closed."""


class ReadOnlyError(StateError):
    """The index was opened for reading."""


class ForkedError(StateError):
    """The handle was opened in another process: after a fork, each process opens the index for itself."""


class DegradedError(StateError):
    """The index was opened without its tree: it can be searched, and must be repaired before it can be changed."""


class InvariantError(StateError):
    """The tree is inconsistent with itself."""


class DiskError(GossamerError, OSError):
    """Something about files."""


class NotAnIndexError(DiskError):
    """There is nothing of ours at this path, or something where nothing may be."""


class IndexExistsError(NotAnIndexError, FileExistsError):
    """An index is at this path already, so none can be made there."""


class CorruptError(DiskError):
    """A file is truncated, altered or missing."""


class FormatVersionError(DiskError):
    """Written in a format that this version does not know."""


class LockedError(DiskError):
    """Another process has been writing for longer than the timeout, or has open what is needed alone."""


class EncoderError(GossamerError, RuntimeError):
    """Text could not be turned into vectors."""


class UnknownEncoderError(EncoderError):
    """No encoder of that name."""


class ModelUnavailableError(EncoderError):
    """Model files could not be had from any source."""


class UntrustedEncoderError(EncoderError):
    """The index names an encoder whose files can bring code, and the caller did not name it."""

    def __init__(self, message: str, *, encoder: str = "") -> None:
        super().__init__(message)
        self.encoder = encoder


class EncoderMismatchError(EncoderError):
    """The index was built with another encoder."""


class TooSlowError(GossamerError, TimeoutError):
    """A read took longer than its deadline; nothing was changed."""


class ServiceError(GossamerError, RuntimeError):
    """A server failed; its log has more under `request_id`."""

    def __init__(self, message: str, *, status: int | None = None, request_id: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.request_id = request_id


class AccessError(ServiceError):
    """The server wants a key, another one, or one with a wider scope."""


class BusyError(ServiceError):
    """The server has too much to do, or is stopping; it did nothing."""


class UnreachableError(ServiceError):
    """No answer came: whether a change was made is not known."""


class OutOfMemoryError(GossamerError, MemoryError):
    """There is too little memory for what was asked; nothing was changed."""


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Raise `OutOfMemoryError`, which says for what, where memory runs out in the block."""
    try:
        yield
    except MemoryError as error:
        if isinstance(error, GossamerError):
            raise
        raise too_little_memory(what) from error


def too_little_memory(what: str) -> OutOfMemoryError:
    """The error for memory that ran out, which says for what."""
    return OutOfMemoryError(f"there is too little memory {what}: nothing was changed")


class MissingExtraError(GossamerError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f'{feature} needs an optional dependency. Install it with: pip install "gossamer[{extra}]" '
            f'(in a checkout: pip install ".[{extra}]")'
        )
        self.feature = feature
        self.extra = extra

    def __reduce__(self) -> "tuple[type[MissingExtraError], tuple[str, str]]":
        # By its arguments: an exception is unpickled by its message otherwise.
        return type(self), (self.feature, self.extra)
