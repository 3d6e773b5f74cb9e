"""`model2vec:` with a tiny model that is made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer import Index
from gossamer.encoders import load_encoder
from gossamer.errors import ModelUnavailableError

pytestmark = pytest.mark.extra
pytest.importorskip("model2vec")

WORDS = ["[UNK]", "fox", "wolf", "bread", "oven", "moon", "star"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: row for row, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vectors = np.repeat(np.eye(4, dtype=np.float32), 2, axis=0)[: len(WORDS)]
    place = tmp_path_factory.mktemp("tiny") / "model"
    StaticModel(vectors, tokenizer).save_pretrained(str(place))
    return place


def test_vectors(folder: Path) -> None:
    encoder = load_encoder(f"model2vec:{folder}")
    found = encoder.encode(["fox wolf", "bread", "nothing known"])
    assert encoder.dim == 4
    assert found.tolist() == [[0.5, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert np.array_equal(encoder.encode(["bread"], kind="query"), found[1:2])


def test_the_fingerprint_is_of_the_content(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in folder.iterdir():
        (moved / file.name).write_bytes(file.read_bytes())
    first, second = (load_encoder(f"model2vec:{place}") for place in (folder, moved))
    assert first.fingerprint == second.fingerprint
    assert first.name == f"model2vec:{folder}"
    (moved / "model.safetensors").write_bytes((moved / "model.safetensors").read_bytes()[:-4] + b"\0\0\1\0")
    assert load_encoder(second.name).fingerprint != first.fingerprint


def test_an_index(folder: Path, tmp_path: Path) -> None:
    texts = ["fox wolf", "bread oven", "moon star"]
    with Index.create(tmp_path / "a.gsm", f"model2vec:{folder}") as ix:
        ix.add(texts)
    with Index.open(tmp_path / "a.gsm", f"model2vec:{folder}") as ix:
        assert ix.search("oven", k=1, hybrid=False)[0].text == "bread oven"


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="could not be loaded"):
        load_encoder(f"model2vec:{tmp_path}").encode(["a"])
