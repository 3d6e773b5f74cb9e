"""What is too much is refused with a sentence, and nothing is done."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bag import encode
from gossamer import Client, Index
from gossamer.errors import ParameterError, TooSlowError
from gossamer.server.keys import KeyRing, add_key
from gossamer.server.limits import Limits
from gossamer.server.run import Address
from gossamer.server.run import run as serve
from server.running import Running, problem, running, small_index, until


@pytest.fixture(scope="module")
def strict() -> Iterator[Running]:
    limits = Limits(
        body=2000, k=10, batch=3, text=50, nodes=10, explain=5, assignments=100, answer=200, conditions=2, filter=20
    )
    with running({"main": small_index(60)}, limits=limits) as found:
        yield found


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/search", {"query": "sun", "k": 16}, "k may be at most 10 on this server, got 16: ask for less"),
        ("/search", {"query": "s" * 51}, "the length of a text in characters may be at most 50 on this server, got 51"),
        ("/search", {"query": "sun", "k": 6, "explain": True}, "k with explain may be at most 5 on this server, got 6"),
        ("/search", {"query": "sun", "k": 10}, "all documents of an answer in characters may be at most 200"),
        ("/explain", {"query": "sun", "id": "d1", "k": 19}, "k may be at most 10"),
        ("/novelty", {"query": "s" * 51}, "got 51"),
        ("/concepts/find", {"query": "sun", "k": 16}, "k may be at most 10"),
        ("/documents", {"id": "x", "text": "s" * 51}, "got 51: split it"),
        ("/documents", {"documents": [{"text": "s"}] * 4}, "documents in one request may be at most 3"),
        ("/documents/get", {"ids": ["d1"] * 4}, "the number of ids in one request may be at most 3"),
        ("/documents/delete", {"ids": ["d1"] * 4}, "may be at most 3"),
    ],
)  # fmt: skip
def test_too_much_in_a_request(strict: Running, path: str, body: Any, says: str) -> None:
    found = problem(strict.http.post("/v1" + path, json=body), 422)
    assert says in found["detail"]
    assert found["type"].endswith(":parameter")
    assert len(strict.app.state.service.catalog.first.index) == 60


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"a": 1, "b": 1, "c": 1}, "more than 2 conditions are too many"),
        ({"a": "b" * 20}, "more than 20 characters in sum"),
        ({"a" * 1001: 1}, "1,001 characters (at most 1,000)"),
    ],
)
def test_too_large_a_filter(strict: Running, where: Any, says: str) -> None:
    found = problem(strict.http.post("/v1/search", json={"query": "sun", "k": 1, "where": where}), 422)
    assert says in found["detail"]
    assert found["type"].endswith(":filter")


def test_a_key_of_two_megabytes_stops_nobody(service: Running) -> None:
    """It took minutes once, and all threads with it."""
    problem(service.http.post("/v1/search", json={"query": "sun", "where": {"x" * 2_000_000: 1}}), 422)
    problem(
        service.http.post("/v1/search", json={"query": "sun", "where": dict.fromkeys(map(str, range(256)), 1)}), 422
    )
    assert service.http.post("/v1/search", json={"query": "sun"}).status_code == 200


def test_too_large_a_body(strict: Running) -> None:
    body = b'{"query": "' + b" " * 2000 + b'"}'
    headers = {"content-type": "application/json"}
    assert (
        "at most 2,000 bytes" in problem(strict.http.post("/v1/search", content=body, headers=headers), 413)["detail"]
    )

    def in_pieces() -> Iterator[bytes]:  # without a content-length
        yield body[:1000]
        yield body[1000:]

    problem(strict.http.post("/v1/search", content=in_pieces(), headers=headers), 413)


def test_answers_are_bounded_too(strict: Running) -> None:
    assert len(strict.http.get("/v1/concepts", params={"depth": 64}).json()["concepts"]) <= 10
    assert len(strict.http.get("/v1/map", params={"depth": 64, "limit": 1000}).json()["ids"]) <= 10
    problem(strict.http.get("/v1/topics", params={"n": 16}), 422)
    many = strict.http.get("/v1/topics", params={"levels": "2,4"})
    assert "may be at most 100 on this server, got 120: ask with assignments=false" in problem(many, 422)["detail"]
    assert strict.http.get("/v1/topics", params={"levels": "2,4", "assignments": False}).status_code == 200


def test_the_largest_children_are_told(strict: Running) -> None:
    index: Index = strict.app.state.service.catalog.first.index
    inner = [concept for concept in index.concepts(depth=None) if concept.children]
    for concept in inner:
        told = strict.http.get(f"/v1/concepts/{concept.id}").json()["children"]
        sizes = sorted((-index.concept(child).size, child) for child in concept.children)
        assert [(-child["size"], child["id"]) for child in told] == sizes[:10]


def test_documents_are_read_a_few_at_a_time() -> None:
    with running({"main": small_index(100)}, limits=Limits(answer=1000)) as found:
        ids = [f"d{at}" for at in range(99, -1, -1)]
        got = [each["id"] for each in found.http.post("/v1/documents/get", json={"ids": ids[:20]}).json()["documents"]]
        assert got == ids[:20]
        many = problem(found.http.post("/v1/documents/get", json={"ids": ids}), 422)
        assert "characters may be at most 1,000" in many["detail"]
        assert many["detail"].endswith("ask for fewer at once")


def test_metadata_count_in_an_answer() -> None:
    index = Index(encode)
    index.add(["sun", "moon"], ["a", "b"], [{"x": "y" * 600}, {}])
    with running({"main": index}, limits=Limits(answer=1000)) as found:
        assert len(found.http.post("/v1/documents/get", json={"ids": ["a", "b", "b"]}).json()["documents"]) == 3
        twice = problem(found.http.post("/v1/documents/get", json={"ids": ["a", "b", "a"]}), 422)
        assert "characters may be at most 1,000 on this server, got 1,2" in twice["detail"]
        assert found.http.post("/v1/search", json={"query": "sun"}).status_code == 200
    index = Index(encode)
    index.add(["sun", "moon"], ["a", "b"], [{"x": "y" * 600}] * 2)
    with running({"main": index}, limits=Limits(answer=1000)) as found:
        problem(found.http.post("/v1/search", json={"query": "sun", "k": 2}), 422)
        assert found.http.post("/v1/search", json={"query": "sun", "k": 1}).status_code == 200


def test_a_document_asked_for_often_is_read_once() -> None:
    index, read = small_index(5), []
    get = index.get
    index.get = lambda ids, **options: read.extend(ids) or get(ids, **options)  # type: ignore
    with running({"main": index}) as found:
        answer = found.http.post("/v1/documents/get", json={"ids": ["d1", "d2", "d1"]}).json()
    assert [each["id"] for each in answer["documents"]] == ["d1", "d2", "d1"]
    assert read == ["d1", "d2"]


def test_all_who_ask_whether_it_is_ready_share_one_look() -> None:
    looks = []

    class Counted(Index):
        def __len__(self) -> int:
            looks.append(1)
            return super().__len__()

    index, slow = slow_index()
    index.__class__ = Counted
    readers = min(8, (os.cpu_count() or 1) + 2)
    with running({"main": index}, limits=Limits(waiting=1)) as found, ThreadPoolExecutor(readers + 4) as pool:
        asked = [pool.submit(found.http.post, "/v1/novelty", json={"query": "slow"}) for _ in range(readers)]
        for _ in asked:
            assert slow.waiting.acquire(timeout=10)
        start = time.monotonic()
        looks.clear()
        answers = [pool.submit(found.http.get, "/readyz") for _ in range(40)]
        assert {each.result().status_code for each in answers} == {200}, "all readers are at work meanwhile"
        assert 1 <= len(looks) <= 1 + (time.monotonic() - start)
        slow.leave.set()
        assert {each.result().status_code for each in asked} == {200}


def test_a_k_that_nobody_gave_is_no_error() -> None:
    with running({"main": small_index(60)}, limits=Limits(k=4)) as few:
        assert len(few.http.post("/v1/search", json={"query": "sun"}).json()["hits"]) == 4
        assert few.http.post("/v1/explain", json={"query": "sun", "id": "d1"}).json()["k"] == 4
        assert 1 <= len(few.http.post("/v1/concepts/find", json={"query": "sun"}).json()["matches"]) <= 4
        assert 1 <= len(few.http.get("/v1/concepts/find", params={"query": "sun"}).json()["matches"]) <= 4
        for given in (few.http.post("/v1/search", json={"query": "sun", "k": 10}),
                      few.http.get("/v1/concepts/find", params={"query": "sun", "k": 10})):  # fmt: skip
            assert "k may be at most 4 on this server, got 10" in problem(given, 422)["detail"]


def test_limits_are_above_zero() -> None:
    with pytest.raises(ParameterError, match="the limit 'k' must be above 0, got 0"):
        Limits(k=0)


# -- time and number -------------------------------------------------------------------------------


class Slow:
    """An encoder that waits for leave where a text says so."""

    def __init__(self) -> None:
        self.leave = threading.Event()
        self.waiting = threading.Semaphore(0)

    def __call__(self, texts: list[str]) -> Any:
        if any("slow" in text for text in texts):
            self.waiting.release()
            assert self.leave.wait(20)
        return encode(texts)


def slow_index() -> tuple[Index, Slow]:
    slow = Slow()
    index = Index(slow)
    index.add(["sun", "moon", "sea"], ids=["a", "b", "c"])
    return index, slow


def test_too_many_at_once() -> None:
    index, slow = slow_index()
    limits = Limits(in_flight=3, per_caller=2)
    with running({"main": index}, limits=limits) as found, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(found.http.post, "/v1/search", json={"query": "slow"}) for _ in range(2)]
        for _ in asked:
            assert slow.waiting.acquire(timeout=10)
        refused = found.http.post("/v1/search", json={"query": "sun"})
        assert "2 of your requests are being answered" in problem(refused, 429)["detail"]
        assert refused.headers["retry-after"] == "1"
        assert found.http.get("/healthz").status_code == 200
        slow.leave.set()
        assert [each.result().status_code for each in asked] == [200, 200]
        assert found.http.post("/v1/search", json={"query": "sun"}).status_code == 200


def test_too_many_from_all() -> None:
    index, slow = slow_index()
    with running({"main": index}, limits=Limits(in_flight=2)) as found, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(found.http.post, "/v1/search", json={"query": "slow"}) for _ in range(2)]
        for _ in asked:
            assert slow.waiting.acquire(timeout=10)
        refused = found.http.post("/v1/search", json={"query": "sun"})
        assert "2 requests are being answered" in problem(refused, 503)["detail"]
        assert refused.headers["retry-after"] == "1"
        slow.leave.set()
        assert [each.result().status_code for each in asked] == [200, 200]


def test_too_many_with_one_key(tmp_path: Path) -> None:
    """Another key is served meanwhile."""
    index, slow = slow_index()
    tokens = [add_key(tmp_path / "keys.json", "read")[1] for _ in range(2)]
    first, second = ({"authorization": f"Bearer {token}"} for token in tokens)
    ring, limits = KeyRing(tmp_path / "keys.json"), Limits(per_caller=1)
    with running({"main": index}, keys=ring, limits=limits) as found, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(found.http.post, "/v1/search", json={"query": "slow"}, headers=first)
        assert slow.waiting.acquire(timeout=10)
        refused = found.http.post("/v1/search", json={"query": "sun"}, headers=first)
        assert "1 of your requests are being answered" in problem(refused, 429)["detail"]
        assert refused.headers["retry-after"] == "1"
        assert found.http.post("/v1/search", json={"query": "sun"}, headers=second).status_code == 200
        slow.leave.set()
        assert asked.result().status_code == 200


def test_no_line_is_endless() -> None:
    """Searches, other reads and writes have lines of their own: what finds one full is refused at once."""
    threads = min(8, max(2, os.cpu_count() or 1)), min(8, (os.cpu_count() or 1) + 2), 1
    kinds = (("/v1/search", {"query": "slow"}), ("/v1/novelty", {"query": "slow"}), ("/v1/documents", {"text": "slow"}))
    for busy, (path, body) in zip(threads, kinds, strict=True):
        index, slow = slow_index()
        with running({"main": index}, limits=Limits(waiting=2)) as found, ThreadPoolExecutor(busy + 2) as pool:
            asked = [pool.submit(found.http.post, path, json=body) for _ in range(busy)]
            for _ in asked:
                assert slow.waiting.acquire(timeout=10)
            asked += [pool.submit(found.http.post, path, json=body) for _ in range(2)]
            metrics = found.app.state.service.metrics
            until(lambda: metrics.in_flight._value.get() == len(asked))  # noqa: B023
            refused = found.http.post(path, json=body)
            assert "2 requests of this kind are waiting already" in problem(refused, 503)["detail"]
            assert refused.headers["retry-after"] == "1"
            slow.leave.set()
            assert {each.result().status_code for each in asked} == {200}
            assert found.http.post(path, json=body).status_code == 200


def test_long_reads_hold_up_no_search() -> None:
    """Nor do searches that explain themselves: all threads of the long ones are taken, and a search is answered."""
    index, slow = slow_index()
    readers = min(8, (os.cpu_count() or 1) + 2)
    with running({"main": index}) as found, ThreadPoolExecutor(readers) as pool:
        asked = [pool.submit(found.http.post, "/v1/novelty", json={"query": "slow"}) for _ in range(readers - 1)]
        asked.append(pool.submit(found.http.post, "/v1/search", json={"query": "slow", "explain": True}))
        for _ in asked:
            assert slow.waiting.acquire(timeout=10)
        assert found.http.post("/v1/search", json={"query": "sun"}, timeout=10).status_code == 200
        slow.leave.set()
        assert [each.result().status_code for each in asked] == [200] * readers


def test_a_read_that_takes_too_long() -> None:
    index, slow = slow_index()
    with running({"main": index}, limits=Limits(seconds=0.2)) as found:
        late = found.http.post("/v1/search", json={"query": "slow"})
        assert "more than 0.2 seconds" in problem(late, 504)["detail"]
        with Client(found.url) as client, pytest.raises(TooSlowError, match="ask for less"):
            client.search("slow")
        slow.leave.set()
        assert found.http.post("/v1/search", json={"query": "sun"}).status_code == 200


def test_a_read_that_takes_too_long_holds_no_thread() -> None:
    """Filters that take seconds each, more of them than there are threads; then a search is answered at once."""
    hard = {"query": "sun", "where": {"$or": [{f"{at}.b": {"$in": [1, "x"]}} for at in range(256)]}}
    limits = Limits(seconds=0.15, conditions=256)
    with running({"main": small_index(6000)}, limits=limits) as found, ThreadPoolExecutor(16) as pool:
        until(lambda: found.http.post("/v1/search", json={"query": "sun"}).status_code == 200)
        for late in pool.map(lambda _: found.http.post("/v1/search", json=hard), range(16)):
            assert "more than 0.15 seconds" in problem(late, 504)["detail"]
        assert found.http.post("/v1/search", json={"query": "sun"}).status_code == 200, "within half a second"


def test_a_read_whose_time_is_up_does_not_begin() -> None:
    index, slow = slow_index()
    begun = []
    index.info = lambda: begun.append(1)  # type: ignore
    readers = min(8, (os.cpu_count() or 1) + 2)
    with running({"main": index}, limits=Limits(seconds=0.3)) as found, ThreadPoolExecutor(readers + 1) as pool:
        asked = [pool.submit(found.http.post, "/v1/novelty", json={"query": "slow"}) for _ in range(readers)]
        for _ in asked:
            assert slow.waiting.acquire(timeout=10)
        problem(found.http.get("/v1/info"), 504)
        slow.leave.set()
        assert {each.result().status_code for each in asked} == {504}
        until(lambda: found.http.get("/readyz").status_code == 200)
        assert not begun


def test_a_write_in_line_is_refused_and_one_that_has_begun_is_waited_for() -> None:
    index, slow = slow_index()
    with running({"main": index}, limits=Limits(seconds=0.3)) as found, ThreadPoolExecutor(4) as pool:
        begun = pool.submit(found.http.post, "/v1/documents", json={"id": "slow", "text": "slow"})
        assert slow.waiting.acquire(timeout=10)
        refused = found.http.post("/v1/documents", json={"id": "late", "text": "late"})
        assert "nothing was changed" in problem(refused, 503)["detail"]
        assert found.http.post("/v1/search", json={"query": "sun"}).status_code == 200, "reads go on meanwhile"
        time.sleep(0.3)
        assert not begun.done(), "its time is up, but how it ends is not known yet"
        slow.leave.set()
        assert begun.result().json() == {"ids": ["slow"]}
        assert index.ids() == ["a", "b", "c", "slow"]


def test_a_request_that_does_not_arrive() -> None:
    with running({"main": small_index(3)}, limits=Limits(seconds=0.2)) as found, line_to(found) as line:
        line.sendall(
            b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b'Content-Length: 100\r\n\r\n{"query"'
        )
        assert b" 408 " in line.recv(1000).partition(b"\r\n")[0]


def line_to(found: Running) -> socket.socket:
    host, port = found.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def everything(line: socket.socket) -> bytes:
    """All that comes until the other side hangs up."""
    parts = []
    while part := line.recv(1000):
        parts.append(part)
    return b"".join(parts)


def test_the_head_of_a_request_is_bounded() -> None:
    with running({"main": small_index(3)}) as found:
        assert found.http.get("/healthz", headers={"x-long": "a" * 60_000}).status_code == 200
        for flood in (b"X-Long: " + b"a" * 200_000, b"X-A: b\r\n" * 20_000):
            with line_to(found) as line:
                line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
                with contextlib.suppress(ConnectionError):  # it need not wait for the end of it
                    line.sendall(flood)
                    assert everything(line).startswith(b"HTTP/1.1 431 ")
        big = {"ids": ["x" * 300_000]}
        assert found.http.post("/v1/documents/delete", json=big).status_code == 200, "a body may be larger"


START = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = {
    "one header": START + b"X-Long: " + b"a" * 90_000 + b"\r\n\r\n",
    "many headers": START + b"X-A: b\r\n" * 11_000 + b"\r\n",
    "address": b"GET /healthz?" + b"a" * 90_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "spaces": START + b"X-A:" + b" " * 90_000 + b"b\r\n\r\n",
    "behind another": START + b"\r\n" + START + b"X-Long: " + b"a" * 90_000 + b"\r\n\r\n",
    "trailers": b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + b"X-A: b\r\n" * 11_000 + b"\r\n",
}  # fmt: skip


@pytest.mark.parametrize("sent", WHOLE.values(), ids=WHOLE.keys())
def test_a_head_that_comes_whole_is_counted_too(service: Running, sent: bytes) -> None:
    """90 KB in one packet went through: they were counted once they had been parsed."""
    with line_to(service) as line, contextlib.suppress(ConnectionError):
        line.sendall(sent)
        assert b"HTTP/1.1 431 " in everything(line)
    assert service.http.get("/healthz").status_code == 200


def test_a_head_of_just_64_kib_is_taken(service: Running) -> None:
    for size, status in ((65_536, b"200"), (65_537, b"431")):
        head = START + b"Connection: close\r\nX-Long: "
        with line_to(service) as line:
            line.sendall(head + b"a" * (size - len(head) - 4) + b"\r\n\r\n")
            assert everything(line).startswith(b"HTTP/1.1 " + status)


def test_a_head_that_does_not_arrive_is_not_waited_for() -> None:
    with running({"main": small_index(3)}, limits=Limits(seconds=0.2)) as found:
        for part in (b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: loc"):
            with line_to(found) as line:
                line.sendall(part)
                assert everything(line) == b""
        with line_to(found) as line:
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert line.recv(15) == b"HTTP/1.1 200 OK"


def test_an_answer_that_is_not_taken_is_counted_and_then_dropped() -> None:
    """Forty answers of 20 MB waited in memory for clients that did not read, and counted as done."""
    index = small_index(3)
    index.add("x" * 500_000, "big", vectors=np.ones((1, 32)))
    body = b'{"ids":[' + b'"big",' * 79 + b'"big"]}'
    head = b"POST /v1/documents/get HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with running({"main": index}, limits=Limits(seconds=2.0, per_caller=1)) as found, line_to(found) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert line.recv(15, socket.MSG_WAITALL) == b"HTTP/1.1 200 OK"
        assert "wait for one" in problem(found.http.get("/v1/info"), 429)["detail"]
        until(lambda: found.http.get("/v1/info").status_code == 200)
        whole = found.http.post("/v1/documents/get", content=body, headers={"content-type": "application/json"})
        assert [len(each["text"]) for each in whole.json()["documents"]] == [500_000] * 80


def test_a_client_that_reads_slowly_gets_everything() -> None:
    index = small_index(3)
    index.add("x" * 500_000, "big", vectors=np.ones((1, 32)))
    body = b'{"ids":[' + b'"big",' * 39 + b'"big"]}'
    head = (
        b"POST /v1/documents/get HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    )
    with running({"main": index}, limits=Limits(seconds=2.0)) as found, line_to(found) as line:
        line.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        taken = 0
        while part := line.recv(1 << 19, socket.MSG_WAITALL):
            taken += len(part)
            time.sleep(0.07)  # three seconds in all
        assert taken > 40 * 500_000


def test_reads_run_side_by_side() -> None:
    index, slow = slow_index()
    with running({"main": index}) as found, ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(found.http.post, "/v1/search", json={"query": "slow"}) for _ in range(2)]
        for _ in asked:
            assert slow.waiting.acquire(timeout=10), "both are inside at the same time"
        slow.leave.set()
        assert [each.result().status_code for each in asked] == [200, 200]


def test_read_only_takes_no_change() -> None:
    with running({"main": small_index(5)}, read_only=True) as found:
        for answer in (
            found.http.post("/v1/documents", json={"text": "sun"}),
            found.http.delete("/v1/documents/d1"),
            found.http.post("/v1/rebuild"),
        ):
            assert problem(answer, 403)["detail"] == (
                "this index is served for reading only: ask whoever runs the server"
            )
        assert found.http.get("/v1/info").json()["writable"] is False
        with Client(found.url) as client:
            assert len(client.search(vector=np.ones(32))) == 5


def test_read_only_sees_what_another_process_writes(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", encode) as writer:
        writer.add(["sun"], ["a"])
        reader = Index.open(tmp_path / "a.gsm", encode, mode="r")
        with running({"main": reader}, read_only=True) as found, Client(found.url) as client:
            assert len(client.search("sun")) == 1
            writer.add(["moon"], ["b"])
            assert len(client.search("sun")) == 2


@pytest.mark.parametrize("seconds", [float("inf"), 1e10, float("nan")])
def test_time_is_limited_to_a_day(seconds: float) -> None:
    with pytest.raises(ParameterError, match="seconds"):
        Limits(seconds=seconds)
    with running({"main": small_index(3)}) as found, pytest.raises(ParameterError, match="grace must be between"):
        serve(found.app, Address(port=0), grace=seconds)
