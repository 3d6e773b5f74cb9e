"""Concepts named by a language model: a local server that speaks both protocols."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from bag import encode
from explain.chat_service import Server
from explain.corpus import documents
from gossamer import Index
from gossamer.explain.language_model import LanguageModel, as_labeller, prompt
from gossamer.results import LabelRequest

REQUEST = LabelRequest(7, 40, ("bread", "oven"), ("How long does bread bake?",), "Kitchen", "bread, oven")


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
    path = tmp_path / "a.gsm"
    with Index.create(path, encode, labeller="ollama:small") as index:
        index.add(documents(200)[0])
        assert set(index.labels().values()) == {"Baking bread"}
        assert len(server.asked) == len(index.labels())
    server.asked.clear()
    with Index.open(path, encode) as index:
        assert set(index.labels().values()) == {"Baking bread"}, "names are kept, also where there is no model"
    with Index.open(path, encode, labeller="ollama:small") as index:
        index.settle()
        assert not server.asked, "nothing has changed"
        index.add([f"bread dough flour oven {word}" for word in ("today", "people", "comet", "piano")])
        index.settle()
        assert 0 < len(server.asked) < 0.5 * len(index.labels()), "only what changed is named again"
        assert set(index.labels().values()) == {"Baking bread"}
    server.asked.clear()
    with Index.open(path, encode, labeller="ollama:other") as index:
        index.settle()
        assert len(server.asked) == len(index.labels()), "another model gives other names"


def test_no_search_waits_for_a_model(server: Server) -> None:
    """The model answers when the test lets it, and all is searched and closed before."""
    with Index(encode, labeller="ollama:small") as index:
        with server.silence:
            index.add(documents(300)[0])
            while not server.asked:
                time.sleep(0.01)
            assert index.search("bread oven")[0].path[1].label not in ("", "Baking bread")
            assert index.concepts(1)[1].label != "Baking bread"
            index.add("bread dough flour oven")
            assert len(index) == 301
        index.settle()
        assert set(index.labels().values()) == {"Baking bread"}


def test_closing_waits_for_no_model(server: Server) -> None:
    with server.silence:
        with Index(encode, labeller="ollama:small") as index:
            index.add(documents(300)[0])
            while not server.asked:
                time.sleep(0.01)
        assert repr(index).endswith("closed)")


def test_a_budget_goes_to_the_largest_concepts(server: Server) -> None:
    model = LanguageModel("ollama", "small", calls=5)
    with Index(encode, labeller=model) as index:
        index.add(documents(300)[0])
        labels = index.labels()
        named = [concept.size for concept in index.concepts(None) if labels.get(concept.id) == "Baking bread"]
        others = [index.concept(id).size for id, label in labels.items() if label != "Baking bread"]
        assert len(named) == 5
        assert min(named) >= max(others)
