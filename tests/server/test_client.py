"""The client by itself: errors come back as they were, retries do no harm, and both kinds are alike."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest

import gossamer
from gossamer import AsyncClient, Client, Index, errors
from gossamer.client.decoding import decode
from gossamer.client.transport import error_of
from gossamer.results import Document, Hits
from gossamer.server.problems import PREFIX, problem_of, word_of
from server.running import Running

METHODS = (
    *("add", "search", "explain", "get", "delete", "concepts", "concept", "find_concepts"),
    *("topics", "novelty", "info", "plane", "refit", "facets", "changes", "assign"),
    *("update", "more_like", "near_duplicates", "rename_concept"),
)


@pytest.mark.parametrize("name", METHODS)
def test_the_methods_are_those_of_the_index(name: str) -> None:
    own = inspect.signature(getattr(Index, name)).parameters
    for kind in (Client, AsyncClient):
        theirs = inspect.signature(getattr(kind, name)).parameters
        # Functions that a call runs, and what was prepared in this process, do not cross the wire.
        shared = {each: found for each, found in theirs.items() if (name, each) != ("search", "text")}
        assert list(shared) == [each for each in own if each not in ("progress", "encoded", "passages", "rerank")]
        for parameter, found in shared.items():
            assert (found.kind, found.default) == (own[parameter].kind, own[parameter].default)
        assert inspect.iscoroutinefunction(getattr(kind, name)) == (kind is AsyncClient)


def test_names_of_other_libraries(client: Client) -> None:
    with pytest.raises(AttributeError, match=r"a Client has no 'query': here it is search\(query"):
        client.query("sun")  # type: ignore[attr-defined]
    options: Any = {"n_results": 3}
    says = r"search\(\) has no argument 'n_results': here it is k"
    with pytest.raises(TypeError, match=says):
        client.search("sun", **options)
    with pytest.raises(TypeError, match=says):
        asyncio.run(AsyncClient("http://127.0.0.1:1").search("sun", **options))


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_only_an_index_has(kind: type[Client] | type[AsyncClient]) -> None:
    with pytest.raises(AttributeError, match=f"{kind.__name__} has no 'ids': not over HTTP, open the Index"):
        kind("http://127.0.0.1:1").ids()  # type: ignore[union-attr]


def test_arguments_of_other_libraries(client: Client) -> None:
    call: Any = client
    with pytest.raises(TypeError, match=r"add\(\) has no argument 'metadatas': here it is metadata"):
        call.add(["sun"], metadatas=[{}])
    with pytest.raises(TypeError, match=r"topics\(\) has no argument 'nr_topics': here it is n"):
        call.topics(nr_topics=3)
    with pytest.raises(TypeError, match=r"near_duplicates\(\) has no argument 'threshold': pass chance"):
        call.near_duplicates(threshold=0.9)


class _Table(dict[str, list[str]]):
    columns = ("text",)


@pytest.mark.parametrize(
    ("attempt", "says"),
    [
        (lambda ix: ix.get(7), "ids are strings, got int 7"),
        (lambda ix: ix.get(["a", 7]), "ids are strings, got int 7"),
        (lambda ix: ix.delete(7), "ids are strings, got int 7"),
        (lambda ix: ix.more_like(7), "ids are strings, got int 7"),
        (lambda ix: ix.explain("sun", 7), "ids are strings, got int 7"),
        (lambda ix: ix.add(["sun"], ids=[7]), "ids are strings, got int 7"),
        (lambda ix: ix.add(["sun", "sea"], ids="ab"), "ids must be a list with one for each document, got str"),
        (lambda ix: ix.add({"a": "sun"}), "texts must be a list with one for each document, got dict"),
        (lambda ix: ix.add(_Table(text=["sun"])), "texts must be a list with one for each document, got _Table"),
        (lambda ix: ix.add(["sun"], metadata={"a": 1}), "metadata must be a list with one for each document, got dict"),
        (lambda ix: ix.update("a", "red"), "metadata must be a list with one for each document, got str"),
    ],
)
def test_what_cannot_be_meant_is_not_sent(attempt: Callable[[Any], object], says: str) -> None:
    with pytest.raises(errors.DtypeError, match=says):
        attempt(Client("http://127.0.0.1:1"))


def test_a_client_shows_its_address() -> None:
    with Client("http://127.0.0.1:1", key="secret", index="news") as ix:
        assert repr(ix) == "Client('http://127.0.0.1:1/v1/indexes/news')"
    assert repr(ix).endswith(", closed)")


def test_a_document_is_in_a_client(client: Client, index: Index) -> None:
    assert index.ids()[0] in client
    assert "no such document" not in client
    assert 7 not in client


def test_a_column_of_queries(client: Client) -> None:
    assert client.search(np.array(["sun", "sea"]), k=1) == client.search(["sun", "sea"], k=1)  # type: ignore[call-overload]


def test_a_client_that_was_closed_says_so() -> None:
    with Client("http://127.0.0.1:1") as ix:
        pass
    for attempt in (lambda: ix.search("sun"), lambda: ix.add_stream([])):
        with pytest.raises(errors.ClosedError, match="this client was closed: make a new Client"):
            attempt()


@pytest.mark.parametrize("url", [5, None, "localhost:8080"])
def test_an_address_that_is_none(url: Any) -> None:
    with pytest.raises(errors.ParameterError, match=r"as in http://127\.0\.0\.1:8080"):
        Client(url)


@pytest.mark.parametrize(
    ("ask", "kind", "says"),
    [
        (lambda ix: ix.get("lost"), errors.UnknownIdError, "id 'lost' is not in the index, which holds 150 documents"),
        (lambda ix: ix.explain("sun", "lost"), errors.UnknownIdError, "'lost'"),
        (lambda ix: ix.concept(999_999), errors.UnknownIdError, "999999"),
        (lambda ix: ix.search("sun", within=999_999), errors.UnknownIdError, "999999"),
        (lambda ix: ix.search(), errors.ParameterError, "there is nothing to search for"),
        (lambda ix: ix.search("  "), errors.EmptyTextError, "empty"),
        (lambda ix: ix.search(vector=[1.0, 2.0]), errors.DimensionError, "have 2 dimensions, but 32 are expected"),
        (lambda ix: ix.search("sun", where={"a": {"$near": 1}}), errors.FilterError, r"\$near"),
        (lambda ix: ix.search("sun", k=0), errors.InputError, "at least 1|greater than or equal to 1"),
        (lambda ix: ix.add(["a", "b"], ["x", "x"]), errors.DuplicateIdError, "id 'x' is given twice"),
        (lambda ix: ix.add(["a", "b"], ["x"]), errors.InputError, "2 texts"),
        (lambda ix: ix.update("lost", {"a": 1}), errors.UnknownIdError, "'lost'"),
        (lambda ix: ix.update(["d1", "d2"], [{"a": 1}]), errors.InputError, "1 dicts of metadata for 2 ids"),
        (lambda ix: ix.more_like("lost"), errors.UnknownIdError, "'lost'"),
        (lambda ix: ix.search(["sun", " "]), errors.EmptyTextError, "empty"),
        (lambda ix: ix.search(["sun", "moon"], vector=np.ones((1, 32))), errors.InputError, "vector"),
        (lambda ix: ix.search(vector=[[1.0, 2.0], [1.0]]), errors.InputError, "rows differ in length"),
        (lambda ix: ix.near_duplicates(chance=2.0), errors.InputError, "chance"),
        (lambda ix: ix.topics(), errors.ParameterError, "topics takes the number of groups"),
        (lambda ix: ix.concept("root"), errors.DtypeError, "whole number"),
    ],
)
def test_errors_are_those_of_the_index(
    client: Client, index: Index, ask: Callable[[Any], Any], kind: type[Exception], says: str
) -> None:
    for asked in (index, client):
        with pytest.raises(kind, match=says):
            ask(asked)


def test_every_error_of_input_comes_back() -> None:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.InputError):
            problem = problem_of(kind("a sentence"))
            found = error_of(problem.status, problem.to_dict("/", "1"))
            assert type(found) is kind
            assert str(found) == "a sentence"
            assert problem.to_dict("/", "1")["type"] == PREFIX + word_of(kind)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.AccessError),
        (403, errors.AccessError),
        (429, errors.BusyError),
        (503, errors.BusyError),
        (500, errors.ServiceError),
        (418, errors.ServiceError),
    ],
)
def test_answers_of_others_are_service_errors(status: int, kind: type[Exception]) -> None:
    """A proxy in between may say anything."""
    problems: list[Any] = [None, [], {"detail": "no"}, {"type": "about:blank"}, {"type": PREFIX + "__import__"}]
    for problem in problems:
        found = error_of(status, problem)
        assert type(found) is kind


def test_no_server_is_told() -> None:
    with Client("http://127.0.0.1:9", timeout=5) as client:
        with pytest.raises(errors.UnreachableError, match=r"no answer from http://127\.0\.0\.1:9/v1"):
            client.info()
        with pytest.raises(errors.UnreachableError):
            client.add_stream([{"text": "sun"}])
    with pytest.raises(errors.ParameterError, match="must begin with http"):
        Client("localhost:8080")


def answering(monkeypatch: pytest.MonkeyPatch, *answers: httpx.Response) -> tuple[Client, list[str], list[float]]:
    """A client whose server gives these answers one after the other; what it was asked, and how long it waited."""
    asked: list[str] = []
    waited: list[float] = []
    waiting = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return next(waiting)

    client = Client("http://127.0.0.1:1", transport=httpx.MockTransport(answer))
    monkeypatch.setattr("gossamer.client.client.time.sleep", waited.append)
    return client, asked, waited


def test_what_does_no_harm_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = httpx.Response(503, headers={"retry-after": "2"})
    client, asked, waited = answering(monkeypatch, busy, httpx.Response(429), httpx.Response(200, json={"ids": ["a"]}))
    assert client.add("sun", "a") == ["a"]
    assert asked == ["/v1/documents"] * 3
    assert waited == [2.0, 0.4]


def test_what_might_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asks: list[tuple[int, Callable[[Client], object]]] = [
        (503, lambda ix: ix.add("sun")),  # without an id, twice would be two documents
        (500, lambda ix: ix.search("sun")),
        (504, lambda ix: ix.delete("a")),
        (404, lambda ix: ix.get("a")),
    ]
    for status, ask in asks:
        client, asked, waited = answering(monkeypatch, httpx.Response(status))
        with pytest.raises(errors.ServiceError):
            ask(client)
        assert len(asked) == 1
        assert waited == []


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = {"detail": "too much to do", "request_id": "r7"}
    client, asked, waited = answering(monkeypatch, *[httpx.Response(503, json=problem) for _ in range(4)])
    with pytest.raises(errors.BusyError, match="too much to do") as error:
        client.search("sun")
    assert (error.value.status, error.value.request_id) == (503, "r7")
    assert len(asked) == 4
    assert waited == [0.2, 0.4, 0.8]


def test_something_else_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in (httpx.Response(200, text="<h1>hello</h1>"), httpx.Response(200, json={"hits": [{"id": 1}]})):
        client, _, _ = answering(monkeypatch, answer)
        with pytest.raises(errors.ServiceError, match="version"):
            client.search("sun")


def test_what_the_server_doubts_is_a_warning_at_the_line_of_the_caller() -> None:
    doubt = "no document has the field 'yaer': did you mean 'year'?"
    told = {"hits": [], "visited": 0, "warnings": [doubt]}
    sent = httpx.MockTransport(lambda _: httpx.Response(200, json=told))

    async def later() -> Hits:
        async with AsyncClient("http://127.0.0.1:1", transport=sent) as client:
            return await client.search("sun", where={"yaer": 1})

    def now() -> Hits:
        return Client("http://127.0.0.1:1", transport=sent).search("sun", where={"yaer": 1})

    for ask in (now, lambda: asyncio.run(later())):
        with pytest.warns(errors.UnknownFieldWarning) as caught:
            assert ask().warnings == (doubt,)
        assert [(str(each.message), each.filename) for each in caught] == [(doubt, __file__)]


def test_a_stream_that_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    client, _, _ = answering(monkeypatch, httpx.Response(200, text='{"added": 256, "done": false}\n'))
    with pytest.raises(errors.UnreachableError, match="broke off after 256 documents"):
        client.add_stream([{"text": "sun"}])


def test_decoding_leaves_out_what_it_does_not_know() -> None:
    assert decode(Document, {"id": "a", "text": "b", "metadata": {}, "new": 1}) == Document("a", "b", {})

    @dataclass(frozen=True)
    class Pair:
        left: int | None
        right: tuple[Document, ...] = ()

    document = Document("a", "b", {"c": [1]})
    assert decode(Pair, {"left": None}) == Pair(None)
    assert decode(Pair, {"left": 1, "right": [vars(document)]}) == Pair(1, (document,))


def test_async(service: Running, index: Index) -> None:
    async def work() -> None:
        async with AsyncClient(service.url) as client:
            answers = await asyncio.gather(*(client.search(word) for word in ("sun", "moon", "sea")))
            assert answers == [index.search(word) for word in ("sun", "moon", "sea")]
            assert await client.search(["sun", "moon"], 3) == index.search(["sun", "moon"], 3)
            assert await client.more_like("d3", 4) == index.more_like("d3", 4)
            assert await client.near_duplicates() == index.near_duplicates()
            assert await client.explain("sun", "d3") == index.explain("sun", "d3")
            assert await client.get("d3") == index.get("d3")
            assert await client.get(["d3", "d4"]) == index.get(["d3", "d4"])
            assert await client.concepts(1) == index.concepts(1)
            assert await client.concept(index.concepts(0)[0].id) == index.concepts(0)[0]
            assert await client.find_concepts("sun") == index.find_concepts("sun")
            assert await client.topics(3) == index.topics(3)
            assert await client.topics(levels=[2, 4]) == index.topics(levels=[2, 4])
            assert await client.novelty(vector=np.ones(32)) == index.novelty(vector=np.ones(32))
            assert await client.info() == index.info()
            with pytest.raises(errors.UnknownIdError):
                await client.get("lost")

    asyncio.run(work())


def test_async_changes(own: Running) -> None:
    async def documents() -> AsyncIterator[dict[str, Any]]:
        for at in range(3):
            yield {"id": f"s{at}", "text": "sun"}

    async def work() -> None:
        async with AsyncClient(own.url) as client:
            assert await client.add(["one", "two"], ["a", "b"]) == ["a", "b"]
            await client.update("b", {"read": True})
            assert (await client.get("b")).metadata == {"read": True}
            assert await client.delete("a") == 1
            counts: list[int] = []
            assert await client.add_stream(documents(), progress=counts.append) == 3
            assert await client.add_stream([{"id": "s9", "text": "moon"}]) == 1
            assert counts == [3, 3]
            with pytest.raises(errors.InputError, match="line 1"):
                await client.add_stream([{"text": 7}])
            await client.rebuild()
            assert (await client.info()).documents == 35

    asyncio.run(work())


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    for kind in (Client, AsyncClient):
        with pytest.raises(errors.MissingExtraError, match=r'pip install "gossamer\[client\]"'):
            kind("http://127.0.0.1:8080")


def test_the_clients_are_public() -> None:
    assert gossamer.Client is Client
    assert gossamer.AsyncClient is AsyncClient


def test_ids_that_are_not_there_can_be_skipped(client: Client, index: Index) -> None:
    known = index.ids()[:2]
    assert [document.id for document in client.get([*known, "nobody"], skip_unknown=True)] == known
    with pytest.raises(errors.UnknownIdError):
        client.get("nobody", skip_unknown=True)
