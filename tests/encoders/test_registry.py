"""Names to encoders."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

from gossamer.encoders import (
    CallableEncoder,
    LsaEncoder,
    OnnxEncoder,
    fastembed,
    known_encoders,
    load_encoder,
    model2vec,
    sentence_transformers,
    transformers,
)
from gossamer.errors import MissingExtraError, ParameterError, UnknownEncoderError


def test_names() -> None:
    assert isinstance(load_encoder("minilm"), OnnxEncoder)
    assert isinstance(load_encoder("lsa"), LsaEncoder)
    assert isinstance(load_encoder(len), CallableEncoder)
    lsa = LsaEncoder()
    assert load_encoder(lsa) is lsa


@pytest.mark.parametrize("name", ["minilm", "lsa", "lsa?components=100&stop_words=english&seed=3"])
def test_a_name_makes_the_same_encoder_again(name: str) -> None:
    encoder = load_encoder(name)
    assert encoder.name == name
    assert load_encoder(encoder.name).fingerprint == encoder.fingerprint


@pytest.mark.parametrize("name", ["minilm-l6", "", "st:", "hf:", "openai:", "mistral:large", "callables"])
def test_an_unknown_name_lists_the_known_ones_with_an_example(name: str) -> None:
    with pytest.raises(UnknownEncoderError) as raised:
        load_encoder(name)
    for known in known_encoders():
        assert known in str(raised.value)
    assert 'encoder="minilm"' in str(raised.value)


def test_a_function_is_not_loaded_by_name() -> None:
    with pytest.raises(UnknownEncoderError, match="pass it again"):
        load_encoder(CallableEncoder(len).name)


def test_something_that_is_no_encoder() -> None:
    with pytest.raises(UnknownEncoderError, match="got int"):
        load_encoder(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lsa?components=many", "components must be a whole number, got 'many'"),
        ("lsa?components=0", "components must be at least 1"),
        ("lsa?words=3", "no option 'words'; there are components, stop_words, seed"),
        ("lsa?stop_words=french", "stop_words must be one of"),
        ("lsa?components", "name=value"),
        ("minilm?threads=0", "threads must be at least 1"),
        ("minilm?on_download=print", "no option 'on_download'"),
    ],
)
def test_wrong_options_are_named(name: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        load_encoder(name)


@pytest.mark.parametrize(
    ("name", "module"),
    [("st:x", sentence_transformers), ("hf:x", transformers), ("model2vec:x", model2vec), ("fastembed:x", fastembed)],
)
def test_a_missing_extra_is_named_at_once(name: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=rf'pip install "gossamer\[{name[:-2]}\]"'):
        load_encoder(name)


def test_minilm_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules is how Python itself marks a module that must not be imported.
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r'pip install "gossamer\[onnx\]"'):
        load_encoder("minilm").encode(["a"])


def test_telemetry_is_off_before_onnxruntime_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # the import fails, so what is set was set before
    with pytest.raises(MissingExtraError):
        load_encoder("minilm").encode(["a"])
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
