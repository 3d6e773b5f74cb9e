"""`openai:` and `ollama:` against a real local server that speaks both protocols."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from encoders.model_service import ModelService, vector
from gossamer import Index
from gossamer.encoders import load_encoder
from gossamer.errors import EncoderError, ParameterError, StateError, TooSlowError, UntrustedEncoderError
from gossamer.model_server import ModelServer
from gossamer.runtime.deadline import within

TEXTS = ["a banana", "the queen", "moon rock", "blue sky", "an icicle"]
BUSY = {"error": {"message": "slow down"}}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelService]:
    with ModelService() as running:
        thread = Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1/")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        monkeypatch.setenv("OLLAMA_HOST", running.url.removeprefix("http://"))
        yield running
        running.shutdown()
        thread.join()


@pytest.mark.parametrize(("name", "path"), [("openai:small", "/v1/embeddings"), ("ollama:small", "/api/embed")])
def test_both_protocols(service: ModelService, name: str, path: str) -> None:
    encoder = load_encoder(name)
    with pytest.raises(StateError, match="after its first answer"):
        _ = encoder.dim
    assert np.array_equal(encoder.encode(TEXTS), [vector(text) for text in TEXTS])
    assert encoder.dim == 5
    ((asked, body, key),) = service.asked
    assert asked == path
    assert (body["model"], body["input"]) == ("small", TEXTS)
    assert key == ("Bearer sk-secret" if name.startswith("openai") else None)


def test_batches_keep_their_order_and_report_progress(service: ModelService) -> None:
    texts = [f"{'a' * (row % 7)}{'e' * (row % 5)} {row}" for row in range(100)]
    reports: list[tuple[int, int]] = []
    found = load_encoder("openai:small?batch_size=8&parallel=3").encode(
        texts, progress=lambda done, total: reports.append((done, total))
    )
    assert np.array_equal(found, [vector(text) for text in texts])
    assert len(service.asked) == 13
    assert reports[0] == (8, 100)
    assert reports[-1] == (100, 100)


def test_long_texts_are_sent_in_smaller_batches(service: ModelService) -> None:
    load_encoder("ollama:small").encode(["a" * 150_000, "e" * 60_000, "i"])
    assert [len(body["input"]) for _, body, _ in service.asked] == [1, 2]


def test_options_are_in_the_name_and_the_fingerprint(service: ModelService) -> None:
    encoder = load_encoder("openai:small?dimensions=3&batch_size=2")
    assert encoder.encode(TEXTS).shape == (5, 3)
    assert encoder.name == "openai:small?dimensions=3"
    others = ["openai:small", "openai:large?dimensions=3", "ollama:small?dimensions=3"]
    assert len({load_encoder(name).fingerprint for name in [encoder.name, *others]}) == 4
    with pytest.raises(ParameterError, match="no option 'dim'; there are dimensions, batch_size, parallel"):
        load_encoder("openai:small?dim=3")


def test_prompts_of_the_model_card_are_added(service: ModelService) -> None:
    encoder = load_encoder("ollama:nomic-embed-text:latest")
    encoder.encode(["moon"])
    encoder.encode(["moon"], kind="query")
    assert [body["input"] for _, body, _ in service.asked] == [["search_document: moon"], ["search_query: moon"]]


@pytest.mark.parametrize("headers", [{"Retry-After": "1"}, {"retry-after-ms": "700"}])
def test_a_busy_server_is_asked_again_when_it_says(service: ModelService, headers: dict[str, str]) -> None:
    service.answers = [(429, headers, BUSY)]
    assert len(load_encoder("openai:small").encode(TEXTS)) == 5
    first, second = service.times
    assert second - first >= 0.69


def test_a_date_to_wait_for(service: ModelService) -> None:
    service.answers = [(503, {"Retry-After": formatdate(0, usegmt=True)}, {})]  # passed long ago: at once
    assert len(load_encoder("ollama:small").encode(TEXTS)) == 5
    service.answers = [(429, {"Retry-After": formatdate(2**32, usegmt=True)}, BUSY)]
    with pytest.raises(EncoderError, match="slow down; it asks to wait"):
        load_encoder("ollama:small").encode(TEXTS)


def test_what_waiting_cannot_cure_is_not_asked_again(service: ModelService) -> None:
    quota = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    for status, body in ((429, quota), (404, {"error": "model 'small' not found"}), (200, {"no": "data"}), (200, b"<")):
        service.answers = [(status, {}, body)]
        with pytest.raises(EncoderError, match=r"quota|not found|no embeddings|not answer with JSON"):
            load_encoder("openai:small").encode(TEXTS)
    assert len(service.asked) == 4


def test_keys_are_in_no_message(
    service: ModelService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service.answers = [(401, {}, {"error": {"message": "Incorrect API key: sk-secret"}})]
    with caplog.at_level(logging.DEBUG), pytest.raises(EncoderError, match=r"401.*check the key") as raised:
        load_encoder("openai:small").encode(TEXTS)
    assert "sk-secret" not in f"{raised.value}{raised.value.__cause__!r}{raised.value.__context__!r}{caplog.text}"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\nX: y")
    with pytest.raises(ParameterError, match="cannot have") as refused:
        load_encoder("openai:small").encode(TEXTS)
    assert "sk-secret" not in str(refused.value)


def test_redirects_are_not_followed(service: ModelService) -> None:
    with ModelService() as elsewhere:
        service.answers = [(302, {"Location": f"{elsewhere.url}/v1/embeddings"}, {})]
        with pytest.raises(EncoderError, match="redirects are not followed"):
            load_encoder("openai:small").encode(TEXTS)
        assert not elsewhere.asked


def test_a_refused_batch_is_halved(service: ModelService) -> None:
    service.most = 2
    assert np.array_equal(load_encoder("openai:small").encode(TEXTS), [vector(text) for text in TEXTS])
    service.most = 0
    with pytest.raises(EncoderError, match=r"413.*too many inputs \(a text of 8 characters\)"):
        load_encoder("openai:small").encode(TEXTS)


def test_vectors_of_different_lengths(service: ModelService) -> None:
    service.answers = [(200, {}, {"embeddings": [[1.0], [1.0, 2.0]]})]
    with pytest.raises(EncoderError, match="different lengths"):
        load_encoder("ollama:small").encode(["a", "b"])
    service.answers = [(200, {}, {"embeddings": [[1.0]]})]
    with pytest.raises(EncoderError, match="1 vectors for 2 texts"):
        load_encoder("ollama:small").encode(["a", "b"])


def test_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    with pytest.raises(EncoderError, match=r"127\.0\.0\.1:1/api/embed gave no answer .*is the server running"):
        load_encoder("ollama:small").encode(["a"])


def test_waiting_ends_at_the_deadline(service: ModelService) -> None:
    service.answers = [(503, {"Retry-After": "30"}, {})]
    with pytest.raises(TooSlowError), within(0.2):
        load_encoder("openai:small").encode(["a"], kind="query")
    assert len(service.asked) == 1


def test_an_index_of_served_vectors(service: ModelService, tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", "ollama:small") as ix:
        ix.add(TEXTS)
    assert b"sk-secret" not in b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    with pytest.raises(UntrustedEncoderError, match="sends texts to a server"):
        Index.open(tmp_path / "a.gsm")
    with Index.open(tmp_path / "a.gsm", "ollama:small") as ix:
        assert ix.search("a papaya", k=1, hybrid=False)[0].text == "a banana"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:80/models/", "http://box:80/models"),
        (":1234", "http://127.0.0.1:1234"),
        ("[::1]", "http://[::1]:11434"),
        ("https://box/", "https://box"),
    ],
)
def test_addresses_of_ollama(host: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert ModelServer("ollama").address() == address


@pytest.mark.parametrize("url", ["file:///etc", "example.org/v1", "http://me:secret@example.org"])
def test_addresses_that_are_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ParameterError, match="address of a model server") as raised:
        ModelServer("openai").address()
    assert "secret" not in str(raised.value)
