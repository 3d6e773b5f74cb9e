"""Batches on their way into an index: one is encoded while another is written, and nothing that was read is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from bag import encode
from gossamer import Index
from gossamer.cli.ingest import EncodeAhead, Ingest, Tally
from gossamer.encoders import CallableEncoder
from gossamer.errors import EncoderError, InputError
from gossamer.readers import Record

WORDS = ("sun", "moon", "river", "wolf", "tree", "gold", "iron", "queen", "silk", "milk")


def records(n: int, first: int = 0) -> list[Record]:
    return [
        Record(f"d{i}", f"{WORDS[i % 10]} and {WORDS[i // 10 % 10]} number {i}", {"at": i}, "here")
        for i in range(first, first + n)
    ]


def ingest(
    ix: Index, rows: Iterator[Record], size: int = 10, report: Callable[[int], None] = lambda seen: None
) -> Tally:
    tally = Tally()
    Ingest(ix, tally).add(rows, size, report)
    return tally


def test_a_batch_is_encoded_while_the_one_before_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = [threading.Event() for _ in range(3)]
    calls: list[int] = []

    def noticing(texts: list[str]) -> Any:
        begun[len(calls)].set()
        calls.append(len(texts))
        return encode(texts)

    real = Index.add
    overlapped: list[bool] = []

    def add(self: Index, *args: Any, **kwargs: Any) -> list[str]:
        written = len(overlapped)
        overlapped.append(written == 2 or begun[written + 1].wait(10))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Index, "add", add)
    with Index(noticing) as ix:
        tally = ingest(ix, iter(records(25)))
        assert ix.ids() == [f"d{i}" for i in range(25)]
        ix.check()
    assert overlapped == [True, True, True]
    assert calls == [10, 10, 5], "nothing was encoded twice"
    assert tally == Tally(added=25)


def test_the_index_is_the_one_that_plain_adding_makes() -> None:
    rows = records(60)
    with Index(encode) as ours, Index(encode) as plain:
        ingest(ours, iter(rows), 20)
        for start in range(0, 60, 20):
            some = rows[start : start + 20]
            plain.add([r.text for r in some], [r.id for r in some], [r.metadata for r in some])
        for query in ("moon and gold", "wolf number 13"):
            assert list(ours.search(query)) == list(plain.search(query))


def test_what_was_read_before_an_error_is_written() -> None:
    def broken() -> Iterator[Record]:
        yield from records(25)
        raise InputError("line 26 is not JSON")

    with Index(encode) as ix:
        with pytest.raises(InputError, match="line 26"):
            ingest(ix, broken())
        assert len(ix) == 20, "whole batches"


def test_an_encoder_that_fails_loses_no_batch_before() -> None:
    def failing(texts: list[str]) -> Any:
        if any("number 15" in text for text in texts):
            raise EncoderError("the model is gone")
        return encode(texts)

    with Index(failing) as ix:
        with pytest.raises(EncoderError, match="gone"):
            ingest(ix, iter(records(40)))
        assert ix.ids() == [f"d{i}" for i in range(10)]


def test_ctrl_c_while_writing_gives_up_what_is_being_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch ahead ends at its next sign of progress, and is not encoded to its end."""
    encoding, interrupted, reached = threading.Event(), threading.Event(), []

    class Slow(CallableEncoder):
        def encode(self, texts: Sequence[str], *, kind: Any = "document", progress: Any = None) -> Any:
            if any("number 10" in text for text in texts):
                encoding.set()
                assert interrupted.wait(10)
                while True:  # as long as nobody says stop
                    progress(1, len(texts))
                    reached.append(1)
            return super().encode(texts, kind=kind, progress=progress)

    real = EncodeAhead.stop

    def leave(self: EncodeAhead) -> None:
        self._stopped = True
        interrupted.set()
        real(self)

    def stop(self: Index, *args: Any, **kwargs: Any) -> list[str]:
        assert encoding.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr(EncodeAhead, "stop", leave)
    with Index(Slow(encode)) as ix:
        with monkeypatch.context() as patch:
            patch.setattr(Index, "add", stop)
            with pytest.raises(KeyboardInterrupt):
                ingest(ix, iter(records(40)))
        assert reached == []
        assert len(ix) == 0
        ix.check()


def test_only_what_has_a_new_text_is_encoded() -> None:
    encoded: list[str] = []

    def noticing(texts: list[str]) -> Any:
        encoded.extend(texts)
        return encode(texts)

    with Index(noticing) as ix:
        ingest(ix, iter(records(12)))
        encoded.clear()
        rows = records(12)
        rows[3] = Record("d3", rows[3].text, {"at": "elsewhere"}, "here")
        rows[5] = Record("d5", "a new text", {"at": 5}, "here")
        assert ingest(ix, iter(rows)) == Tally(replaced=2, unchanged=10)
        assert encoded == ["a new text"]
        assert ix.get("d3").metadata == {"at": "elsewhere"}
        assert ix.get("d5").text == "a new text"


def test_progress_never_goes_back() -> None:
    seen: list[int] = []
    with Index(encode) as ix:
        ingest(ix, iter(records(35)), report=seen.append)
        ingest(ix, iter(records(35)), report=seen[len(seen) :].append)
    assert seen == sorted(seen)
    assert seen[-1] == 35


def test_progress_counts_documents_that_are_unchanged() -> None:
    with Index(encode) as ix:
        ingest(ix, iter(records(35)))
        seen: list[int] = []
        ingest(ix, iter(records(35)), report=seen.append)
    assert seen[:3] == [10, 20, 30]


def test_a_file_that_was_only_touched_is_unchanged() -> None:
    def of_file(modified: str, path: str = "notes/a.md", text: str = "sun and moon") -> Iterator[Record]:
        return iter([Record("a", text, {"at": 1}, "here").with_file({"path": path, "modified": modified})])

    with Index(encode) as ix:
        assert ingest(ix, of_file("2026-01-01T00:00:00+00:00")).added == 1
        assert ingest(ix, of_file("2026-02-02T00:00:00+00:00")).unchanged == 1
        assert ix.get("a").metadata == {"at": 1, "path": "notes/a.md", "modified": "2026-01-01T00:00:00+00:00"}
        assert ingest(ix, of_file("2026-03-03T00:00:00+00:00", text="sun and sea")).replaced == 1
        assert ix.get("a").metadata["modified"] == "2026-03-03T00:00:00+00:00"
        vectors = ix.vectors(["a"])
        assert ingest(ix, of_file("2026-03-03T00:00:00+00:00", "b.md", "sun and sea")).replaced == 1
        assert (ix.vectors(["a"]) == vectors).all()


def test_a_field_of_a_row_called_modified_counts() -> None:
    with Index(encode) as ix:
        ingest(ix, iter([Record("a", "sun", {"modified": "2026-01-01"}, "here")]))
        assert ingest(ix, iter([Record("a", "sun", {"modified": "2026-02-02"}, "here")])).replaced == 1


def test_long_texts_are_added_a_few_at_a_time() -> None:
    long = [Record(f"d{i}", "sun and moon " * 8_000, {"at": i}, "here") for i in range(6)]
    with Index(encode, max_tokens=None) as ix:
        ingest(ix, iter(long), size=500)
        assert ix.info().operation == 2, "so that little is lost when it is stopped"
        assert len(ix) == 6
