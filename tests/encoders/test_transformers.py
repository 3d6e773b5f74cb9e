"""hf: on real, tiny models: pooled as by hand, and padding changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoders.tiny import TEXTS, save_gguf, save_model, save_tokenizer
from gossamer.encoders import load_encoder
from gossamer.encoders import transformers as module
from gossamer.errors import MissingExtraError, ModelUnavailableError, ParameterError

# Imported by the tests that use them, not here: it takes seconds, and every worker collects every file.
pytestmark = [
    pytest.mark.extra,
    pytest.mark.skipif(not (find_spec("torch") and find_spec("transformers")), reason="needs the extra hf"),
]

KINDS = ("bert", "roberta", "gpt2", "t5")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {kind: save_model(root / kind, kind) for kind in KINDS}


def states_by_hand(folder: Path, kind: str, text: str) -> list[Any]:
    """The hidden states (layers + 1 of tokens × dim) of one text, alone and without padding."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if kind == "t5":
        model = transformers.T5Model.from_pretrained(folder).get_encoder()
    else:
        model = transformers.AutoModel.from_pretrained(folder)
    with torch.inference_mode():
        out = model.eval()(**tokenizer([text], return_tensors="pt"), output_hidden_states=True)
    return [layer[0].numpy() for layer in out.hidden_states]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer", [-1, -2, 0, 2])
def test_pooling_is_what_a_hand_computes(folders: dict[str, Path], kind: str, layer: int) -> None:
    hand = {text: states_by_hand(folders[kind], kind, text)[layer] for text in TEXTS}
    pools: dict[str, Callable[[Any], Any]] = {
        "mean": lambda states: states.mean(0),
        "cls": lambda states: states[0],
        "last": lambda states: states[-1],
    }
    for pool, by_hand in pools.items():
        encoder = load_encoder(f"hf:{folders[kind]}?pool={pool}&layer={layer}")
        vectors = encoder.encode(TEXTS)
        assert vectors.dtype == np.float32
        assert encoder.dim == vectors.shape[1] == 16
        np.testing.assert_allclose(vectors, [by_hand(hand[text]) for text in TEXTS], atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pool", ["mean", "cls", "last"])
def test_padding_batches_and_order_change_nothing(folders: dict[str, Path], kind: str, pool: str) -> None:
    many = TEXTS * 5
    alone = load_encoder(f"hf:{folders[kind]}?pool={pool}&batch_size=1").encode(many)
    for size in (2, 7, 32):
        together = load_encoder(f"hf:{folders[kind]}?pool={pool}&batch_size={size}").encode(many)
        np.testing.assert_allclose(together, alone, atol=2e-6)
    assert np.ptp(alone[: len(TEXTS)], axis=0).max() > 0.1, "different texts must differ for this to mean anything"


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_last_is_the_last_true_token_whatever_side_is_padded(
    folders: dict[str, Path], kind: str, side: str, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer

    shutil.copytree(folders[kind], tmp_path / "model")
    save_tokenizer(tmp_path / "model", padding=kind != "gpt2", side=side)
    assert AutoTokenizer.from_pretrained(tmp_path / "model").padding_side == side
    vectors = load_encoder(f"hf:{tmp_path / 'model'}?pool=last").encode(TEXTS)
    hand = [states_by_hand(tmp_path / "model", kind, text)[-1][-1] for text in TEXTS]
    np.testing.assert_allclose(vectors, hand, atol=2e-6)


@pytest.mark.parametrize(("kind", "most"), [("bert", 32), ("roberta", 11), ("gpt2", 32), ("t5", 32)])
def test_long_texts_are_cut_to_the_models_length(folders: dict[str, Path], kind: str, most: int) -> None:
    """RoBERTa counts its positions from after the padding token's number: of 12 there are 11 to use."""
    encoder = load_encoder(f"hf:{folders[kind]}")
    long, cut = encoder.encode(["whale " * 100, "whale " * most])
    np.testing.assert_allclose(long, cut, atol=1e-6)
    short = load_encoder(f"hf:{folders[kind]}?max_tokens=2").encode(["whale fox sea", "whale fox"])
    np.testing.assert_allclose(short[0], short[1], atol=1e-6)


def test_the_decoder_of_an_encoder_decoder_is_not_loaded(folders: dict[str, Path]) -> None:
    encoder = module.TransformersEncoder(str(folders["t5"]))
    assert not hasattr(encoder._loaded().model, "decoder")


def test_no_texts_a_text_without_tokens_and_progress(folders: dict[str, Path], tmp_path: Path) -> None:
    encoder = load_encoder(f"hf:{folders['bert']}?batch_size=3")
    assert encoder.encode([]).shape == (0, 16)
    assert np.isfinite(encoder.encode(["\u200b", "red fox"])).all()
    heard: list[tuple[int, int]] = []
    encoder.encode(TEXTS, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(3, 4), (4, 4)]


def test_half_precision_files_are_run_in_full(folders: dict[str, Path], tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel

    half = AutoModel.from_pretrained(folders["bert"]).to(torch.bfloat16)
    half.save_pretrained(tmp_path / "half")
    half.float().save_pretrained(tmp_path / "full")  # the same rounded weights
    for name in ("half", "full"):
        save_tokenizer(tmp_path / name)
    vectors = load_encoder(f"hf:{tmp_path / 'half'}").encode(TEXTS)
    hand = [states_by_hand(tmp_path / "full", "bert", text)[-1].mean(0) for text in TEXTS]
    np.testing.assert_allclose(vectors, hand, atol=2e-6)


def test_name_and_fingerprint(folders: dict[str, Path], tmp_path: Path) -> None:
    plain = load_encoder(f"hf:{folders['bert']}")
    assert plain.name == f"hf:{folders['bert']}"
    chosen = load_encoder(f"hf:{folders['bert']}?layer=-2&pool=cls&batch_size=4")
    assert chosen.name == f"hf:{folders['bert']}?pool=cls&layer=-2"
    assert load_encoder(chosen.name).fingerprint == chosen.fingerprint != plain.fingerprint
    moved = tmp_path / "moved"
    shutil.copytree(folders["bert"], moved)
    assert load_encoder(f"hf:{moved}").fingerprint == plain.fingerprint
    weights = moved / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    assert load_encoder(f"hf:{moved}").fingerprint != plain.fingerprint


def test_prompts_by_the_name_of_the_folder(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["bert"], tmp_path / "e5-tiny")
    e5, plain = load_encoder(f"hf:{tmp_path / 'e5-tiny'}"), load_encoder(f"hf:{folders['bert']}")
    np.testing.assert_allclose(e5.encode(["fox"], kind="query"), plain.encode(["query: fox"]), atol=1e-6)
    np.testing.assert_allclose(e5.encode(["fox"]), plain.encode(["passage: fox"]), atol=1e-6)
    assert e5.fingerprint != plain.fingerprint, "the same files, but other vectors"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("layer=3", "layer must be from -3 to 2"),
        ("layer=-4", "layer must be from -3 to 2"),
        ("pool=max", "pool must be one of 'mean', 'cls', 'last'"),
        ("max_tokens=0", "max_tokens must be at least 1"),
    ],
)
def test_wrong_options(folders: dict[str, Path], options: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        _ = load_encoder(f"hf:{folders['bert']}?{options}").dim


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    for name in ("nobody/no-such-model", str(tmp_path)):
        with pytest.raises(ModelUnavailableError, match='encoder="lsa"'):
            load_encoder(f"hf:{name}").encode(["a"])


class TestGguf:
    """GGUF files, through transformers' own reader."""

    def test_by_file_and_by_folder(self, tmp_path: Path) -> None:
        pytest.importorskip("gguf", reason="needs the extra gguf")
        pytest.importorskip("accelerate", reason="needs the extra gguf")
        file = save_gguf(tmp_path / "tiny.gguf")
        encoder = load_encoder(f"hf:{file}?pool=last")
        vectors = encoder.encode(TEXTS)
        assert vectors.shape == (len(TEXTS), 16)
        for row, text in enumerate(TEXTS):
            np.testing.assert_allclose(encoder.encode([text])[0], vectors[row], atol=2e-6)
        assert np.abs(vectors[0] - vectors[2]).max() > 0.1
        named = load_encoder(f"hf:{tmp_path}?pool=last&gguf=tiny.gguf")
        np.testing.assert_array_equal(named.encode(TEXTS), vectors)
        assert named.name == f"hf:{tmp_path}?pool=last&gguf=tiny.gguf"

    def test_a_missing_reader_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "find_spec", lambda name: None if name == "gguf" else object())
        with pytest.raises(MissingExtraError, match=r'pip install "gossamer\[gguf\]"'):
            load_encoder(f"hf:{tmp_path}?gguf=tiny.gguf")
