"""`gossamer serve` and `gossamer keys` as they are typed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from gossamer import Client, Index
from gossamer.cli.app import app
from gossamer.errors import AccessError, ReadOnlyError, UnreachableError
from gossamer.files.file_lock import LockFile
from gossamer.server.catalog import name_and_path
from server.running import running

TEXTS = {
    "fox": "The red fox hunts mice in the snowy forest at night.",
    "wolf": "A pack of wolves hunts deer together in the forest.",
    "bread": "Bake the bread in a hot oven until the crust is brown.",
    "cake": "Bake the cake with butter, sugar and flour in the oven.",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Index.create(tmp_path / "texts.gsm", encoder="lsa") as index:
        index.add(list(TEXTS.values()), ids=list(TEXTS))
    return tmp_path / "texts.gsm"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200", "GOSSAMER_DEBUG": None})


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    command = [sys.executable, "-c", "from gossamer.cli import main; main()", "serve", *map(str, arguments)]
    with subprocess.Popen(
        [*command, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def test_serve(path: Path, tmp_path: Path) -> None:
    Index.create(tmp_path / "b.gsm", encoder="lsa").close()
    with serving(path, f"second={tmp_path / 'b.gsm'}") as (process, told):
        assert told["indexes"] == ["texts", "second"]
        with Client(told["url"]) as client:
            assert client.search("who hunts in the forest?", k=1)[0].id in ("fox", "wolf")
            client.add("The owl hunts mice in the dark.", "owl")
        with Client(told["url"], index="second") as second:
            assert len(second) == 0
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 0
    events = [json.loads(line) for line in errors.splitlines()]
    assert {(event["route"], event["index"]) for event in events} == {
        ("/search", "texts"),
        ("/documents", "texts"),
        ("/info", "second"),
    }
    with Index.open(path, mode="r") as index:
        assert index.get("owl").text.startswith("The owl")


def test_commands_beside_a_server(path: Path, tmp_path: Path) -> None:
    """Both write to one index, and each sees at its next search what the other has written."""
    (tmp_path / "owl.txt").write_text("The owl hunts mice in the dark.")
    with serving(path) as (_, told), Client(told["url"]) as client:
        client.add("The lynx hunts hares in the snow.", "lynx")
        indexed = run("index", tmp_path / "owl.txt", "--to", path, "--json", "--quiet")
        assert json.loads(indexed.stdout)["added"] == 1
        assert any("The owl" in hit.text for hit in client.search("owl"))
        assert json.loads(run("delete", path, "fox", "--json").stdout)["deleted"] == 1
        assert client.delete("wolf") == 1
        assert len(client) == 4
        found = json.loads(run("search", path, "who hunts?", "--json").stdout)["hits"]
        assert {hit["id"] for hit in found} == {hit.id for hit in client.search("who hunts?")}
        assert "open for writing elsewhere" in run("repair", path).stderr
    with Index.open(path) as index:  # the server was killed
        assert len(index) == 4
        index.check()


def test_a_write_that_another_process_keeps_waiting_is_refused(path: Path) -> None:
    with Index.open(path, timeout=0.1) as index, running({"main": index}) as found, Client(found.url) as client:
        lock = LockFile(path / "writer.lock")
        lock.acquire()
        answer = httpx.post(f"{found.url}/v1/documents/delete", json={"ids": ["fox"]})
        assert answer.status_code == 503
        assert "another process is writing to this index" in answer.json()["detail"]
        assert answer.headers["Retry-After"]
        assert client.search("fox", k=1), "reading goes on"
        lock.release()
        assert client.delete("fox") == 1


def test_read_only_takes_no_change_and_shows_those_of_others(path: Path) -> None:
    with Index.open(path) as writer, serving(path, "--read-only") as (_, told), Client(told["url"]) as client:
        assert len(client) == 4
        with pytest.raises(ReadOnlyError, match="served for reading only"):
            client.delete("fox")
        writer.add("The owl hunts mice in the dark.", "owl")
        assert len(client) == 5


def test_keys_are_wanted_where_they_are_given(path: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    token = json.loads(run("keys", "new", keys, "--scope", "write", "--json").stdout)["token"]
    with serving(path, "--key-file", keys, "--host", "0.0.0.0") as (_, told):
        url = told["url"].replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(url + "/healthz").status_code == 200
        with Client(url) as stranger, pytest.raises(AccessError, match="a valid key is needed"):
            stranger.info()
        with Client(url, key=token) as friend:
            assert friend.delete("fox") == 1


def test_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made = run("keys", "new", file, "--note", "for tests")
    assert made.stdout.startswith("gsm_")
    assert "it is shown only now" in made.stderr
    listed = json.loads(run("keys", "list", file, "--json").stdout)["keys"]
    assert [(key["scope"], key["note"]) for key in listed] == [("read", "for tests")]
    assert made.stdout.strip() not in json.dumps(listed)
    id = listed[0]["id"]
    assert run("keys", "list", file).stdout.startswith(f"{id}  read ")
    assert run("keys", "remove", file, id).stdout == f"key {id} (read) removed\n"
    assert json.loads(run("keys", "list", file, "--json").stdout) == {"keys": []}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("serve", "{path}", "--host", "0.0.0.0"), "listening on 0.0.0.0 lets others in, and there are no keys"),
        (("serve", "{path}", "{path}"), "two indexes would be called 'texts': name one of them, as in other="),
        (("serve", "{missing}"), "there is no index at .*make one with: gossamer index"),
        (("serve", "{path}", "--key-file", "{missing}"), "cannot be read"),
        (("serve", "{path}", "--tls-cert", "cert.pem"), "go together"),
        (("keys", "remove", "{missing}", "x"), "cannot be read"),
        (("keys", "list", "{path}/settings"), "cannot be read"),
    ],
)
def test_errors_are_a_sentence(arguments: tuple[str, ...], says: str, path: Path, tmp_path: Path) -> None:
    places = {"{path}": str(path), "{missing}": str(tmp_path / "missing")}
    for name, place in places.items():
        arguments = tuple(each.replace(name, place) for each in arguments)
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    assert re.search(says, result.stderr, re.DOTALL), result.stderr


def test_a_port_that_is_taken_is_told(path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("serve", path, "--port", taken.getsockname()[1])
    assert result.exit_code == 1
    assert "choose another --port" in result.stderr


def test_without_its_libraries_the_extra_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.server.find_spec", lambda name: None)
    result = run("serve", path)
    assert result.exit_code == 1
    assert 'pip install "gossamer[serve]"' in result.stderr


def test_names_of_indexes(tmp_path: Path) -> None:
    assert name_and_path("news.gsm") == ("news", Path("news.gsm"))
    assert name_and_path("a/b c.gsm/") == ("b-c", Path("a/b c.gsm"))
    assert name_and_path("mine=a/b.gsm") == ("mine", Path("a/b.gsm"))
    assert name_and_path("a/x=y.gsm") == ("x-y", Path("a/x=y.gsm"))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_tls(path: Path, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    with serving(path, "--tls-cert", cert, "--tls-key", key) as (_, told):
        assert told["url"].startswith("https://127.0.0.1:")
        with Client(told["url"], verify=ssl.create_default_context(cafile=str(cert))) as client:
            assert len(client) == 4
        with Client(told["url"]) as careful, pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
            careful.info()


@pytest.mark.parametrize("seconds", ["inf", "1e10", "nan"])
def test_a_timeout_is_at_most_a_day(path: Path, seconds: str) -> None:
    result = run("serve", path, "--timeout", seconds)
    assert result.exit_code in (1, 2)
    assert not isinstance(result.exception, OverflowError)
