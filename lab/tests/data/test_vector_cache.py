"""The cache: nothing is encoded twice, nothing is mixed up, and it stays within its bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gossamer.encoders import CallableEncoder, LsaEncoder
from gossamer.errors import DiskError, EmptyTextError, ParameterError
from gossamer_lab.data.vector_cache import CachedEncoder, SqliteStore


class Counting:
    """An encoder that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: list[str], kind: str) -> list[list[int]]:
        self.asked.append(list(texts))
        return [[len(text), ord(text[0]), kind == "query"] for text in texts]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    kept = SqliteStore(tmp_path / "vectors.sqlite", most=5)
    yield kept
    kept.close()


def test_each_text_is_encoded_once(store: SqliteStore) -> None:
    inner = Counting()
    plain = CallableEncoder(Counting(), name="c")
    cached = CachedEncoder(CallableEncoder(inner, name="c"), store)
    texts = ["b", "aa", "b", "ccc"]
    for _ in range(2):
        np.testing.assert_array_equal(cached.encode(texts), plain.encode(texts))
    cached.encode(["aa", "d"])
    assert inner.asked == [["b", "aa", "ccc"], ["d"]]
    assert (cached.dim, cached.name, cached.fingerprint) == (plain.dim, plain.name, plain.fingerprint)


def test_kinds_and_encoders_are_kept_apart(store: SqliteStore) -> None:
    first, second = Counting(), Counting()
    cached = CachedEncoder(CallableEncoder(first, name="one"), store)
    assert cached.encode(["a"])[0, 2] == 0
    assert cached.encode(["a"], kind="query")[0, 2] == 1
    CachedEncoder(CallableEncoder(second, name="two"), store).encode(["a"])
    assert (len(first.asked), len(second.asked)) == (2, 1)


def test_the_bound_holds_and_the_oldest_go(store: SqliteStore) -> None:
    inner = Counting()
    cached = CachedEncoder(CallableEncoder(inner, name="c"), store)
    vectors = cached.encode(list("abcdefgh"))
    assert vectors.shape == (8, 3)
    assert len(store) == 5
    cached.encode(["h", "a"])
    assert inner.asked[-1] == ["a"]


def test_a_file_outlives_the_process(tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite"
    inner = Counting()
    for _ in range(2):
        kept = SqliteStore(file)
        CachedEncoder(CallableEncoder(inner, name="c"), kept).encode([f"text {i}" for i in range(1_200)])
        assert len(kept) == 1_200
        kept.close()
    assert len(inner.asked) == 1


def test_an_encoder_fitted_again_never_gets_its_old_vectors(store: SqliteStore) -> None:
    lsa = LsaEncoder(components=1)
    cached = CachedEncoder(lsa.fit(["red fox", "blue whale"]), store)
    cached.encode(["red"])
    lsa.fit(["blue whale song", "whale"])
    assert not cached.encode(["red"]).any()


def test_an_unnamed_function_may_not_share_a_store(store: SqliteStore) -> None:
    with pytest.raises(ParameterError, match="name it"):
        CachedEncoder(CallableEncoder(Counting()), store)


def test_no_texts_bad_texts_and_progress(store: SqliteStore) -> None:
    cached = CachedEncoder(CallableEncoder(Counting(), name="c", dim=3), store)
    assert cached.encode([]).shape == (0, 3)
    with pytest.raises(EmptyTextError):
        cached.encode([""])
    heard: list[tuple[int, int]] = []
    for _ in range(2):
        cached.encode(["a", "b"], progress=lambda done, total: heard.append((done, total)))
    assert heard == [(2, 2), (2, 2)]


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to look like a page of one" * 20)
    with pytest.raises(DiskError, match="remove it or choose another"):
        SqliteStore(tmp_path / "notes.txt")
