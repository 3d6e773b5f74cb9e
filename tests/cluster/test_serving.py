"""A cluster behind the HTTP server and its explorer: the routes that an index has, but for what a cluster lacks."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bag import encode
from cluster.themes import corpus
from gossamer.cluster import Cluster

httpx = pytest.importorskip("httpx", reason="needs the extra serve")
pytest.importorskip("fastapi", reason="needs the extra serve")

from gossamer.server.app import create_app  # noqa: E402
from gossamer.server.catalog import Catalog  # noqa: E402

COUNT = 120


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Any]]:
    texts, ids, metadata = corpus(COUNT)
    with Cluster.create(tmp_path_factory.mktemp("served") / "c", encode, shards=3) as cluster:
        cluster.add(texts, ids, metadata)
        yield cluster, create_app(Catalog({"themes": cluster}))  # type: ignore[dict-item]


def ask(served: tuple[Cluster, Any], method: str, path: str, body: Any = None, status: int = 200) -> Any:
    async def answer() -> Any:
        transport = httpx.ASGITransport(app=served[1])
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, json=body)

    found = asyncio.run(answer())
    assert found.status_code == status, found.text
    return found.text if path == "/metrics" else found.json()


def test_searches_and_explanations(served: tuple[Cluster, Any]) -> None:
    cluster = served[0]
    found = ask(served, "POST", "/v1/search", {"query": "bread in the oven", "k": 5})
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in cluster.search("bread in the oven", 5)]
    assert found["hits"][0]["path"][0]["size"] == COUNT
    first = ask(served, "POST", "/v1/search", {"query": "bread in the oven", "k": 3, "explain": True})["hits"][0]
    assert first["explanation"]["rank"] == 1
    why = ask(served, "POST", "/v1/explain", {"query": "bread in the oven", "id": found["hits"][4]["id"]})
    assert why["rank"] == 5
    assert ask(served, "POST", "/v1/novelty", {"query": "bread oven"})["confidence"] > 0
    nothing = {"query": "zzz", "k": 3, "min_confidence": 1.0}
    assert ask(served, "POST", "/v1/search", nothing)["hits"] == []


def test_the_map_has_every_concept_and_adds_up(served: tuple[Cluster, Any]) -> None:
    found = ask(served, "GET", "/v1/map?depth=20&labels=true")
    assert found["sizes"][0] == COUNT
    place = {id: at for at, id in enumerate(found["ids"])}
    assert len(place) == len(found["ids"])
    below: dict[int, int] = {}
    for at, parent in enumerate(found["parents"]):
        if parent is not None:
            assert place[parent] < at
            assert found["depths"][at] == found["depths"][place[parent]] + 1
            below[parent] = below.get(parent, 0) + found["sizes"][at]
    for id, size in below.items():
        assert size == found["sizes"][place[id]]
    assert all(found["labels"][place[id]] for id in below)
    few = ask(served, "GET", "/v1/map?depth=20&limit=20")
    assert len(few["ids"]) <= 20
    part = ask(served, "GET", f"/v1/map?root={next(iter(below))}&depth=1")
    assert part["ids"][0] == next(iter(below))


def test_concepts_topics_and_facets(served: tuple[Cluster, Any]) -> None:
    shown = ask(served, "GET", "/v1/concepts?depth=2")["concepts"]
    assert shown[0]["size"] == COUNT
    for each in shown:
        page = ask(served, "GET", f"/v1/concepts/{each['id']}")
        assert page["path"][-1]["id"] == each["id"]
        assert {child["parent"] for child in page["children"]} <= {each["id"]}
    matches = ask(served, "GET", "/v1/concepts/find?query=guitar+and+piano&k=3")["matches"]
    assert len(matches) == 3
    assert matches[0]["path"][0]["id"] == shown[0]["id"]
    assert sum(each["size"] for each in ask(served, "GET", "/v1/topics?n=5")["levels"][0]["concepts"]) == COUNT
    facets = ask(served, "POST", "/v1/facets", {"where": {"theme": "music"}})
    assert facets["counted"] == COUNT // 5
    assert ask(served, "POST", "/v1/facets", {"query": "guitar", "k": 7})["counted"] == 7
    assert ask(served, "GET", "/v1/info")["documents"] == COUNT
    assert f'gossamer_documents{{index="themes"}} {COUNT}.0' in ask(served, "GET", "/metrics")


def test_changes_are_made_and_names_are_kept(served: tuple[Cluster, Any]) -> None:
    cluster = served[0]
    ask(served, "POST", "/v1/documents", {"documents": [{"id": "new", "text": "a violin and a moon"}]})
    assert ask(served, "GET", "/v1/documents/new")["text"] == "a violin and a moon"
    ask(served, "DELETE", "/v1/documents/new")
    assert len(cluster) == COUNT
    concept = cluster.find_concepts("guitar and piano", 1)[0].concept
    ask(served, "PUT", f"/v1/concepts/{concept.id}/name", {"name": "Instruments"})
    assert cluster.concept(concept.id).label == "Instruments"


def test_what_a_cluster_lacks_is_refused_with_a_sentence(served: tuple[Cluster, Any]) -> None:
    assert "has no plane" in ask(served, "GET", "/v1/plane", status=422)["detail"]
    assert "does not tell" in ask(served, "GET", "/v1/changes?since=0", status=422)["detail"]
    assert "near duplicates" in ask(served, "GET", "/v1/near-duplicates", status=422)["detail"]
    top = served[0].concepts(0)[0]
    assert "above the shards" in ask(served, "PUT", f"/v1/concepts/{top.id}/name", {"name": "All"}, 422)["detail"]


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("aiohttp_cors"), reason="needs ray[serve]")
def test_ray_serve_answers_as_the_cluster_does(tmp_path: Path) -> None:
    """The example, as it would be started by hand; Ctrl-C ends it and closes the cluster's files."""
    path, example = tmp_path / "c", Path(__file__).parents[2] / "examples" / "cluster" / "ray_serve.py"
    texts, ids, metadata = corpus(COUNT)
    with Cluster.create(path, "lsa", shards=2) as cluster:
        cluster.add(texts, ids, metadata)
        expected = [hit.id for hit in cluster.search("bread in the oven", 3)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(example), str(path), "--replicas", "1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            assert any("Ctrl-C ends it" in line for line in server.stdout)
            url = f"http://127.0.0.1:{port}/v1"
            found = httpx.post(f"{url}/search", json={"query": "bread in the oven", "k": 3}, timeout=60).json()
            assert [hit["id"] for hit in found["hits"]] == expected
            assert httpx.get(f"{url}/info", timeout=60).json()["documents"] == COUNT
        finally:
            server.send_signal(signal.SIGINT)
            start = time.monotonic()
            server.communicate(timeout=120)
            assert time.monotonic() - start < 120
    with Cluster.open(path) as cluster:
        assert len(cluster) == COUNT
