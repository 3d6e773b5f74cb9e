"""`AsyncClient`: `Client` for asyncio."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar, Unpack, overload

from gossamer.client import calls, transport
from gossamer.client.calls import Call, SearchArguments, SearchOptions, Vector
from gossamer.results import (
    Concept,
    ConceptChange,
    ConceptMatch,
    Document,
    Explanation,
    Facets,
    Hits,
    IndexInfo,
    NearDuplicates,
    Novelty,
    Plane,
    Since,
    Topics,
)  # fmt: skip
from gossamer.results.other_names import ADD, NEAR_DUPLICATES, SEARCH, TOPICS, telling_arguments

_T = TypeVar("_T")


class AsyncClient(transport.BaseClient):
    """A server's index, with the methods of `Index` to be awaited: the same arguments, answers and errors.

        async with AsyncClient("http://127.0.0.1:8080", key="gsm_…") as ix:
            hits = await ix.search("a question")

    See `BaseClient` for the arguments.
    """

    _KIND = "AsyncClient"

    async def close(self) -> None:
        """Close the connection. Closing twice does nothing."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _do(self, call: Call[_T]) -> _T:
        self._check_open()
        for tried in range(self._retries + 1):
            try:
                response = await self._http.request(**transport.request_of(call))
            except self._httpx.TransportError as error:
                raise self._unreachable(error) from error
            pause = self._pause(call, response, tried)
            if pause is None:
                break
            await asyncio.sleep(pause)
        return transport.answer_of(call, response)

    # -- changing ----------------------------------------------------------------------------------

    @telling_arguments(ADD)
    async def add(
        self,
        texts: str | Iterable[str],
        ids: str | Iterable[str] | None = None,
        metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None = None,
        *,
        vectors: Vector = None,
    ) -> list[str]:
        """Add documents in one request; returns their ids. All are durable when this returns; after an error, none."""
        return await self._do(calls.add(texts, ids, metadata, vectors))

    async def add_stream(
        self,
        documents: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]],
        *,
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """Add any number of documents, each ``{"text", "id"?, "metadata"?, "vector"?}``; returns their number.

        They are added batch by batch: `progress` is called with the number that is durable. After an error, those stay.
        """
        self._check_open()
        seen = transport.StreamProgress()
        body = _lines(documents)
        try:
            async with self._http.stream(
                "POST", "/documents/stream", content=body, headers=transport.STREAM
            ) as response:
                if not response.is_success:
                    await response.aread()
                    raise transport.error_of(response.status_code, response.json())
                async for line in response.aiter_lines():
                    added = seen.take(line)
                    if progress is not None:
                        progress(added)
        except self._httpx.TransportError as error:
            raise self._unreachable(error) from error
        return seen.finish()

    async def update(self, ids: str | Iterable[str], metadata: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> None:
        """Set fields of the metadata of documents: one dict for all of them, or one for each. See `Index.update`."""
        await self._do(calls.update(ids, metadata))

    async def delete(self, ids: str | Iterable[str] | None = None, *, where: Mapping[str, Any] | None = None) -> int:
        """Delete documents by their ids, or those that match a filter; returns how many there were."""
        return await self._do(calls.delete(ids, where))

    async def rename_concept(self, id: int, name: str | None) -> None:
        """Call a concept by a name instead of its label; None takes the name away. See `Index.rename_concept`."""
        await self._do(calls.rename_concept(id, name))

    async def rebuild(self) -> None:
        """Fit the whitener to all documents there are now, and build the tree again. Needs an admin's key."""
        await self._do(calls.rebuild())

    refit = rebuild
    """The former name of `rebuild`."""

    # -- searching ---------------------------------------------------------------------------------

    @overload
    async def search(self, query: str | None = None, k: int = 10, **options: Unpack[SearchArguments]) -> Hits: ...
    @overload
    async def search(self, query: list[str], k: int = 10, **options: Unpack[SearchArguments]) -> list[Hits]: ...
    @telling_arguments(SEARCH)
    async def search(
        self,
        query: str | Sequence[str] | None = None,
        k: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        within: int | None = None,
        hybrid: bool | float = True,
        vector: Vector = None,
        recall: float | None = None,
        explain: bool = False,
        min_confidence: float = 0.0,
        diversity: float = 0.0,
        group_by: str | None = None,
        boost: Mapping[str, Any] | None = None,
        method: Literal["guided", "path-sum", "best-first"] = "guided",
        text: bool = True,
    ) -> Hits | list[Hits]:
        """The k best documents, best first; of a list of queries a list of `Hits`, found in one request.

        See `Index.search`. `text=False` leaves each hit's `text` empty: an answer then is as short as the passages and
        the metadata of its hits, however long the documents are.
        """
        options: SearchOptions = {
            "where": where, "within": within, "hybrid": hybrid, "recall": recall, "explain": explain,
            "min_confidence": min_confidence, "diversity": diversity, "group_by": group_by, "boost": boost,
            "method": method, "text": text,
        }  # fmt: skip
        return transport.warned(await self._do(calls.search(query, k, vector, options)), where, group_by, boost)

    async def more_like(self, id: str, k: int = 10, **options: Unpack[SearchOptions]) -> Hits:
        """The k documents most like the document `id`, which is left out; `options` are those of `search`."""
        return await self._do(calls.more_like(id, k, options))

    async def explain(
        self, query: str | None, id: str, *, k: int = 10, hybrid: bool | float = True, vector: Vector = None
    ) -> Explanation:
        """Why document `id`, any document, scores as it does for `query`. See `Index.explain`."""
        return await self._do(calls.explain(query, id, k, hybrid, vector))

    async def novelty(self, query: str | None = None, *, vector: Vector = None) -> Novelty:
        """How unusual a query is. See `Index.novelty`."""
        return await self._do(calls.novelty(query, vector))

    async def find_concepts(
        self, query: str | None = None, k: int = 10, *, vector: Vector = None
    ) -> list[ConceptMatch]:
        """At most k concepts that a query fits. See `Index.find_concepts`."""
        return await self._do(calls.find_concepts(query, k, vector))

    # -- reading -----------------------------------------------------------------------------------

    @overload
    async def get(self, ids: str) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    async def get(self, ids: Iterable[str], *, skip_unknown: bool = False) -> list[Document]: ...
    async def get(self, ids: str | Iterable[str], *, skip_unknown: bool = False) -> Document | list[Document]:
        """The document of an id, or those of several in their order; `UnknownIdError` where one is not there.

        With `skip_unknown` a list of ids gives those that are there.
        """
        found = await self._do(calls.get(ids, skip_unknown))
        return found[0] if isinstance(ids, str) else found

    @telling_arguments(NEAR_DUPLICATES)
    async def near_duplicates(self, chance: float = 1e-3) -> list[NearDuplicates]:
        """Groups of documents nearer to each other than chance would have it. See `Index.near_duplicates`."""
        return await self._do(calls.near_duplicates(chance))

    async def concepts(self, depth: int | None = 2) -> list[Concept]:
        """The tree from the root down to `depth`, as much as the server gives at once. See `Index.concepts`."""
        return await self._do(calls.concepts(depth))

    async def concept(self, id: int) -> Concept:
        """One concept by its id, as found in a hit's path."""
        return await self._do(calls.concept(id))

    async def facets(
        self,
        query: str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        within: int | None = None,
        k: int = 200,
        most: int = 10,
    ) -> Facets:
        """How many documents have each value of each metadata field. See `Index.facets`."""
        return await self._do(calls.facets(query, where=where, within=within, k=k, most=most))

    async def changes(self, since: Since) -> list[ConceptChange]:
        """What became of concepts since an operation or a time. See `Index.changes`."""
        return await self._do(calls.changes(since))

    @overload
    async def assign(self, text: str) -> tuple[Concept, ...]: ...
    @overload
    async def assign(self, text: list[str]) -> list[tuple[Concept, ...]]: ...
    async def assign(self, text: str | list[str]) -> tuple[Concept, ...] | list[tuple[Concept, ...]]:
        """The concepts that a text, or each of several, would lie in if it were added. See `Index.assign`."""
        found = await self._do(calls.assign([text] if isinstance(text, str) else text))
        return found[0] if isinstance(text, str) else found

    @overload
    async def topics(self, n: int, *, assignments: bool = True) -> Topics: ...
    @overload
    async def topics(self, *, levels: Sequence[int], assignments: bool = True) -> list[Topics]: ...
    @telling_arguments(TOPICS)
    async def topics(
        self, n: int | None = None, *, levels: Sequence[int] | None = None, assignments: bool = True
    ) -> Topics | list[Topics]:
        """The corpus in at most `n` groups, or several cuts that lie in each other. See `Index.topics`."""
        found = await self._do(calls.topics(n, levels, assignments))
        return found if levels is not None else found[0]

    async def plane(self, *, labels: bool = True) -> Plane:
        """Documents as points, and the regions of concepts; positions are rounded to 16 bits. See `Index.plane`."""
        return await self._do(calls.plane(labels))

    async def info(self) -> IndexInfo:
        """What the index holds and what it takes on disk; its path is shown to admin keys only."""
        return await self._do(calls.info())


async def _lines(documents: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]]) -> AsyncIterator[bytes]:
    """Documents as the body of a request."""
    if isinstance(documents, AsyncIterable):
        async for document in documents:
            yield transport.as_line(document)
    else:
        for document in documents:
            yield transport.as_line(document)
