"""``openai:<model>`` and ``ollama:<model>``: vectors from a server.

Texts are sent in batches, several at a time, to the address that the environment names (`gossamer.model_server`, which
also keeps keys secret and asks again when a server is busy). Nothing is sent before the first text is encoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import positive
from gossamer.encoders.prompts import prompts_to_add
from gossamer.encoders.protocol import CheckedEncoder, Kind, fingerprint_of
from gossamer.errors import EncoderError, ServiceError, StateError
from gossamer.model_server import Kind as ServerKind
from gossamer.model_server import ModelServer
from gossamer.results.progress import Progress

_CHARACTERS: Final = 200_000
"""Characters in a request, at most, unless a single text has more: a sixth of the tokens that OpenAI takes."""

_SECONDS: Final = 120.0
"""The longest wait for an answer: a server may have to load the model first."""

_FIRST_ATTEMPTS: Final = 3
_ATTEMPTS: Final = 8
"""How often a request is made: few times before the server has ever answered, since its address may be wrong; then for
about a minute, so that a short failure does not end hours of work."""

_TOO_MUCH: Final = (400, 413)
"""Statuses of a request that may be too large; what is wrong with it is found by halves."""


class ServedEncoder(CheckedEncoder):
    """A model behind a server; its vectors have unit length only if the server normalises them.

    `dimensions`: ask for shorter vectors, which some models offer. `batch_size`: the most texts in a request.
    `parallel`: requests under way at a time.
    """

    def __init__(
        self,
        server: ServerKind,
        model: str,
        *,
        dimensions: int | None = None,
        batch_size: int = 64,
        parallel: int | None = None,
    ) -> None:
        self._server = ModelServer(server)
        self._model = model
        self._dimensions = None if dimensions is None else positive(dimensions, "dimensions")
        self._batch_size = positive(batch_size, "batch_size")
        # A server on one's own machine computes one batch at a time.
        self._parallel = positive(parallel, "parallel") if parallel is not None else (4 if server == "openai" else 1)
        self._prompts = prompts_to_add(model)
        self._dim: int | None = None

    @property
    def dim(self) -> int:
        """Length of the vectors, known after the first answer."""
        if self._dim is None:
            raise StateError(f"the dimension of {self.name} is known after its first answer: encode something first")
        return self._dim

    @property
    def name(self) -> str:
        """``openai:`` or ``ollama:`` and the model, with `dimensions` if they were chosen."""
        chosen = f"?{urlencode({'dimensions': self._dimensions})}" if self._dimensions else ""
        return f"{self._server.kind}:{self._model}{chosen}"

    @property
    def fingerprint(self) -> str:
        """A hash of model, dimensions and prompts; the address of the server does not matter."""
        settings = {"model": self._model, "dimensions": self._dimensions, "prompts": self._prompts}
        return fingerprint_of(encoder=self._server.kind, **settings)

    def _vectors(self, texts: list[str], kind: Kind, progress: Progress | None) -> Floats:
        prompt = self._prompts.get(kind, "")
        batches = list(_batches([prompt + text for text in texts], self._batch_size))
        # The first one alone: it tells whether the server can be asked at all, and needs no thread if it is a query.
        vectors = [self._ask(batches[0], Event())]
        self._dim = len(vectors[0][0])
        done = len(batches[0])
        if progress is not None:
            progress(done, len(texts))
        if len(batches) > 1:
            vectors += self._ask_all(batches[1:], done, len(texts), progress)
        rows = [vector for batch in vectors for vector in batch]
        if any(len(row) != self._dim for row in rows):
            raise EncoderError(f"{self.name} gave vectors of different lengths: is it an embedding model?")
        return np.array(rows, np.float32)

    def _ask_all(
        self, batches: list[list[str]], done: int, total: int, progress: Progress | None
    ) -> list[list[list[float]]]:
        """The vectors of all batches, in order. `progress` is called every second, and may end this by raising."""
        stop = Event()
        pool = ThreadPoolExecutor(min(self._parallel, len(batches)), thread_name_prefix="gossamer-encode")
        try:
            jobs = [pool.submit(self._ask, batch, stop) for batch in batches]
            pending: set[Future[list[list[float]]]] = set(jobs)
            while pending:
                _, pending = wait(pending, timeout=1.0, return_when=FIRST_EXCEPTION)
                for job in jobs:
                    if job.done():
                        job.result()  # raises what went wrong
                if progress is not None:
                    progress(
                        done + sum(len(batch) for batch, job in zip(batches, jobs, strict=True) if job.done()), total
                    )
            return [job.result() for job in jobs]
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, texts: list[str], stop: Event) -> list[list[float]]:
        """The vectors of one batch; of one that the server refuses, those of its halves."""
        try:
            return self._request(texts, stop)
        except ServiceError as error:
            if error.status in _TOO_MUCH and len(texts) > 1:
                half = len(texts) // 2
                return self._ask(texts[:half], stop) + self._ask(texts[half:], stop)
            length = f" (a text of {len(texts[0]):,} characters)" if error.status in _TOO_MUCH else ""
            raise EncoderError(f"{self.name}: {error}{length}") from None

    def _request(self, texts: list[str], stop: Event) -> list[list[float]]:
        body: dict[str, Any] = {"model": self._model, "input": texts}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        if self._server.kind == "openai":
            body["encoding_format"] = "float"
        path = "/embeddings" if self._server.kind == "openai" else "/api/embed"
        attempts = _FIRST_ATTEMPTS if self._dim is None else _ATTEMPTS
        answer = self._server.post(path, body, seconds=_SECONDS, attempts=attempts, stop=stop)
        try:
            if self._server.kind == "ollama":
                found = answer["embeddings"]
            else:
                found = [item["embedding"] for item in sorted(answer["data"], key=lambda item: int(item["index"]))]
            vectors = [[float(value) for value in vector] for vector in found]
        except (KeyError, TypeError, ValueError):
            raise EncoderError(f"{self.name}: the server at {self._server.address()} gave no embeddings") from None
        if len(vectors) != len(texts) or not all(vectors):
            raise EncoderError(f"{self.name}: the server gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors


def _batches(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """`texts` in batches of at most `most` texts and _CHARACTERS characters."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == most or characters + len(text) > _CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    yield batch
