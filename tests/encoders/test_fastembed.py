"""`fastembed:` with the files of minilm, which FastEmbed knows under another name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gossamer.encoders import load_encoder
from gossamer.encoders.models import read_model
from gossamer.errors import GossamerError, ModelUnavailableError

pytestmark = [pytest.mark.extra, pytest.mark.model]
pytest.importorskip("fastembed")

NAME = "fastembed:sentence-transformers/all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        files = read_model("minilm")
    except GossamerError as error:
        pytest.skip(str(error))
    place = tmp_path_factory.mktemp("minilm")
    (place / "model.onnx").write_bytes(files["model_quantized.onnx"])
    (place / "tokenizer.json").write_bytes(files["tokenizer.json"])
    (place / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (place / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]"}))
    (place / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, "pad_token": "[PAD]"}))
    return place


def test_vectors(folder: Path) -> None:
    texts = ["How do I bake sourdough bread?", "Best flour for pizza dough", "My bike chain keeps slipping"]
    encoder = load_encoder(f"{NAME}?folder={folder}&batch_size=1")
    reports: list[int] = []
    found = encoder.encode(texts, progress=lambda done, total: reports.append(done))
    assert encoder.dim == 384
    assert reports == [3]
    cosines = np.sum(found * load_encoder("minilm").encode(texts), axis=1) / np.linalg.norm(found, axis=1)
    assert cosines.min() > 0.99
    assert encoder.name == NAME
    assert encoder.fingerprint == load_encoder(NAME).fingerprint


def test_a_model_that_fastembed_does_not_know() -> None:
    with pytest.raises(ModelUnavailableError, match=r"not supported"):
        load_encoder("fastembed:nobody/nothing").encode(["a"])
