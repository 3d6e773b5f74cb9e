"""What is around every answer: problems, headers, request ids, logs, metrics, and the page's files."""

from __future__ import annotations

import errno
import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from bag import encode
from durability.names import limit_pages
from gossamer import Index
from gossamer.errors import CorruptError, DegradedError, DiskError, OutOfMemoryError
from gossamer.server.middleware import JsonLines, log_to_stderr
from gossamer.server.static_files import POLICY, read_files
from gossamer.store import rows
from server.running import Running, problem, running, small_index, until


@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        ("GET", "/nothing", 404, "there is nothing at this address"),
        ("GET", "/v1/search", 405, "this address takes POST"),
        ("PUT", "/v1/search", 405, "this address takes POST"),
        ("GET", "/v1/documents/lost", 404, "id 'lost' is not in the index, which holds 150 documents"),
        ("GET", "/v1/concepts/999999", 404, "999999"),
        ("GET", "/v1/concepts/x", 422, "path.id: must be a valid integer"),
        ("GET", "/v1/concepts/find", 422, "query.query: is required"),
        ("GET", "/v1/topics", 422, "n=8, or levels"),
        ("GET", "/v1/topics?levels=8,x", 422, "query.levels: "),
        ("GET", "/v1/map?depth=-1", 422, "query.depth: "),
        ("GET", "/v1/documents/%00", 404, "not in the index"),
    ],
)
def test_problems_of_addresses(service: Running, method: str, path: str, status: int, says: str) -> None:
    if path.endswith("%00"):
        status, says = 422, "NUL"
    answer = service.http.request(method, path)
    assert says in problem(answer, status)["detail"]
    if status == 405:
        assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "body: is required"),
        (b"{", "JSON"),
        (b"\xff\xfe", ""),
        (b"[" * 100_000, ""),
        (b"{}", "there is nothing to search for: pass a query, a vector, or both"),
        (b'{"query": "  "}', "empty"),
        (b'{"query": "sun", "k": 0}', "body.k: must be greater than or equal to 1"),
        (b'{"text": "sun"}', "body.text: must be a valid boolean, and what to look for is 'query'"),
        (b'{"query": "sun", "k": "5"}', "body.k: must be a valid integer"),
        (b'{"query": "sun", "limit": 5}', "body.limit: there is no such field: here it is 'k'"),
        (b'{"query": "sun", "where": {"year": {"$near": 3}}}', "$near"),
        (b'{"vector": [1, 2]}', "query vectors have 2 dimensions, but 32 are expected"),
        (b'{"vector": [NaN]}', ""),
        (b'{"query": "sun", "hybrid": -1}', "body.hybrid"),
    ],
)
def test_problems_of_a_search(service: Running, body: bytes, says: str) -> None:
    answer = service.http.post("/v1/search", content=body, headers={"content-type": "application/json"})
    found = problem(answer, answer.status_code)
    assert answer.status_code in (400, 422)
    assert says in found["detail"]


def test_the_type_names_the_exception(service: Running) -> None:
    filtered = service.http.post("/v1/search", json={"query": "sun", "where": {"$near": 3}})
    assert problem(filtered, 422)["type"] == "urn:gossamer:problem:filter"
    missing = problem(service.http.get("/v1/documents/a%20b"), 404)
    assert missing["type"] == "urn:gossamer:problem:unknown-id"
    assert missing["title"] == "Not Found"
    assert missing["instance"] == "/v1/documents/a%20b"


def test_what_breaks_inside_stays_inside(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    class Broken:
        def __call__(self, texts: list[str]) -> Any:
            if texts == ["disk"]:
                raise CorruptError(f"{tmp_path}/secret.sqlite is truncated")
            if texts == ["bug"]:
                raise ZeroDivisionError("secret")
            return encode(texts)

    index = Index(Broken())
    index.add(["sun", "moon"])
    with running({"main": index}) as found, caplog.at_level("ERROR", "gossamer.server"):
        for query in ("disk", "bug"):
            caplog.clear()
            answer = found.http.post("/v1/search", json={"query": query})
            inside = problem(answer, 500)
            assert "its log says what" in inside["detail"]
            assert "secret" not in answer.text
            (record,) = (each for each in caplog.records if each.name == "gossamer.server")
            assert record.fields == {"request_id": inside["request_id"]}  # type: ignore[attr-defined]
            assert "secret" in JsonLines().format(record)
        assert found.http.post("/v1/search", json={"query": "sun"}).status_code == 200


def full() -> Exception:
    error = DiskError("the disk of /secret is full")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device", "/secret")
    return error


@pytest.mark.parametrize(
    ("error", "status", "says", "again"),
    [
        (DegradedError("/secret is degraded"), 503, "not changed until whoever runs the server repairs it", False),
        (OutOfMemoryError("there is too little memory to work with /secret"), 503, "too little memory for this", True),
        (full(), 507, "the server's disk is full, and nothing was changed", False),
    ],
    ids=["degraded", "memory", "disk"],
)
def test_what_the_machine_lacks_is_told_without_paths(error: Exception, status: int, says: str, again: bool) -> None:
    def broken(texts: list[str]) -> Any:
        if texts == ["broken"]:
            raise error
        return encode(texts)

    index = Index(broken)
    index.add(["sun", "moon"])
    with running({"main": index}) as found:
        answer = found.http.post("/v1/documents", json={"id": "x", "text": "broken"})
        assert says in problem(answer, status)["detail"]
        assert "secret" not in answer.text
        assert ("retry-after" in answer.headers) is again


def test_sqlites_full_disk_is_told_too(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "a.gsm", encode)
    index.add(["sun"], ["a"])
    limit_pages(index, 0)
    with running({"main": index}) as found:
        answer = found.http.post("/v1/documents", json={"id": "x", "text": "moon " * 20_000})
        assert "disk is full" in problem(answer, 507)["detail"]


def stored(metadata: str) -> Index:
    """An index with a document whose metadata were written to disk without a look at them."""
    index = Index(encode)
    index.add(["sun", "moon"], ids=["a", "b"])
    with index.state.store.reading() as db:
        rows.update_metadata(db, [rows.documents_by_id(db, ["a"])["a"]._replace(metadata=metadata)], 1)
    return index


def levels(value: Any) -> int:
    found = 0
    while isinstance(value, dict):
        value, found = value["x"], found + 1
    assert value in (1, "…")
    return found


@pytest.mark.parametrize("depth", [240, 254, 300, 950, 5000])
def test_metadata_that_are_nested_too_deeply_are_cut_off(depth: int) -> None:
    with running({"main": stored('{"x":' * depth + "1" + "}" * depth)}) as found:
        answers = (
            found.http.post("/v1/search", json={"query": "sun"}).json()["hits"][0],
            found.http.get("/v1/documents/a").json(),
            found.http.post("/v1/documents/get", json={"ids": ["b", "a"]}).json()["documents"][1],
        )
        for answer in answers:
            assert answer["id"] == "a"
            assert min(depth, 190) <= levels(answer["metadata"]) <= min(depth, 254)


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        (f'{{"x": {2**70}, "y": [1]}}', {"x": 2**70, "y": [1]}),
        (f'{{"x": {2**70}, "y": NaN}}', {"x": 2**70, "y": None}),
        ('{"x": "\\ud800"}', {"x": "\ud800"}),
    ],
)
def test_metadata_that_orjson_cannot_write(metadata: str, shown: Any) -> None:
    with running({"main": stored(metadata)}) as found:
        assert found.http.post("/v1/search", json={"query": "sun"}).json()["hits"][0]["metadata"] == shown
        assert found.http.get("/v1/documents/a").json()["metadata"] == shown


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/search", {"query": "sun", "where": {"x" * 3_000_000: 1}}, 422),
        ("/search", {"query": "sun", "x" * 3_000_000: 1}, 422),
        ("/documents/get", {"ids": ["x" * 3_000_000]}, 404),
    ],
)
def test_a_problem_is_told_in_few_words(service: Running, path: str, body: Any, status: int) -> None:
    answer = service.http.post("/v1" + path, json=body)
    problem(answer, status)
    assert len(answer.content) < 3000


def test_headers_keep_browsers_safe(service: Running) -> None:
    for answer in (
        service.http.get("/healthz"),
        service.http.get("/nothing"),
        service.http.post("/v1/search", json={"query": "sun"}),
        service.http.get("/metrics"),
    ):
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-request-id"]


def test_scripts_in_texts_stay_texts(own: Running) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    own.http.post("/v1/documents", json={"id": evil, "text": evil})
    answer = own.http.post("/v1/search", json={"query": "script alert"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["hits"][0]["text"] == evil
    lost = own.http.get("/v1/documents/<script>")
    assert lost.headers["content-type"] == "application/problem+json"


def test_request_ids(service: Running) -> None:
    own = service.http.get("/healthz", headers={"x-request-id": "abc-1.2_3"})
    assert own.headers["x-request-id"] == "abc-1.2_3"
    for bad in ("a b", "x" * 65, '"}\\n', "ü"):
        answer = service.http.get("/healthz", headers={b"x-request-id": bad.encode()})
        assert len(answer.headers["x-request-id"]) == 16


def test_no_two_requests_have_one_id(service: Running) -> None:
    found = [service.http.get("/healthz").headers["x-request-id"] for _ in range(20)]
    assert len(set(found)) == 20
    assert all(len(id) == 16 and int(id, 16) for id in found)


def test_an_answer_keeps_headers_of_its_own(service: Running) -> None:
    assert service.http.get("/").headers.get_list("content-security-policy") == [POLICY]


def test_the_log_goes_to_what_standard_error_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that was there when logging began may be closed by the time of the next line."""
    log = logging.getLogger("gossamer.server")
    before = [
        (each, each.handlers[:], each.level, each.propagate) for each in (log, logging.getLogger("uvicorn.error"))
    ]
    first, second = io.StringIO(), io.StringIO()
    try:
        monkeypatch.setattr("sys.stderr", first)
        log_to_stderr()
        log.info("one")
        monkeypatch.setattr("sys.stderr", second)
        assert json.loads(first.getvalue())["event"] == "one"
        first.close()
        log.info("two")
        assert json.loads(second.getvalue())["event"] == "two"
    finally:
        for logger, handlers, level, propagate in before:
            logger.handlers[:] = handlers
            logger.setLevel(level)
            logger.propagate = propagate


def test_logs_tell_no_texts(own: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "gossamer.server"):
        own.http.post("/v1/search", json={"query": "a private matter"}, headers={"x-request-id": "r1"})
        own.http.get("/v1/documents/private")
        until(lambda: len([each for each in caplog.records if each.name == "gossamer.server"]) == 2)
    lines = [json.loads(JsonLines().format(each)) for each in caplog.records if each.name == "gossamer.server"]
    assert [(line["event"], line["method"], line["status"]) for line in lines] == [
        ("request", "POST", 200),
        ("request", "GET", 404),
    ]
    assert lines[0]["request_id"] == "r1"
    assert lines[0]["ms"] > 0
    assert lines[0]["index"] == "main"
    assert lines[1]["route"] == "/documents/{id:path}"
    assert "private" not in json.dumps(lines)


def test_a_line_in_the_log_is_one_line() -> None:
    record = logging.LogRecord("gossamer.server", logging.INFO, "", 0, "two\nlines", None, None)
    assert "\n" not in JsonLines().format(record)


def test_metrics(own: Running) -> None:
    own.http.post("/v1/search", json={"query": "sun"})
    own.http.post("/v1/documents", json={"id": "x", "text": "y"})
    own.http.get("/nothing/at/all")
    own.http.request("TRACE", "/v1/info")
    until(lambda: 'method="other"' in own.app.state.service.metrics.text().decode())
    found = dict(line.rsplit(" ", 1) for line in own.http.get("/metrics").text.splitlines() if line[0] != "#")
    assert found['gossamer_documents{index="main"}'] == "31.0"
    assert found['gossamer_snapshot_age_operations{index="main"}'] == "2.0"
    assert found['gossamer_search_seconds_count{index="main"}'] == "1.0"
    assert float(found['gossamer_search_visited_sum{index="main"}']) > 0
    assert found['gossamer_documents_written_total{index="main"}'] == "1.0"
    assert found["gossamer_requests_in_flight"] == "1.0"
    requests = {name: value for name, value in found.items() if name.startswith("gossamer_requests_total")}
    assert sum(map(float, requests.values())) == 4
    assert any('method="other"' in name for name in requests)
    assert any('route="none"' in name and 'status="404"' in name for name in requests)


def test_health(own: Running) -> None:
    assert own.http.get("/healthz").json() == {"status": "alive"}
    assert own.http.get("/readyz").json() == {"status": "ready"}
    own.app.state.service.workers.draining = True
    assert own.http.get("/healthz").status_code == 200
    assert problem(own.http.get("/readyz"), 503)["detail"] == "the server is stopping"
    problem(own.http.post("/v1/documents", json={"text": "too late"}), 503)
    assert own.http.post("/v1/search", json={"query": "sun"}).status_code == 200


# -- the page --------------------------------------------------------------------------------------


@pytest.fixture
def web(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>x</title><script type=module src=parts/a.js></script>")
    (tmp_path / "parts" / "a.js").write_text("export const a = 1")
    (tmp_path / "notes.py").write_text("secret = 1")
    return tmp_path


def test_the_page_is_served_with_a_strict_policy(web: Path) -> None:
    with running({"main": small_index(3)}, files=read_files(web)) as found:
        page, script = found.http.get("/"), found.http.get("/parts/a.js")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        for answer in (page, script):
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-cache"
        again = found.http.get("/", headers={"if-none-match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert found.http.get("/", headers={"if-none-match": '"other"'}).status_code == 200
        for path in ("/notes.py", "/parts", "/parts/", "/../notes.py", "/parts/..%2fnotes.py", "/%2e%2e/index.html"):
            problem(found.http.get(path), 404)


def test_without_a_page_there_is_none(tmp_path: Path) -> None:
    assert read_files(tmp_path) == []
    with running({"main": small_index(3)}, files=[]) as found:
        problem(found.http.get("/"), 404)


def test_the_policy_allows_nothing_inline() -> None:
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
