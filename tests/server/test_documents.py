"""Documents over HTTP: get, add, replace, delete, one by one, together, and as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from bag import encode
from gossamer import Client, Index
from gossamer.errors import DuplicateIdError, InputError, UnknownIdError
from gossamer.server.limits import Limits
from server.running import Running, problem, running, small_index

NDJSON = {"content-type": "application/x-ndjson"}


def lines(*documents: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def test_add_get_replace_delete(own: Running) -> None:
    http = own.http
    assert http.post("/v1/documents", json={"id": "new", "text": "a golden sea"}).json() == {"ids": ["new"]}
    assert http.get("/v1/documents/new").json() == {"id": "new", "text": "a golden sea", "metadata": {}}
    http.post("/v1/documents", json={"id": "new", "text": "iron", "metadata": {"year": 2024}})
    assert http.get("/v1/documents/new").json() == {"id": "new", "text": "iron", "metadata": {"year": 2024}}
    assert http.delete("/v1/documents/new").json() == {"deleted": 1}
    assert http.delete("/v1/documents/new").json() == {"deleted": 0}
    assert problem(http.get("/v1/documents/new"), 404)["type"].endswith(":unknown-id")


@pytest.mark.parametrize(
    "id", ["a/b/c.md", "stream", "get", "ü ñ", "100%", "a?b#c", "..", "x'; DROP TABLE documents;--"]
)
def test_ids_may_be_anything(own: Running, id: str) -> None:
    with Client(own.url) as client:
        assert client.add("a text", id) == [id]
        assert client.get(id).text == "a text"
        assert client.delete(id) == 1
        with pytest.raises(UnknownIdError):
            client.get(id)
        assert len(client) == 30


def test_an_id_with_slashes_is_an_address(own: Running) -> None:
    own.http.post("/v1/documents", json={"id": "a/b", "text": "one"})
    assert own.http.get("/v1/documents/a/b").json()["text"] == "one"
    assert own.http.get("/v1/documents/a%2Fb").json()["text"] == "one"


def test_metadata_are_updated_without_the_text(own: Running) -> None:
    with Client(own.url) as client:
        text = client.get("d1").text
        client.update(["d1", "d2"], {"read": True, "at": None})
        client.update(["d1", "d2"], [{"stars": 5}, {}])
        assert [document.metadata for document in client.get(["d1", "d2"])] == [
            {"read": True, "stars": 5},
            {"read": True},
        ]
        assert client.get("d1").text == text
        with pytest.raises(UnknownIdError):
            client.update(["d1", "lost"], {"read": False})
        assert client.get("d1").metadata["read"], "all of them, or none"
    answer = own.http.post("/v1/documents/update", json={"ids": ["d1"], "metadata": {"stars": 4}})
    assert answer.json() == {"updated": 1}


def test_many_are_in_or_none(own: Running) -> None:
    with Client(own.url) as client:
        assert client.add(["one", "two"], ["a", "b"], [{"n": 1}, None]) == ["a", "b"]
        assert [document.metadata for document in client.get(["b", "a"])] == [{}, {"n": 1}]
        with pytest.raises(DuplicateIdError, match="id 'c' is given twice"):
            client.add(["three", "four"], ["c", "c"])
        with pytest.raises(InputError):
            client.add(["five", "   "], ["d", "e"])
        assert len(client) == 32
        assert client.add([]) == []
        assert client.add(["numbered"])[0]


def test_vectors_of_one_s_own(own: Running) -> None:
    with Client(own.url) as client:
        client.add(["anything"], ["v"], vectors=encode(["silk and gold"]))
        assert client.search(vector=encode(["silk and gold"])[0], k=1, hybrid=False)[0].id == "v"
    mixed = [{"id": "a", "text": "a", "vector": [0.0] * 32}, {"id": "b", "text": "b"}]
    found = problem(own.http.post("/v1/documents", json={"documents": mixed}), 422)
    assert found["detail"].startswith("1 of 2 documents have a field 'vector'")


def test_vectors_of_another_length_than_the_encoder_s_are_refused() -> None:
    """In an empty index they were committed: 422, and then 500 for ever."""
    with Index(encode) as empty, running({"main": empty}) as found:
        bad = found.http.post("/v1/documents", json={"text": "sun", "vector": [1.0, 2.0, 3.0]})
        assert bad.status_code == 422
        assert "dimensions" in bad.json()["detail"]
        assert found.http.post("/v1/documents", json={"text": "moon", "id": "a"}).status_code == 200
        assert found.http.post("/v1/search", json={"query": "moon"}).json()["hits"][0]["id"] == "a"


def test_metadata_come_back_as_they_were(own: Running) -> None:
    metadata = {"n": 2**63 - 1, "list": [1, None, {"deep": True}], "text": "ü"}
    with Client(own.url) as client:
        client.add("a text", "m", metadata)
        assert client.get("m").metadata == metadata
        assert client.search("a text", where={"text": "ü"})[0].metadata == metadata


# -- streams ---------------------------------------------------------------------------------------


def test_a_stream_tells_its_progress(own: Running) -> None:
    counts: list[int] = []
    with Client(own.url) as client:
        documents = ({"id": f"s{at}", "text": f"the {at}th king", "metadata": {"at": at}} for at in range(600))
        assert client.add_stream(documents, progress=counts.append) == 600
        assert counts == [256, 512, 600, 600]
        assert client.get("s599").metadata == {"at": 599}
        assert client.add_stream([]) == 0


def test_lines_may_come_in_any_pieces(own: Running) -> None:
    body = lines({"id": "a", "text": "one"}, {"id": "b", "text": "zwölf"}) + b"\n  \n" + b'{"id": "c", "text": "end"}'

    def byte_by_byte() -> Iterator[bytes]:
        for at in range(len(body)):
            yield body[at : at + 1]

    answer = own.http.post("/v1/documents/stream", content=byte_by_byte(), headers=NDJSON)
    assert [json.loads(line) for line in answer.text.splitlines()] == [
        {"added": 3, "done": False},
        {"added": 3, "done": True},
    ]
    assert own.http.get("/v1/documents/b").json()["text"] == "zwölf"


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"{not json", "line 2: Invalid JSON"),
        (b"[1]", "line 2: "),
        (b'{"id": "x"}', "line 2.text: is required"),
        (b'{"id": "x", "text": "y", "txt": 1}', "line 2.txt: there is no such field, see /v1/openapi.json"),
        (b'{"id": "x", "text": " "}', "empty"),
    ],
)
def test_a_bad_line_before_anything_was_added_is_a_problem(own: Running, bad: bytes, says: str) -> None:
    body = lines({"id": "good", "text": "text"}) + bad + b"\n"
    found = problem(own.http.post("/v1/documents/stream", content=body, headers=NDJSON), 422)
    assert says in found["detail"]
    assert own.http.get("/v1/documents/good").status_code == 404


def test_what_was_acknowledged_before_a_bad_line_stays(own: Running) -> None:
    good = [{"id": f"s{at}", "text": "sun"} for at in range(300)]
    answer = own.http.post("/v1/documents/stream", content=lines(*good) + b"oops\n", headers=NDJSON)
    first, last = map(json.loads, answer.text.splitlines())
    assert answer.status_code == 200
    assert first == {"added": 256, "done": False}
    assert last["added"] == 256
    assert last["error"]["detail"].startswith("line 301: ")
    with Client(own.url) as client:
        assert len(client) == 30 + 256
        with pytest.raises(InputError, match="line 301") as error:
            client.add_stream([*good, {"text": 7}])
        assert error.value.__notes__ == ["256 documents of the stream were added, and stay"]


def test_lines_of_a_stream_are_limited() -> None:
    with running({"main": small_index(5)}, limits=Limits(body=1000, batch=3)) as found:
        many = lines(*({"id": f"{at}", "text": "sun " * 20} for at in range(50)))
        assert len(many) > 4000
        answer = found.http.post("/v1/documents/stream", content=many, headers=NDJSON)
        assert [json.loads(line)["added"] for line in answer.text.splitlines()][:3] == [3, 6, 9]
        long = lines({"id": "x", "text": "y" * 2000})
        assert "line 1 has more than 1,000 bytes" in _detail(found, long[:-1])
        assert "line 1 has more than 1,000 bytes" in _detail(found, long)


def _detail(found: Running, body: bytes) -> str:
    return str(problem(found.http.post("/v1/documents/stream", content=body, headers=NDJSON), 413)["detail"])
