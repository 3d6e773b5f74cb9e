"""LSA: deterministic, saved without loss, and at ease with tiny corpora and any script."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.array_types import Floats
from gossamer.encoders import LsaEncoder
from gossamer.encoders.lsa import terms, words
from gossamer.errors import CorruptError, EmptyTextError, StateError
from gossamer.files.bundle import Bundle, read_bundle, write_bundle

CORPUS = [
    "The river rose after a week of rain",
    "Heavy rain made the river flood the valley",
    "Snow fell on the mountain pass all night",
    "The mountain road is closed because of snow",
    "Bake the bread until the crust is brown",
    "Knead the dough and let the bread rise before you bake it",
    "The orchestra played a symphony by Mahler",
    "A symphony needs a large orchestra and a patient conductor",
]


def cosines(encoder: LsaEncoder, query: str, texts: list[str]) -> Floats:
    found: Floats = encoder.encode(texts) @ encoder.encode([query], kind="query")[0]
    return found


def test_related_texts_are_nearer() -> None:
    encoder = LsaEncoder().fit(CORPUS)
    for query, best in [("rain and floods in the river valley", {0, 1}), ("how to bake bread", {4, 5})]:
        assert set(np.argsort(-cosines(encoder, query, CORPUS))[:2]) == best


def test_unit_length_float32_and_at_most_the_wanted_dimensions() -> None:
    encoder = LsaEncoder(components=5).fit(CORPUS)
    vectors = encoder.encode(CORPUS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(CORPUS), 5)
    assert encoder.dim == 5
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert encoder.encode([]).shape == (0, 5)


def test_full_rank_keeps_the_cosines_of_tfidf() -> None:
    """With as many components as texts nothing is lost, so the angles are those of TF-IDF itself."""
    seen = [Counter(terms(text)) for text in CORPUS]
    vocabulary = sorted({term for counts in seen for term in counts})
    idf = [math.log((1 + len(CORPUS)) / (1 + sum(term in counts for counts in seen))) + 1 for term in vocabulary]
    tfidf = np.array(
        [
            [
                (1 + math.log(counts[term])) * weight**2 if term in counts else 0
                for term, weight in zip(vocabulary, idf, strict=True)
            ]
            for counts in seen
        ]
    )
    tfidf /= np.linalg.norm(tfidf, axis=1, keepdims=True)
    vectors = LsaEncoder().fit(CORPUS).encode(CORPUS)
    np.testing.assert_allclose(vectors @ vectors.T, tfidf @ tfidf.T, atol=0.01)  # axes are rounded


def test_the_same_corpus_gives_the_same_encoder() -> None:
    one, two = LsaEncoder(components=4).fit(CORPUS), LsaEncoder(components=4).fit(CORPUS)
    assert one.fingerprint == two.fingerprint
    np.testing.assert_array_equal(one.encode(CORPUS), two.encode(CORPUS))


def test_fingerprint_changes_with_settings_and_corpus() -> None:
    prints = {
        LsaEncoder().fingerprint,
        LsaEncoder(components=4).fingerprint,
        LsaEncoder().fit(CORPUS).fingerprint,
        LsaEncoder().fit(CORPUS[:5]).fingerprint,
        LsaEncoder(stop_words="english").fit(CORPUS).fingerprint,
    }
    assert len(prints) == 5


def test_a_vector_does_not_depend_on_what_is_encoded_beside() -> None:
    encoder = LsaEncoder().fit(CORPUS)
    together = encoder.encode(CORPUS)
    for row, text in enumerate(CORPUS):
        np.testing.assert_array_equal(encoder.encode([text])[0], together[row])


def test_save_and_load_is_identity(tmp_path: Path) -> None:
    encoder = LsaEncoder(components=6, stop_words="english", seed=7).fit([*CORPUS, "東京 に 雪が降る"])
    write_bundle(tmp_path / "lsa", "lsa", encoder.state())
    again = LsaEncoder.from_state(read_bundle(tmp_path / "lsa", "lsa"))
    texts = [*CORPUS, "snow in 東京", "nothing known"]
    np.testing.assert_array_equal(again.encode(texts), encoder.encode(texts))
    assert (again.fingerprint, again.name, again.dim) == (encoder.fingerprint, encoder.name, encoder.dim)


def test_states_of_earlier_versions_are_read() -> None:
    state = LsaEncoder().fit(CORPUS).state()
    exact = np.random.default_rng(0).normal(size=state.arrays["axes"].shape).astype(np.float32)
    exact /= np.linalg.norm(exact, axis=0)
    older = {**{name: array for name, array in state.arrays.items() if name != "scales"}, "axes": exact}
    encoder = LsaEncoder.from_state(Bundle(state.params, older))
    again = LsaEncoder.from_state(encoder.state())
    assert again.fingerprint == encoder.fingerprint
    np.testing.assert_array_equal(again.encode(CORPUS), encoder.encode(CORPUS))
    with pytest.raises(CorruptError, match="'axes' holds values from"):
        LsaEncoder.from_state(Bundle(state.params, {**older, "axes": exact * np.float32(1e30)}))


def test_a_number_of_the_axes_takes_a_byte() -> None:
    arrays = LsaEncoder().fit([f"text {i} about subject{i % 40} and matter{i % 30}" for i in range(300)]).state().arrays
    assert arrays["axes"].nbytes == arrays["axes"].size
    words = bytes(arrays["vocabulary"]).decode().split("\n")
    assert "text 17" not in words  # a pair that occurs once
    assert "about subject7" in words
    assert "17" in words


def test_texts_that_share_nearly_all_their_words() -> None:
    """In a large corpus each of these words is a stop word: in over a fifth of the texts."""
    form = [f"report on {('sales', 'stock', 'staff')[i % 3]} for the quarter" for i in range(1_500)]
    encoder = LsaEncoder().fit(form)
    assert int(np.argmax(encoder.encode(form[:3]) @ encoder.encode(["sales"])[0])) == 0


def test_a_state_that_does_not_fit_together_is_refused() -> None:
    state = LsaEncoder().fit(CORPUS).state()
    with pytest.raises(CorruptError, match="saved array 'idf' has dtype float32 and shape"):
        LsaEncoder.from_state(Bundle(state.params, {**state.arrays, "idf": state.arrays["idf"][1:]}))


def _twice(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    words = array.tobytes().split(b"\n")
    return np.frombuffer(b"\n".join([words[1], *words[1:]]), np.uint8)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("idf", lambda array: array.astype(np.float64), "'idf' has dtype float64"),
        ("idf", lambda array: array[:, None], "'idf' has dtype float32 and shape"),
        ("axes", lambda array: array.ravel(), "'axes' has dtype int8 and shape"),
        ("axes", lambda array: array[:, :0], "0 axes"),
        ("axes", lambda array: np.tile(array, 100), "where 1 to 256 are possible"),
        ("axes", lambda array: array.astype(np.float32), "'axes' has dtype float32"),
        ("scales", lambda array: array * np.float32(np.nan), "'scales' holds values from nan"),
        ("scales", lambda array: array * np.float32(1e30), "'scales' holds values from"),
        ("scales", lambda array: array[1:], "'scales' has dtype float32 and shape"),
        ("idf", lambda array: array * np.float32(np.inf), "'idf' holds values from inf"),
        ("idf", lambda array: -array, "'idf' holds values from -"),
        ("vocabulary", lambda array: array[:0], "'idf' has dtype float32 and shape"),
        ("vocabulary", _twice, "different words for"),
        ("vocabulary", lambda array: np.full_like(array, 0xFF), "cannot be understood"),
        ("stop", lambda array: array.astype(np.int64), "'stop' has dtype int64"),
    ],
)
def test_a_state_from_a_stranger_is_checked(name: str, change: Callable[[Any], Any], message: str) -> None:
    state = LsaEncoder().fit(CORPUS).state()
    with pytest.raises(CorruptError, match=message):
        LsaEncoder.from_state(Bundle(state.params, {**state.arrays, name: change(state.arrays[name])}))


@pytest.mark.parametrize("params", [[1], None, {"components": "x"}, {"seed": -1}, {"seed": 2**32}, {"path": "/etc"}])
def test_settings_from_a_stranger_are_checked(params: Any) -> None:
    state = LsaEncoder().fit(CORPUS).state()
    with pytest.raises(CorruptError, match="cannot be understood"):
        LsaEncoder.from_state(Bundle(params, state.arrays))


def test_unknown_words_give_the_zero_vector() -> None:
    encoder = LsaEncoder().fit(CORPUS)
    vectors = encoder.encode(["xylophone quokka", "?!", "river xylophone"])
    assert not vectors[:2].any()
    assert np.linalg.norm(vectors[2]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("texts", [["one single text"], ["one", "two"], ["same same"] * 5, ["a", "a b", "a b c"]])
def test_tiny_corpora(texts: list[str]) -> None:
    encoder = LsaEncoder().fit(texts)
    assert 1 <= encoder.dim <= len(set(texts))
    vectors = encoder.encode(texts)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_cjk_is_compared_by_characters() -> None:
    corpus = ["東京は日本の首都です", "京都は古い都です", "今日は雨が降っています", "明日も雨でしょう"]
    encoder = LsaEncoder().fit(corpus)
    assert int(np.argmax(cosines(encoder, "日本の首都", corpus))) == 0
    assert set(np.argsort(-cosines(encoder, "雨が降る", corpus))[:2]) == {2, 3}


def test_frequent_words_of_a_large_corpus_are_stop_words_in_any_language() -> None:
    many = [f"что такое предмет{i % 100}" for i in range(1_000)]
    encoder = LsaEncoder(components=100).fit(many)
    vectors = encoder.encode(["что такое", "предмет7", "что такое предмет7"])
    assert not vectors[0].any()
    np.testing.assert_allclose(vectors[1], vectors[2], atol=1e-6)
    again = LsaEncoder.from_state(encoder.state())
    assert not again.encode(["что такое"]).any()
    assert LsaEncoder(components=100, stop_words="none").fit(many).encode(["что такое"]).any()


def test_stop_words_are_left_out() -> None:
    encoder = LsaEncoder(stop_words="english").fit(CORPUS)
    assert not encoder.encode(["the and of"]).any()
    assert LsaEncoder().fit(CORPUS).encode(["the and of"]).any()


def test_large_corpora_drop_terms_seen_once_unless_nothing_is_left() -> None:
    many = [f"document about topic{i % 10} numbered n{i}" for i in range(1_000)]
    assert not LsaEncoder(components=8).fit(many).encode(["n17"]).any()
    lonely = [f"n{i}" for i in range(1_000)]
    assert LsaEncoder(components=8).fit(lonely).dim == 8


def test_before_fit() -> None:
    encoder = LsaEncoder()
    assert not encoder.fitted
    actions: list[Callable[[], object]] = [lambda: encoder.encode(["a"]), lambda: encoder.dim, encoder.state]
    for action in actions:
        with pytest.raises(StateError, match="call fit"):
            action()
    assert encoder.fit(["a"]).fitted


@pytest.mark.parametrize("texts", [[], ["?!", "..."]])
def test_nothing_to_learn_from(texts: list[str]) -> None:
    encoder = LsaEncoder()
    with pytest.raises(EmptyTextError, match=r"no texts|holds a word"):
        encoder.fit(texts)
    assert not encoder.fitted


def test_progress_reaches_the_end() -> None:
    encoder = LsaEncoder().fit(CORPUS)
    heard: list[tuple[int, int]] = []
    encoder.encode(CORPUS * 300, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(2_048, 2_400), (2_400, 2_400)]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=8))
def test_any_text_gives_finite_vectors_of_length_one_or_zero(texts: list[str]) -> None:
    encoder = LsaEncoder().fit([*texts, "a word"])
    lengths = np.linalg.norm(encoder.encode(texts), axis=1)
    assert (np.isclose(lengths, 1, atol=1e-4) | (lengths == 0)).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("snake_case and C++", ["snake", "case", "and", "c"]),
        ("Straße", ["strasse"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # vowel signs are marks, which \w does not match
        ("한국어 문장", ["한국어", "문장"]),
        ("ｶﾀｶﾅ", ["カ", "タ", "カ", "ナ"]),
        ("iPhone発売", ["iphone", "発", "売"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("…!?", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_terms_are_words_and_pairs() -> None:
    assert terms("東京都") == ["東", "京", "都", "東 京", "京 都"]
    assert terms("a") == ["a"]
    assert terms("the the", stop={"the"}) == []
