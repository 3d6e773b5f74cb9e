"""The cache: nothing is encoded twice, nothing is mixed up, and it stays within its bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from gossamer.encoders import CachedEncoder, CallableEncoder, LsaEncoder, MemoryStore, SqliteStore
from gossamer.errors import DiskError, EmptyTextError, ParameterError

Kept: TypeAlias = MemoryStore | SqliteStore


class Counting:
    """An encoder that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: list[str], kind: str) -> list[list[int]]:
        self.asked.append(list(texts))
        return [[len(text), ord(text[0]), kind == "query"] for text in texts]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    if request.param == "memory":
        yield MemoryStore(most=5)
    else:
        kept = SqliteStore(tmp_path / "vectors.sqlite", most=5)
        yield kept
        kept.close()


def test_each_text_is_encoded_once(store: Kept) -> None:
    inner = Counting()
    plain = CallableEncoder(Counting(), name="c")
    cached = CachedEncoder(CallableEncoder(inner, name="c"), store)
    texts = ["b", "aa", "b", "ccc"]
    for _ in range(2):
        np.testing.assert_array_equal(cached.encode(texts), plain.encode(texts))
    cached.encode(["aa", "d"])
    assert inner.asked == [["b", "aa", "ccc"], ["d"]]
    assert (cached.dim, cached.name, cached.fingerprint) == (plain.dim, plain.name, plain.fingerprint)


def test_kinds_and_encoders_are_kept_apart(store: Kept) -> None:
    first, second = Counting(), Counting()
    cached = CachedEncoder(CallableEncoder(first, name="one"), store)
    assert cached.encode(["a"])[0, 2] == 0
    assert cached.encode(["a"], kind="query")[0, 2] == 1
    CachedEncoder(CallableEncoder(second, name="two"), store).encode(["a"])
    assert (len(first.asked), len(second.asked)) == (2, 1)


def test_the_bound_holds_and_the_oldest_go(store: Kept) -> None:
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


def test_a_refitted_encoder_never_meets_its_old_vectors() -> None:
    lsa = LsaEncoder(components=1)
    cached = CachedEncoder(lsa.fit(["red fox", "blue whale"]))
    cached.encode(["red"])
    lsa.fit(["blue whale song", "whale"])
    assert not cached.encode(["red"]).any()


def test_an_unnamed_function_may_not_share_a_store() -> None:
    with pytest.raises(ParameterError, match="name it"):
        CachedEncoder(CallableEncoder(Counting()), MemoryStore())
    CachedEncoder(CallableEncoder(Counting())).encode(["a"])


def test_no_texts_bad_texts_and_progress() -> None:
    cached = CachedEncoder(CallableEncoder(Counting(), dim=3))
    assert cached.encode([]).shape == (0, 3)
    with pytest.raises(EmptyTextError):
        cached.encode([""])
    heard: list[tuple[int, int]] = []
    for _ in range(2):
        cached.encode(["a", "b"], progress=lambda done, total: heard.append((done, total)))
    assert heard == [(2, 2), (2, 2)]


def test_what_is_kept_is_a_copy(store: Kept) -> None:
    """A row of a batch would keep the whole batch in memory, and change with it."""
    batch = np.ones((100, 3), np.float32)
    store.put({b"key": batch[0]})
    batch[:] = 99
    np.testing.assert_array_equal(store.get([b"key"])[b"key"], [1, 1, 1])


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to look like a page of one" * 20)
    with pytest.raises(DiskError, match="remove it or choose another"):
        SqliteStore(tmp_path / "notes.txt")
