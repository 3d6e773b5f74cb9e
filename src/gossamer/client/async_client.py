"""`AsyncClient`: the same as `Client`, for programs that wait for many things at once."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import numpy.typing as npt

from gossamer.client import calls, sending
from gossamer.client.calls import Call
from gossamer.client.failures import error_of
from gossamer.client.retries import pause
from gossamer.results import Concept, ConceptMatch, Document, Explanation, Hits, IndexInfo, Novelty, Topics

_T = TypeVar("_T")


class AsyncClient:
    """A server's index, with the methods of `Index` to be awaited: the same arguments, answers and errors.

        async with AsyncClient("http://127.0.0.1:8080", key="gsm_…") as ix:
            hits = await ix.search("a question")

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
        self._http = self._httpx.AsyncClient(
            base_url=self._url, headers=sending.headers(key), timeout=timeout, verify=verify
        )

    async def close(self) -> None:
        """Let go of the connection. Closing twice does nothing."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _do(self, call: Call[_T]) -> _T:
        for tried in range(self._retries + 1):
            try:
                response = await self._http.request(**sending.request_of(call))
            except self._httpx.TransportError as error:
                raise sending.unreachable(error, self._url) from error
            wait = pause(call, response.status_code, response.headers.get("Retry-After"), tried, self._retries)
            if wait is None:
                break
            await asyncio.sleep(wait)
        return sending.answer_of(call, response)

    # -- changing ----------------------------------------------------------------------------------

    async def add(
        self,
        texts: str | Iterable[str],
        ids: str | Iterable[str] | None = None,
        metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None = None,
        *,
        vectors: npt.ArrayLike | None = None,
    ) -> list[str]:
        """Add documents in one request; returns their ids. All are durable when this returns; after an error, none."""
        return await self._do(calls.add(texts, ids, metadata, vectors))

    async def add_stream(
        self,
        documents: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]],
        *,
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """Add as many documents as you like, each ``{"text", "id"?, "metadata"?, "vector"?}``; returns their number.

        They are added batch by batch: `progress` is told how many are durable. After an error, those stay.
        """
        seen = sending.Acknowledged()
        body = _lines(documents)
        try:
            async with self._http.stream("POST", "/documents/stream", content=body, headers=sending.STREAM) as response:
                if not response.is_success:
                    await response.aread()
                    raise error_of(response.status_code, response.json())
                async for line in response.aiter_lines():
                    added = seen.take(line)
                    if progress is not None:
                        progress(added)
        except self._httpx.TransportError as error:
            raise sending.unreachable(error, self._url) from error
        return seen.finish()

    async def delete(self, ids: str | Iterable[str]) -> int:
        """Remove documents; returns how many went. Ids that are not there are no error."""
        return await self._do(calls.delete(ids))

    async def refit(self) -> None:
        """Fit the whitener to all documents there are now, and grow the tree again. Needs an admin's key."""
        await self._do(calls.refit())

    # -- searching ---------------------------------------------------------------------------------

    async def search(
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
        return await self._do(calls.search(query, k, where, within, hybrid, vector, recall, explain, min_confidence))

    async def explain(
        self,
        query: str | None,
        id: str,
        *,
        k: int = 10,
        hybrid: bool | float = True,
        vector: npt.ArrayLike | None = None,
    ) -> Explanation:
        """Why document `id`, any document, scores as it does for `query`. See `Index.explain`."""
        return await self._do(calls.explain(query, id, k, hybrid, vector))

    async def novelty(self, query: str | None = None, *, vector: npt.ArrayLike | None = None) -> Novelty:
        """How unusual a query is. See `Index.novelty`."""
        return await self._do(calls.novelty(query, vector))

    async def find_concepts(
        self, query: str | None = None, k: int = 10, *, vector: npt.ArrayLike | None = None
    ) -> list[ConceptMatch]:
        """At most k concepts that a query fits. See `Index.find_concepts`."""
        return await self._do(calls.find_concepts(query, k, vector))

    # -- looking -----------------------------------------------------------------------------------

    @overload
    async def get(self, ids: str) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    async def get(self, ids: Iterable[str]) -> list[Document]: ...
    async def get(self, ids: str | Iterable[str]) -> Document | list[Document]:
        """The document of an id, or those of several in their order; `UnknownIdError` where one is not there."""
        found = await self._do(calls.get(ids))
        return found[0] if isinstance(ids, str) else found

    async def concepts(self, depth: int | None = 2) -> list[Concept]:
        """The tree from the root down to `depth`, as much as the server gives at once. See `Index.concepts`."""
        return await self._do(calls.concepts(depth))

    async def concept(self, id: int) -> Concept:
        """One concept by its id, as found in a hit's path."""
        return await self._do(calls.concept(id))

    @overload
    async def topics(self, n: int, *, assignments: bool = True) -> Topics: ...
    @overload
    async def topics(self, *, levels: Sequence[int], assignments: bool = True) -> list[Topics]: ...
    async def topics(
        self, n: int | None = None, *, levels: Sequence[int] | None = None, assignments: bool = True
    ) -> Topics | list[Topics]:
        """The corpus in at most `n` groups, or several cuts that lie in each other. See `Index.topics`."""
        found = await self._do(calls.topics(n, levels, assignments))
        return found if levels is not None else found[0]

    async def info(self) -> IndexInfo:
        """What the index is and what it takes; its path is told to admins alone."""
        return await self._do(calls.info())


async def _lines(documents: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]]) -> AsyncIterator[bytes]:
    """Documents as the body of a request."""
    if isinstance(documents, AsyncIterable):
        async for document in documents:
            yield sending.as_line(document)
    else:
        for document in documents:
            yield sending.as_line(document)
