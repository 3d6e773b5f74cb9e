"""Bodies parsed and validated in one pass are treated as FastAPI treats them; answers as JSON."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from httpx import ASGITransport, AsyncClient
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import Response

from gossamer import Index
from gossamer.client.decoding import decode
from gossamer.results import Hit, Hits
from gossamer.server import schemas
from gossamer.server.request_bodies import JsonRoute
from gossamer.server.responses import as_json, search_answer
from server.running import Running, problem

# -- requests --------------------------------------------------------------------------------------


def _app() -> FastAPI:
    """The same route twice: /quick reads in one go, /usual as FastAPI does."""
    app = FastAPI()
    quick, usual = APIRouter(route_class=JsonRoute), APIRouter()

    async def echo(asked: schemas.SearchRequest) -> Response:
        return Response(repr((asked, sorted(asked.model_fields_set))))

    quick.post("/quick")(echo)
    usual.post("/usual")(echo)
    app.include_router(quick)
    app.include_router(usual)

    @app.exception_handler(RequestValidationError)
    async def told(request: Request, error: RequestValidationError) -> Response:
        return Response(repr(error.errors()), 422)

    return app


APP = _app()


def _both(body: bytes) -> list[tuple[int, str]]:
    async def ask() -> list[tuple[int, str]]:
        headers = {"content-type": "application/json"}
        async with AsyncClient(transport=ASGITransport(APP), base_url="http://test") as http:
            answers = [await http.post(path, content=body, headers=headers) for path in ("/quick", "/usual")]
        return [(answer.status_code, answer.text) for answer in answers]

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "body",
    [
        b'{"vector": [0.1, -2, 3e-5, 1E4, 0.30000000000000004, 5e-324, 1.7976931348623157e308], "k": 3}',
        b'{"vector": [NaN, Infinity, -Infinity]}',
        b'{"vector": [1e999]}',
        b'{"vector": [1, "2"]}',
        b'{"vector": [123456789012345678901234567890]}',
        b'{"vector": []}',
        b'{"query": "sun", "k": 123456789012345678901234567890}',
        b'{"query": "sun", "k": 3.0}',
        b'{"query": "sun", "k": true}',
        b'{"query": "sun", "hybrid": 1}',
        b'{"query": "sun", "hybrid": 0.5}',
        b'{"query": "sun", "where": {"big": 123456789012345678901234567890, "deep": [{"a": null}], "f": 1.0}}',
        b'{"query": "sun", "query": "moon"}',
        b'{"query": "\\ud800"}',
        b'{"query": "\\u0000\\ud83d\\ude00"}',
        '{"query": "sun"}'.encode("utf-16"),
        b'\xef\xbb\xbf{"query": "sun"}',
        b'{"query": "\xff"}',
        b'{"query": "sun", "other": 1, "k": "x"}',
        b"[]",
        b"null",
        b'"sun"',
        b"{",
        b'{"query": "sun"} x',
        b"",
    ],
)
def test_both_ways_say_the_same(body: bytes) -> None:
    quick, usual = _both(body)
    assert quick == usual


JSON = {"content-type": "application/json"}
MANY = 4_000_000


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/documents/get", b'{"ids":[' + b"1," * MANY + b"1]}", "body.ids.0: must be a valid string"),
        ("/documents/get", b'{"ids":[' + b'"a",' * 1_000_000 + b'"a"]}', "body.ids: must have at most 100000"),
        ("/search", b'{"vector":[' + b'"",' * 2_000_000 + b"1]}", "body.vector.0: must be a valid number"),
        ("/search", b'{"vector":[' + b"1," * MANY + b"1]}", "body.vector: must have at most 65536 items"),
        ("/search", orjson.dumps(dict.fromkeys(map(str, range(500_000)), 1)), "body: 500,000 fields are wrong"),
        (
            "/search",
            orjson.dumps({"query": "\0", **dict.fromkeys(map(str, range(30)), 1)}),
            "body: 30 fields are wrong",
        ),
        (
            "/search",
            b'{"query": "\\ud800", ' + orjson.dumps(dict.fromkeys(map(str, range(30)), 1))[1:],
            "fields are wrong",
        ),
        ("/search", orjson.dumps({"query": "sun", "k": "x", "where": {"a": "b" * 300_000}}), "body.k: must be"),
        ("/documents", b'{"documents":[' + b"{}," * 2_000_000 + b"{}]}", "body.documents.0.text: is required"),
        ("/documents", b'{"text":"a","vector":[' + b'"",' * 2_000_000 + b"1]}", "body.vector.0: must be"),
    ],
    ids=["ids", "many ids", "vector", "long vector", "keys", "few keys", "surrogate", "k", "documents", "document"],
)
def test_a_body_with_many_errors_is_refused_at_the_first(service: Running, path: str, body: bytes, says: str) -> None:
    """Describing four million errors took 75 seconds and 5 GB, on the event loop."""
    answer = service.http.post("/v1" + path, content=body, headers=JSON)
    assert says in problem(answer, 422)["detail"]
    assert len(answer.content) < 1000


def test_a_large_body_is_taken(own: Running) -> None:
    documents = [{"id": f"new{at}", "text": "sun " * 100} for at in range(900)]
    assert len(own.http.post("/v1/documents", json={"documents": documents}).json()["ids"]) == 900
    utf_16 = ('{"query": "sun"' + " " * 300_000 + "}").encode("utf-16")  # which Python takes beside the standard
    assert own.http.post("/v1/search", content=utf_16, headers=JSON).status_code == 200
    broken = own.http.post("/v1/search", content=b'{"query": ' + b" " * 300_000, headers=JSON)
    assert "JSON" in problem(broken, 422)["detail"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = st.sampled_from(
    ["query", "vector", "k", "where", "within", "hybrid", "recall", "explain", "min_confidence", "x"]
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(_FIELDS, _VALUES | st.lists(st.floats(), max_size=5), max_size=4))
def test_both_ways_say_the_same_of_anything(body: dict[str, Any]) -> None:
    quick, usual = _both(json.dumps(body).encode())
    assert quick == usual


# -- answers ---------------------------------------------------------------------------------------


def test_explanations_come_with_sentences(service: Running, index: Index) -> None:
    asked = {"query": "sun", "k": 1, "explain": True, "concepts": True}
    (hit,) = service.http.post("/v1/search", json=asked).json()["hits"]
    (own,) = index.search("sun", 1, explain=True)
    assert own.explanation is not None
    assert hit["explanation"]["text"] == " ".join(own.explanation.sentences)
    assert hit["path"] == orjson.loads(as_json(own.path))


def test_numbers_that_json_has_and_orjson_has_not(own: Running) -> None:
    answer = own.http.post("/v1/documents", content=b'{"id": "big", "text": "iron", "metadata": {"n": %d}}' % 10**30,
                           headers={"content-type": "application/json"})  # fmt: skip
    assert answer.status_code == 422
    assert "2**63" in answer.json()["detail"]


def test_matches_are_in_the_answer(index: Index) -> None:
    (hit,) = index.search("sun moon", 1)
    hits = Hits([replace(hit, matches=((0, 3), (5, 9)))])
    answer = json.loads(as_json({**search_answer(hits, concepts=True), "seconds": 0.25}))
    assert answer["hits"][0]["matches"] == [[0, 3], [5, 9]]
    assert decode(list[Hit], answer["hits"]) == hits
    assert schemas.SearchAnswer.model_validate(answer).model_dump()["hits"][0]["matches"] == ((0, 3), (5, 9))


def test_a_line_with_many_errors_is_refused_at_once(own: Running) -> None:
    line = orjson.dumps({"text": "sun", **dict.fromkeys(map(str, range(300_000)), 1)})
    answer = own.http.post("/v1/documents/stream", content=line, headers={"content-type": "application/x-ndjson"})
    assert "line 1: 300,000 fields are wrong or unknown" in problem(answer, 422)["detail"]
