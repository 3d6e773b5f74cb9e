"""Another encoder for an index: nothing waits, a stopped run goes on, the result is that of a new index."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from bag import encode, sentence
from gossamer import Index
from gossamer.array_types import Floats
from gossamer.encoders import Kind, Progress
from gossamer.errors import EncoderMismatchError, ReadOnlyError

QUESTIONS = ["sun and moon", "the wolf ate bread", "milk"]


class Short:
    """An encoder of fewer dimensions, with a name of its own, that counts what it encodes."""

    name, fingerprint, dim = "short", "short-1", 16

    def __init__(self, before: Callable[[int], None] = lambda encoded: None) -> None:
        self.encoded, self.before = 0, before

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        self.before(self.encoded)
        self.encoded += len(texts)
        return np.ascontiguousarray(encode(list(texts))[:, : self.dim])


def texts(count: int, seed: int = 0) -> list[str]:
    words = random.Random(seed)
    made = [f"{sentence(words)} {at}" for at in range(count)]
    made[3] = ". ".join(f"{sentence(words)} and {at}" for at in range(120))  # of several passages
    return made


def same(index: Index, other: Index) -> None:
    index.check()
    assert sorted(index.ids()) == sorted(other.ids())
    for question in QUESTIONS:
        assert [(hit.id, hit.score) for hit in index.search(question)] == [
            (hit.id, hit.score) for hit in other.search(question)
        ]


@pytest.mark.parametrize("on_disk", [False, True])
def test_the_index_is_that_of_the_new_encoder(on_disk: bool, tmp_path: Path) -> None:
    some, told = texts(700), []
    with Index.create(tmp_path / "a.gsm", encode) if on_disk else Index(encode) as index, Index(Short()) as fresh:
        index.add(some, [str(at) for at in range(700)], [{"at": at} for at in range(700)])
        fresh.add(some, [str(at) for at in range(700)])
        index.rename_concept(index.concepts(1)[1].id, "kept")
        assert index.reencode(Short(), progress=lambda done, total: told.append((done, total))) > 700
        assert told[-1][0] == told[-1][1] > 700
        same(index, fresh)
        assert index.get("5").metadata == {"at": 5}
        assert index.info().encoder == "short"
        assert index.info().dim == 16
        index.add(["one more moon"], ["more"])
        fresh.add(["one more moon"], ["more"])
        same(index, fresh)
        if on_disk:
            assert not list((tmp_path / "a.gsm").glob("encoded-*"))
            with pytest.raises(EncoderMismatchError):
                Index.open(tmp_path / "a.gsm", encode, mode="r")
            with Index.open(tmp_path / "a.gsm", Short(), mode="r") as reader:
                same(reader, fresh)


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    def stop(encoded: int) -> None:
        if encoded >= 500:
            raise KeyboardInterrupt

    with Index.create(tmp_path / "a.gsm", encode) as index, Index(encode) as old:
        for each in (index, old):
            each.add(texts(700), [str(at) for at in range(700)])
        with pytest.raises(KeyboardInterrupt):
            index.reencode(Short(stop))
        same(index, old)
    with Index.open(tmp_path / "a.gsm", encode) as index:
        assert len(list((tmp_path / "a.gsm").glob("encoded-*"))) == 1
        encoder = Short()
        index.reencode(encoder)
        assert encoder.encoded < 300
        assert index.reencode(Short()) == 0, "it has this encoder already"


def test_it_can_be_changed_meanwhile(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", encode) as index, Index(Short()) as fresh:
        index.add(texts(300), [str(at) for at in range(300)])

        def change(encoded: int) -> None:
            if not encoded:
                index.add(["a late moon"], ["late"])
                index.delete(["7"])
                assert index.search("late moon", 1)[0].id == "late"

        index.reencode(Short(change))
        fresh.add([*texts(300), "a late moon"], [*(str(at) for at in range(300)), "late"])
        fresh.delete(["7"])
        same(index, fresh)


def test_from_and_to_an_encoder_that_learns(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", "lsa") as index:
        index.add(texts(200), [str(at) for at in range(200)])
        index.reencode(encode)
        before = [hit.id for hit in index.search("sun and moon")]
        index.reencode("lsa")
        index.reencode(encode)
        assert [hit.id for hit in index.search("sun and moon")] == before
        index.reencode("lsa")
        reader = Index.open(tmp_path / "a.gsm", mode="r")
        assert reader.search("moon") == index.search("moon")
    reader.close()
    with Index.open(tmp_path / "a.gsm") as index:
        index.check()
        assert index.info().encoder == "lsa"


def test_a_reader_beside_it_goes_on(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", encode) as index:
        index.add(texts(200), [str(at) for at in range(200)])
        with Index.open(tmp_path / "a.gsm", encode, mode="r") as reader:
            reader.search("moon")
            index.reencode("lsa")
            assert reader.search("moon") == index.search("moon")
            with pytest.raises(ReadOnlyError):
                reader.reencode("lsa")


def test_an_empty_index() -> None:
    for first, second in ((encode, "lsa"), ("lsa", encode), (encode, Short())):
        with Index(first) as index:
            assert index.reencode(second) == 0
            index.add(["the moon", "a wolf", "some bread"])
            assert index.search("moon", 1)[0].text == "the moon"
