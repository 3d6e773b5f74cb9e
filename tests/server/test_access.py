"""Who may do what: every route with no key, a wrong one, and one of each scope; keys at rest; strangers' pages."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gossamer import Client
from gossamer.errors import AccessError, CorruptError, DiskError, ParameterError, UnknownIdError
from gossamer.server.keys import SCOPES, KeyRing, Scope, add_key, find_key, new_key, read_keys, remove_key
from gossamer.server.run import Address
from server.running import Running, problem, running, small_index

PUBLIC = {"/healthz", "/readyz", "/v1/openapi.json"}
NEEDS: dict[tuple[str, str], Scope] = {
    ("POST", "/search"): "read",
    ("POST", "/explain"): "read",
    ("POST", "/novelty"): "read",
    ("POST", "/facets"): "read",
    ("POST", "/assign"): "read",
    ("GET", "/concepts"): "read",
    ("GET", "/concepts/find"): "read",
    ("POST", "/concepts/find"): "read",
    ("GET", "/concepts/{id}"): "read",
    ("PUT", "/concepts/{id}/name"): "write",
    ("GET", "/topics"): "read",
    ("GET", "/map"): "read",
    ("GET", "/plane"): "read",
    ("GET", "/plane/regions"): "read",
    ("POST", "/plane/documents"): "read",
    ("GET", "/changes"): "read",
    ("GET", "/info"): "read",
    ("POST", "/search/batch"): "read",
    ("POST", "/more-like"): "read",
    ("GET", "/near-duplicates"): "read",
    ("POST", "/documents/get"): "read",
    ("GET", "/documents/{id}"): "read",
    ("POST", "/documents"): "write",
    ("POST", "/documents/stream"): "write",
    ("POST", "/documents/update"): "write",
    ("POST", "/documents/delete"): "write",
    ("DELETE", "/documents/{id}"): "write",
    ("POST", "/rebuild"): "admin",
}
WHOLE: dict[tuple[str, str], Scope] = {("GET", "/metrics"): "read", ("GET", "/v1/indexes"): "read"}
BODIES: dict[str, Any] = {
    "/search": {"query": "sun"},
    "/search/batch": {"queries": ["sun"]},
    "/more-like": {"id": "d1"},
    "/documents/update": {"ids": ["d1"], "metadata": {}},
    "/explain": {"query": "sun", "id": "d1"},
    "/novelty": {"query": "sun"},
    "/facets": {},
    "/assign": {"texts": ["sun"]},
    "/concepts/find": {"query": "sun"},
    "/concepts/{id}/name": {"name": None},
    "/documents/get": {"ids": ["d1"]},
    "/plane/documents": {"operation": 1, "ids": ["d1"]},
    "/documents": {"id": "d1", "text": "sun"},
    "/documents/delete": {"ids": ["nobody"]},
}
EVERY = {
    **WHOLE,
    **{
        (method, prefix + path): scope
        for (method, path), scope in NEEDS.items()
        for prefix in ("/v1", "/v1/indexes/main")
    },
}


@dataclass(frozen=True)
class Locked:
    """A server with keys, one of each scope."""

    running: Running
    file: Path
    tokens: dict[Scope, str]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    tokens = {scope: add_key(file, scope)[1] for scope in SCOPES}
    with running({"main": small_index(20)}, keys=KeyRing(file, seconds=0.0)) as found:
        yield Locked(found, file, tokens)


def root_of(locked: Locked) -> int:
    headers = {"authorization": f"Bearer {locked.tokens['read']}"}
    found: int = locked.running.http.get("/v1/concepts?depth=0", headers=headers).json()["concepts"][0]["id"]
    return found


def operation_of(locked: Locked) -> int:
    headers = {"authorization": f"Bearer {locked.tokens['read']}"}
    locked.running.http.get("/v1/plane", headers=headers)  # it is laid out, and kept
    found: int = locked.running.http.get("/v1/info", headers=headers).json()["operation"]
    return found


def ask(locked: Locked, method: str, path: str, token: str | None) -> Any:
    short = path.removeprefix("/v1/indexes/main").removeprefix("/v1")
    address = path.replace("{id}", "d1" if "documents" in path else str(root_of(locked)))
    wanted = {"/concepts/find": "?query=sun", "/topics": "?n=2", "/changes": "?since=0"}
    address += wanted.get(short, "") if method == "GET" else ""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    if short == "/documents/stream":
        return locked.running.http.post(
            address, content=b"", headers={**headers, "content-type": "application/x-ndjson"}
        )
    body = BODIES.get(short) if method in ("POST", "PUT") else None
    if short == "/plane/documents":
        body = {**BODIES[short], "operation": operation_of(locked)}
    return locked.running.http.request(method, address, json=body, headers=headers)


def test_the_matrix_covers_every_route(locked: Locked) -> None:
    described = locked.running.http.get("/v1/openapi.json").json()["paths"]
    routes = {(method.upper(), path) for path, operations in described.items() for method in operations}
    named = {(method, path.replace("/v1/indexes/main", "/v1/indexes/{name}")) for method, path in EVERY}
    assert routes == named | {("GET", path) for path in PUBLIC - {"/v1/openapi.json"}}


@pytest.mark.parametrize(("method", "path"), list(EVERY), ids=lambda part: part)
def test_the_matrix(locked: Locked, method: str, path: str) -> None:
    for token in (None, "wrong", "gsm_", "gsm_00000000_x", locked.tokens["read"] + "x", locked.tokens["read"][:-1]):
        refused = ask(locked, method, path, token)
        assert problem(refused, 401)["type"].endswith(":access")
        assert refused.headers["www-authenticate"].startswith("Bearer")
    for scope in SCOPES:
        answer = ask(locked, method, path, locked.tokens[scope])
        if SCOPES.index(scope) < SCOPES.index(EVERY[method, path]):
            assert f"scope {EVERY[method, path]}, and yours has {scope}" in problem(answer, 403)["detail"]
        else:
            assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("path", sorted(PUBLIC))
def test_what_anyone_may_see(locked: Locked, path: str) -> None:
    assert locked.running.http.get(path).status_code == 200


def test_what_is_not_there_needs_a_key_too(locked: Locked) -> None:
    problem(locked.running.http.get("/v1/secrets"), 401)
    problem(locked.running.http.get("/v1/secrets", headers={"authorization": f"bearer {locked.tokens['read']}"}), 404)


def test_a_body_is_not_read_from_strangers(locked: Locked) -> None:
    problem(locked.running.http.post("/v1/search", content=b"x" * 10_000_000), 401)


def test_paths_on_disk_are_for_admins(tmp_path: Path) -> None:
    from bag import encode
    from gossamer import Index

    file = tmp_path / "keys.json"
    tokens = {scope: add_key(file, scope)[1] for scope in SCOPES}
    index = Index.create(tmp_path / "a.gsm", encode)
    with running({"main": index}, keys=KeyRing(file)) as found:
        seen = {}
        for scope, token in tokens.items():
            with Client(found.url, key=token) as client:
                seen[scope] = client.info().path
    assert seen == {"read": None, "write": None, "admin": str(tmp_path / "a.gsm")}


def test_keys_come_and_go_while_the_server_runs(locked: Locked) -> None:
    key, token = add_key(locked.file, "read", "for a while")
    with Client(locked.running.url, key=token) as client:
        assert len(client)
        remove_key(locked.file, key.id)
        with pytest.raises(AccessError, match="valid key"):
            client.info()


# -- at rest ---------------------------------------------------------------------------------------


def test_the_file_holds_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, token = add_key(file, "write", "ci")
    secret = token.split("_", 2)[2]
    assert len(secret) >= 43
    assert secret not in file.read_text()
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]
    assert read_keys(file) == [key]
    assert find_key([key], token) == key
    assert key.salt != new_key("write")[0].salt


def test_only_the_right_token_opens(tmp_path: Path) -> None:
    (one, first), (other, second) = new_key("read"), new_key("admin")
    mixed = f"gsm_{other.id}_{first.split('_', 2)[2]}"
    for wrong in ("", "gsm", "_", "gsm__", first.replace("gsm", "GSM"), first + "=", mixed, "gsm_ü_ß\ud800"):
        assert find_key([one, other], wrong) is None
    assert find_key([one, other], second) == other
    assert find_key([], "gsm__") is None


def test_scopes_are_ordered() -> None:
    allowed = {scope: [each for each in SCOPES if new_key(scope)[0].allows(each)] for scope in SCOPES}
    assert allowed == {"read": ["read"], "write": ["read", "write"], "admin": ["read", "write", "admin"]}
    with pytest.raises(ParameterError, match="one of read, write, admin, got 'root'"):
        new_key("root")  # type: ignore[arg-type]


def test_a_file_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    with pytest.raises(DiskError, match="cannot be read"):
        read_keys(file)
    for text in ("", "[]", '{"version": 1, "keys": [{}]}', '{"version": 2, "keys": []}'):
        file.write_text(text)
        with pytest.raises(CorruptError):
            read_keys(file)
    file.unlink()
    key, _ = add_key(file, "read")
    file.write_text(file.read_text().replace('"read"', '"all"'))
    with pytest.raises(CorruptError, match="scope"):
        read_keys(file)
    file.write_text(json.dumps({"version": 1, "keys": []}))
    with pytest.raises(UnknownIdError, match="no key"):
        remove_key(file, key.id)


def test_a_file_that_breaks_opens_no_door(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    _, token = add_key(file, "admin")
    ring = KeyRing(file, seconds=0.0)
    assert ring.find(token)
    file.write_text("oops")
    assert ring.find(token) is None
    file.unlink()
    assert ring.find(token) is None
    _, another = add_key(file, "read")
    assert ring.find(another)


# -- from where ------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_listening_elsewhere_needs_keys(host: str) -> None:
    with pytest.raises(ParameterError, match=r"lets others in, and there are no keys\. Make one with: gossamer"):
        Address(host).check(has_keys=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_this_machine_needs_none(host: str) -> None:
    Address(host).check(has_keys=False)


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="go together"):
        Address(tls_cert=tmp_path / "cert.pem").check(has_keys=False)
    with pytest.raises(DiskError, match="there is no file"):
        Address(tls_cert=tmp_path / "cert.pem", tls_key=tmp_path / "key.pem").check(has_keys=False)


def test_another_name_for_this_machine_is_refused(own: Running) -> None:
    """A page of evil.example whose name suddenly means 127.0.0.1 must not reach a server without keys."""
    refused = own.http.get("/v1/info", headers={"host": "evil.example:80"})
    assert problem(refused, 421)["type"].endswith(":wrong-host")
    for host in ("localhost:1", "LOCALHOST", "[::1]:8080", "127.0.0.1"):
        assert own.http.get("/healthz", headers={"host": host}).status_code == 200


def test_forms_and_pages_of_others_change_nothing(own: Running) -> None:
    document = json.dumps({"id": "evil", "text": "evil"})
    plain = own.http.post("/v1/documents", content=document, headers={"content-type": "text/plain"})
    assert problem(plain, 415)["detail"] == "the content type must be application/json, got text/plain"
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        headers = {"content-type": "application/json", "origin": origin}
        problem(own.http.post("/v1/documents", content=document, headers=headers), 403)
        problem(own.http.delete("/v1/documents/d1", headers={"origin": origin}), 403)
        problem(own.http.post("/v1/refit", headers={"origin": origin}), 403)
        assert "access-control-allow-origin" not in own.http.get("/v1/info", headers={"origin": origin}).headers
    problem(own.http.get("/v1/documents/evil"), 404)
    same = {"content-type": "application/json", "origin": own.url}
    assert own.http.post("/v1/documents", content=document, headers=same).status_code == 200


def test_cors_for_those_that_are_named() -> None:
    friend = "https://friend.example"
    with running({"main": small_index(5)}, origins=[friend]) as found:
        asks = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
        asked = found.http.options("/v1/search", headers={"origin": friend, **asks})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == friend
        answer = found.http.post("/v1/search", json={"query": "sun"}, headers={"origin": friend})
        assert answer.headers["access-control-allow-origin"] == friend
        wrong = found.http.post("/v1/search", json={"query": ""}, headers={"origin": friend})
        assert wrong.headers["access-control-allow-origin"] == friend
        other = found.http.options("/v1/search", headers={"origin": "https://evil.example", **asks})
        assert "access-control-allow-origin" not in other.headers


def test_an_unknown_id_costs_the_same_hash_as_a_wrong_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    key, token = new_key("read")
    hashed: list[int] = []

    def sha256(data: bytes) -> Any:
        hashed.append(len(data))
        return real(data)

    real = hashlib.sha256
    monkeypatch.setattr(hashlib, "sha256", sha256)
    assert find_key([key], token) is key
    assert find_key([key], token.replace(key.id, "0" * 8)) is None
    assert find_key([key], token[:-1] + "?") is None
    assert hashed == [len(token.split("_", 2)[2]) + 16] * 3
