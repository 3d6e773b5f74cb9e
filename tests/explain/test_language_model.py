"""Concepts named by a language model: a local server that speaks both protocols."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bag import encode
from explain.corpus import documents
from gossamer import Index
from gossamer.errors import ParameterError
from gossamer.explain.language_model import LanguageModel, as_labeller, prompt
from gossamer.results import LabelRequest

REQUEST = LabelRequest(7, 40, ("bread", "oven"), ("How long does bread bake?",), "Kitchen", "bread, oven")


class Server(ThreadingHTTPServer):
    """Answers every chat with a name; keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.failing = False
        self.answer = ' "Baking bread".\n'

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, self.headers.get("Authorization")))
        if self.server.failing:
            self.send_error(500)
            return
        message = {"role": "assistant", "content": self.server.answer}
        found = {"message": message} if self.path == "/api/chat" else {"choices": [{"message": message}]}
        sent = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as running:
        Thread(target=running.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1/")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        monkeypatch.setenv("OLLAMA_HOST", running.url.removeprefix("http://"))
        yield running
        running.shutdown()


def named(name: str) -> LanguageModel:
    labeller = as_labeller(name)
    assert isinstance(labeller, LanguageModel)
    return labeller


@pytest.mark.parametrize(("name", "path"), [("openai:small", "/v1/chat/completions"), ("ollama:small", "/api/chat")])
def test_both_protocols(server: Server, name: str, path: str) -> None:
    assert named(name)(REQUEST) == "Baking bread"
    ((asked, body, key),) = server.asked
    assert asked == path
    assert body["model"] == "small"
    assert body["messages"][-1]["content"] == prompt(REQUEST)
    assert key == ("Bearer sk-secret" if name.startswith("openai") else None)


def test_what_is_sent() -> None:
    text = prompt(REQUEST)
    assert "bread, oven" in text
    assert "Kitchen" in text
    assert "How long does bread bake?" in text
    assert "40 texts" in text


def test_calls_are_counted(server: Server) -> None:
    labeller = LanguageModel("ollama", "small", calls=2)
    assert [labeller(REQUEST) for _ in range(4)] == ["Baking bread"] * 2 + ["bread, oven"] * 2
    assert len(server.asked) == 2


def test_after_three_failures_no_more_calls(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.failing = True
    with caplog.at_level(logging.WARNING, "gossamer"), Index(encode, labeller="openai:small") as index:
        index.add(documents(200)[0])
        labels = index.labels()
    assert len(server.asked) == 3
    assert len(labels) > 5
    assert all(labels.values())
    assert "failed 3 times" in caplog.text
    assert "answered 500" in caplog.text
    assert "sk-secret" not in caplog.text


def test_an_index_named_by_a_model(server: Server, tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", encode, labeller="ollama:small") as index:
        index.add(documents(200)[0])
        assert set(index.labels().values()) == {"Baking bread"}
        assert len(server.asked) == len(index.labels())
    with Index.open(tmp_path / "a.gsm", encode) as index:
        assert "Baking bread" not in index.labels().values()


@pytest.mark.parametrize("name", ["gpt", "openai:", "mistral:large", "", 3])
def test_other_names(name: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"openai:<model>"):
        Index.create(tmp_path / "a.gsm", encode, labeller=name)
    assert not (tmp_path / "a.gsm").exists()


def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "file:///etc")
    with pytest.raises(ParameterError, match="http"):
        named("openai:small")(REQUEST)
