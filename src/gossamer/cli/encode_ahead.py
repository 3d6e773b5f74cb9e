"""Encoding one batch while another is written: the model works outside Python, and so do SQLite and the tree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from gossamer.index.encoding import Encoded

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total)."""

_SWITCH: Final = 0.0005
"""Seconds a thread may keep Python to itself while another waits. The model's threads need it a moment for every text:
with Python's own 0.005, encoding beside a busy thread took 1.5 to 2 times as long; so 1.1 times."""


class _StoppedError(Exception):
    """Nobody waits for the vectors any more."""


class Ahead:
    """One batch at a time, encoded by `Index.encode` in a thread of its own."""

    def __init__(self, encode: Callable[..., Encoded]) -> None:
        self._encode = encode
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-ahead")
        self._batch: Future[Encoded] | None = None
        self._stopped = False

    def start(self, texts: list[str], progress: Progress) -> None:
        """Begin to encode; `progress` is called from another thread."""

        def watched(done: int, total: int) -> None:
            if self._stopped:
                raise _StoppedError  # encoders end their work when this fails
            progress(done, total)

        self._batch = self._thread.submit(self._encode, texts, progress=watched)

    def take(self) -> Encoded | None:
        """Wait for what was started; None where nothing was."""
        batch, self._batch = self._batch, None
        return None if batch is None else batch.result()

    def stop(self) -> None:
        """Give up what is still being encoded."""
        self._stopped = True
        self._thread.shutdown(cancel_futures=True)


@contextmanager
def encoding_ahead(encode: Callable[..., Encoded], *, learns: bool = False) -> Iterator[Ahead]:
    """Cores shared well between the model and the rest, and at the end no batch left behind.

    An encoder that learns has nothing to share them with: it works while its batch is added.
    """
    ahead = Ahead(encode)
    try:
        with nullcontext() if learns else _shared_cores():
            yield ahead
    finally:
        ahead.stop()


@contextmanager
def _shared_cores() -> Iterator[None]:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        # Threads of BLAS wait by spinning, which takes the cores from the model; what they do here is little.
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        sys.setswitchinterval(interval)
