"""`Client`: an index that is somewhere else."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import numpy.typing as npt

from gossamer.client import calls, sending
from gossamer.client.calls import Call
from gossamer.client.failures import error_of
from gossamer.client.retries import pause
from gossamer.results import Concept, ConceptMatch, Document, Explanation, Hits, IndexInfo, Novelty, Topics

_T = TypeVar("_T")


class Client:
    """A server's index, with the methods of `Index`: the same arguments, answers and errors.

        with Client("http://127.0.0.1:8080", key="gsm_…") as ix:
            hits = ix.search("a question")

    url      of the server
    key      where it wants one
    index    by name; without, the server's first
    timeout  seconds for an answer
    retries  how often a request is sent again that the server had no time for (429, 503), if that does no harm
    verify   the certificates to trust, as httpx takes them
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        index: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        self._httpx = sending.library()
        self._url, self._retries = sending.base_url(url, index), retries
        self._http = self._httpx.Client(
            base_url=self._url, headers=sending.headers(key), timeout=timeout, verify=verify
        )

    def close(self) -> None:
        """Let go of the connection. Closing twice does nothing."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _do(self, call: Call[_T]) -> _T:
        for tried in range(self._retries + 1):
            try:
                response = self._http.request(**sending.request_of(call))
            except self._httpx.TransportError as error:
                raise sending.unreachable(error, self._url) from error
            wait = pause(call, response.status_code, response.headers.get("Retry-After"), tried, self._retries)
            if wait is None:
                break
            time.sleep(wait)
        return sending.answer_of(call, response)

    # -- changing ----------------------------------------------------------------------------------

    def add(
        self,
        texts: str | Iterable[str],
        ids: str | Iterable[str] | None = None,
        metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None = None,
        *,
        vectors: npt.ArrayLike | None = None,
    ) -> list[str]:
        """Add documents in one request; returns their ids. All are durable when this returns; after an error, none."""
        return self._do(calls.add(texts, ids, metadata, vectors))

    def add_stream(
        self, documents: Iterable[Mapping[str, Any]], *, progress: Callable[[int], object] | None = None
    ) -> int:
        """Add as many documents as you like, each ``{"text", "id"?, "metadata"?, "vector"?}``; returns their number.

        They are added batch by batch: `progress` is told how many are durable. After an error, those stay.
        """
        seen = sending.Acknowledged()
        body = sending.documents_as_lines(documents)
        try:
            with self._http.stream("POST", "/documents/stream", content=body, headers=sending.STREAM) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response.status_code, response.json())
                for line in response.iter_lines():
                    added = seen.take(line)
                    if progress is not None:
                        progress(added)
        except self._httpx.TransportError as error:
            raise sending.unreachable(error, self._url) from error
        return seen.finish()

    def delete(self, ids: str | Iterable[str]) -> int:
        """Remove documents; returns how many went. Ids that are not there are no error."""
        return self._do(calls.delete(ids))

    def refit(self) -> None:
        """Fit the whitener to all documents there are now, and grow the tree again. Needs an admin's key."""
        self._do(calls.refit())

    # -- searching ---------------------------------------------------------------------------------

    def search(
        self,
        query: str | None = None,
        k: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        within: int | None = None,
        hybrid: bool | float = True,
        vector: npt.ArrayLike | None = None,
        recall: float | None = None,
        explain: bool = False,
        min_confidence: float = 0.0,
    ) -> Hits:
        """The k best documents, best first. See `Index.search`."""
        return self._do(calls.search(query, k, where, within, hybrid, vector, recall, explain, min_confidence))

    def explain(
        self,
        query: str | None,
        id: str,
        *,
        k: int = 10,
        hybrid: bool | float = True,
        vector: npt.ArrayLike | None = None,
    ) -> Explanation:
        """Why document `id`, any document, scores as it does for `query`. See `Index.explain`."""
        return self._do(calls.explain(query, id, k, hybrid, vector))

    def novelty(self, query: str | None = None, *, vector: npt.ArrayLike | None = None) -> Novelty:
        """How unusual a query is. See `Index.novelty`."""
        return self._do(calls.novelty(query, vector))

    def find_concepts(
        self, query: str | None = None, k: int = 10, *, vector: npt.ArrayLike | None = None
    ) -> list[ConceptMatch]:
        """At most k concepts that a query fits. See `Index.find_concepts`."""
        return self._do(calls.find_concepts(query, k, vector))

    # -- looking -----------------------------------------------------------------------------------

    @overload
    def get(self, ids: str) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[str]) -> list[Document]: ...
    def get(self, ids: str | Iterable[str]) -> Document | list[Document]:
        """The document of an id, or those of several in their order; `UnknownIdError` where one is not there."""
        found = self._do(calls.get(ids))
        return found[0] if isinstance(ids, str) else found

    def concepts(self, depth: int | None = 2) -> list[Concept]:
        """The tree from the root down to `depth`, as much as the server gives at once. See `Index.concepts`."""
        return self._do(calls.concepts(depth))

    def concept(self, id: int) -> Concept:
        """One concept by its id, as found in a hit's path."""
        return self._do(calls.concept(id))

    @overload
    def topics(self, n: int, *, assignments: bool = True) -> Topics: ...
    @overload
    def topics(self, *, levels: Sequence[int], assignments: bool = True) -> list[Topics]: ...
    def topics(
        self, n: int | None = None, *, levels: Sequence[int] | None = None, assignments: bool = True
    ) -> Topics | list[Topics]:
        """The corpus in at most `n` groups, or several cuts that lie in each other. See `Index.topics`."""
        found = self._do(calls.topics(n, levels, assignments))
        return found if levels is not None else found[0]

    def info(self) -> IndexInfo:
        """What the index is and what it takes; its path is told to admins alone."""
        return self._do(calls.info())

    def __len__(self) -> int:
        return self.info().documents
