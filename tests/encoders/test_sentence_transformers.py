"""st: on a real, tiny sentence-transformers model saved to a folder."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoders.tiny import TEXTS, save_model
from gossamer.encoders import load_encoder
from gossamer.errors import ModelUnavailableError

# Imported by the tests that use it, not here: it takes six seconds, and every worker collects every file.
pytestmark = [
    pytest.mark.extra,
    pytest.mark.skipif(not (find_spec("torch") and find_spec("sentence_transformers")), reason="needs the extra st"),
]


def model_of(folder: Path, **options: Any) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), **options)


def save(folder: Path, prompts: dict[str, str] | None = None) -> Path:
    """A plain BERT gets mean pooling when it is opened; saved again, it is a sentence-transformers model."""
    bert = save_model(folder.parent / f"{folder.name}-bert", "bert")
    model_of(bert, prompts=prompts, device="cpu").save(str(folder), create_model_card=False)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("st") / "plain")


def test_vectors_are_the_models_own(folder: Path) -> None:
    encoder = load_encoder(f"st:{folder}")
    assert encoder.dim == 16
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, model_of(folder).encode(TEXTS), atol=1e-6)
    np.testing.assert_allclose(vectors, load_encoder(f"hf:{folder}").encode(TEXTS), atol=2e-6)
    assert encoder.encode([]).shape == (0, 16)


def test_batches_order_and_progress(folder: Path) -> None:
    encoder = load_encoder(f"st:{folder}?batch_size=2")
    heard: list[tuple[int, int]] = []
    many = TEXTS * 10
    vectors = encoder.encode(many, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(32, 40), (40, 40)]
    for row in (0, 1, 33):
        np.testing.assert_allclose(encoder.encode([many[row]])[0], vectors[row], atol=2e-6)


@pytest.mark.parametrize("document", ["document", "passage"])
def test_prompts_the_model_defines(document: str, folder: Path, tmp_path: Path) -> None:
    prompted = load_encoder(f"st:{save(tmp_path / 'prompted', {'query': 'red ', document: 'deep blue '})}")
    plain = load_encoder(f"st:{folder}")
    np.testing.assert_allclose(prompted.encode(["fox"], kind="query"), plain.encode(["red fox"]), atol=1e-6)
    np.testing.assert_allclose(prompted.encode(["fox"]), plain.encode(["deep blue fox"]), atol=1e-6)


def test_prompts_by_name_where_the_model_defines_none(folder: Path, tmp_path: Path) -> None:
    e5, plain = load_encoder(f"st:{save(tmp_path / 'e5-tiny')}"), load_encoder(f"st:{folder}")
    np.testing.assert_allclose(e5.encode(["fox"], kind="query"), plain.encode(["query: fox"]), atol=1e-6)
    np.testing.assert_allclose(e5.encode(["fox"]), plain.encode(["passage: fox"]), atol=1e-6)


def test_name_and_fingerprint(folder: Path) -> None:
    encoder = load_encoder(f"st:{folder}?batch_size=4")
    assert encoder.name == f"st:{folder}"
    assert load_encoder(encoder.name).fingerprint == encoder.fingerprint
    assert load_encoder("st:all-mpnet-base-v2").fingerprint != encoder.fingerprint


def test_a_model_that_is_not_there() -> None:
    with pytest.raises(ModelUnavailableError, match='encoder="lsa"'):
        load_encoder("st:nobody/no-such-model").encode(["a"])


def test_a_loaded_model_is_taken_as_it_is(folder: Path) -> None:
    model = model_of(folder)
    np.testing.assert_allclose(load_encoder(model).encode(TEXTS), load_encoder(f"st:{folder}").encode(TEXTS), atol=1e-6)
