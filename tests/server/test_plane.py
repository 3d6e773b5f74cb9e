"""The plane over HTTP: the library's, in bytes, with the documents of its points."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np

from gossamer import AsyncClient, Client, Index, Plane
from server.running import Running, problem


def loaded(service: Running, **params: Any) -> Plane:
    return Plane.from_bytes(service.http.get("/v1/plane", params=params).content)


def test_the_plane_is_the_library_s(client: Client, service: Running, index: Index) -> None:
    wanted = index.plane()

    async def ask() -> Plane:
        async with AsyncClient(service.url) as other:
            return await other.plane()

    for found in (client.plane(), asyncio.run(ask())):
        assert (found.ids, found.operation) == (wanted.ids, wanted.operation)
        assert [[each.label for each in level] for level in found.regions] == [
            [each.label for each in level] for level in wanted.regions
        ]
        assert np.abs(found.positions - wanted.positions).max() < 1e-5
        assert np.array_equal(found.concepts, wanted.concepts)
    assert client.plane(labels=False).regions[0][0].label == ""
    assert len(client.plane(labels=False).ids) == len(index)


def test_it_is_sent_once(service: Running) -> None:
    first = service.http.get("/v1/plane")
    assert first.headers["Content-Type"] == "application/octet-stream"
    assert Plane.from_bytes(first.content).ids == ()
    tag = first.headers["ETag"]
    again = service.http.get("/v1/plane", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert service.http.get("/v1/plane", params={"ids": True}, headers={"If-None-Match": tag}).status_code == 200


def test_a_change_is_sent(own: Running) -> None:
    before = own.http.get("/v1/plane")
    own.http.post("/v1/documents", json={"id": "new", "text": "sun moon star"})
    after = own.http.get("/v1/plane", headers={"If-None-Match": before.headers["ETag"]})
    assert after.status_code == 200
    assert len(Plane.from_bytes(after.content).positions) == len(Plane.from_bytes(before.content).positions) + 1


def test_regions_have_labels(service: Running, index: Index) -> None:
    for level, wanted in enumerate(index.plane().regions, 1):
        found = service.http.get("/v1/plane/regions", params={"level": level}).json()
        assert [(each["concept"], each["label"]) for each in found["regions"]] == [
            (each.concept, each.label) for each in wanted
        ]
        assert (found["level"], found["operation"]) == (level, index.plane().operation)
    assert service.http.get("/v1/plane/regions", params={"level": 9}).json()["regions"] == []


def test_points_and_ids_find_each_other(service: Running, index: Index) -> None:
    plane = loaded(service, ids=True)
    asked = {"operation": plane.operation, "points": [3, 0]}
    found = service.http.post("/v1/plane/documents", json=asked).json()["documents"]
    assert [each["id"] for each in found] == [plane.ids[3], plane.ids[0]]
    assert found[0]["text"] == index.get(plane.ids[3]).text
    assert found[0]["metadata"] == index.get(plane.ids[3]).metadata
    asked = {"operation": plane.operation, "ids": [plane.ids[3], "nobody"]}
    found = service.http.post("/v1/plane/documents", json=asked).json()["documents"]
    assert [(each["point"], each["id"]) for each in found] == [(3, plane.ids[3])]


def test_points_of_an_earlier_plane_stay_good(own: Running) -> None:
    plane = loaded(own, ids=True)
    own.http.post("/v1/documents/delete", json={"ids": [plane.ids[0]]})
    assert loaded(own).operation > plane.operation
    asked = {"operation": plane.operation, "points": [0, 1]}
    found = own.http.post("/v1/plane/documents", json=asked).json()["documents"]
    assert [(each["point"], each["id"]) for each in found] == [(1, plane.ids[1])]
    for at in range(5):
        own.http.post("/v1/documents", json={"id": f"new{at}", "text": "sun"})
        loaded(own)
    answer = own.http.post("/v1/plane/documents", json=asked)
    assert problem(answer, 404)["detail"].startswith(f"the plane of operation {plane.operation} is not kept any more")


def test_what_cannot_be_asked(service: Running) -> None:
    operation = loaded(service).operation
    for asked, says in (
        ({"operation": operation}, "one of the two"),
        ({"operation": operation, "points": [1], "ids": ["d1"]}, "one of the two"),
        ({"operation": operation, "points": [150]}, "has 150 points, there is no 150"),
        ({"operation": operation, "points": [-1]}, "greater than or equal to 0"),
        ({"operation": operation, "points": list(range(1001))}, "may be at most 1,000"),
    ):
        assert says in problem(service.http.post("/v1/plane/documents", json=asked), 422)["detail"]


def test_searches_go_on_while_points_are_laid_out(own: Running) -> None:
    """A layout that takes long, in the one thread there is for layouts, holds up neither reads nor searches."""
    begun, end = threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        assert end.wait(30)

    work = own.app.state.service.workers.lay_out
    thread = threading.Thread(target=lambda: asyncio.run(work(long)))
    thread.start()
    try:
        assert begun.wait(10)
        assert own.http.post("/v1/search", json={"query": "sun"}).status_code == 200
        assert own.http.get("/v1/info").status_code == 200
    finally:
        end.set()
        thread.join()
