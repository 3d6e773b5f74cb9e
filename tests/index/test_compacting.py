"""Compaction gives back what deletions left, and with `erase` leaves nothing of a deleted text in any file."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer import Index
from gossamer.array_types import Floats
from gossamer.errors import LockedError, ReadOnlyError
from gossamer.store import Store

SECRETS = ("xylophonist", "Zanzibarwort", "kumquatvault", "hiddenid")
TOPICS = ("wolves hunt deer in winter", "bakers knead bread at dawn", "rivers carry silt to the sea")


def letters(texts: list[str]) -> Floats:
    return np.array([[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts], np.float32)


def filled(path: Path, encoder: Any = letters, n: int = 300) -> Index:
    index = Index.create(path, encoder)
    texts = [f"{TOPICS[at % 3]} number {at}" for at in range(n)]
    metadata = [{"at": at} for at in range(n)]
    index.add(texts, [f"d{at}" for at in range(n)], metadata)
    secret = f"the {SECRETS[0]} wolves hunt near the {SECRETS[0]}"
    index.add([secret] * 5, [f"{SECRETS[3]}{at}" for at in range(5)], [{"title": SECRETS[1], "key": SECRETS[2]}] * 5)
    index.settle()
    return index


def held_in(folder: Path, what: str) -> list[str]:
    """The files that hold a text, in whatever case, labels unpacked."""
    found = []
    for file in folder.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            if file.name in ("labels", ".labels"):
                at = content.index(b"\x78\x01") if b"\x78\x01" in content else len(content)
                content += zlib.decompress(content[at:]) if at < len(content) else b""
            if what.lower().encode() in content.lower():
                found.append(str(file.relative_to(folder)))
    return found


def everything(index: Index) -> tuple[list[str], list[str]]:
    found = index.search("wolves hunt deer", 20)
    return sorted(index.ids()), sorted(hit.id for hit in found)


def test_space_is_given_back(tmp_path: Path) -> None:
    with filled(tmp_path / "a.gsm", n=1500) as index:
        index.delete([f"d{at}" for at in range(1000)])
        before = everything(index)
        assert index.info().disk["documents"] > 0
        done = index.compact()
        assert done.bytes < 0.7 * done.bytes_before
        assert not done.erased
        assert index.info().disk["free in documents"] == 0
        assert len(index.info().snapshots) == 1
        assert everything(index) == before
        again = index.compact()
        assert again.bytes <= again.bytes_before
        index.check()
    with Index.open(tmp_path / "a.gsm", letters) as index:
        assert everything(index) == before
        index.check()
        assert index.add(["a new wolf"], ["new"]) == ["new"]


@pytest.mark.parametrize("encoder", [letters, "lsa"])
def test_nothing_of_a_deleted_text_is_left(tmp_path: Path, encoder: Any) -> None:
    folder = tmp_path / "a.gsm"
    with filled(folder, encoder) as index:
        index.labels()
        index.update("d1", {"note": SECRETS[2] + "too"})
        index.update("d1", {"note": None})
        index.delete([f"{SECRETS[3]}{at}" for at in range(5)])
        assert held_in(folder, SECRETS[0]), "else nothing is tested here"
        done = index.compact(erase=True)
        assert done.erased
        for secret in SECRETS:
            assert held_in(folder, secret) == []
        index.check()
        assert len(index) == 300
    for secret in SECRETS:
        assert held_in(folder, secret) == []
    with Index.open(folder, encoder) as index:
        index.check()
        assert index.search("wolves", 3)


def test_nothing_is_left_of_all_documents(tmp_path: Path) -> None:
    folder = tmp_path / "a.gsm"
    with filled(folder) as index:
        index.delete(index.ids())
        index.compact(erase=True)
        assert held_in(folder, SECRETS[0]) == held_in(folder, "knead") == []
    with Index.open(folder, letters) as index:
        assert len(index) == 0
        index.add(["wolves again"])
        assert len(index.search("wolves")) == 1
        index.check()


def test_a_reader_elsewhere_keeps_old_pages_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.store.store._VACUUM_WAIT", 0.05)
    with filled(tmp_path / "a.gsm") as index, Index.open(tmp_path / "a.gsm", letters, mode="r") as reader:
        index.delete([f"{SECRETS[3]}{at}" for at in range(5)])
        with reader.state.reading(), pytest.raises(LockedError, match="erase=True again"):
            index.compact(erase=True)
        assert index.compact(erase=True).erased
        assert held_in(tmp_path / "a.gsm", SECRETS[0]) == []
        assert len(reader) == 300, "and the reader follows"
        with pytest.raises(ReadOnlyError):
            reader.compact()


def test_in_memory(tmp_path: Path) -> None:
    index = Index(letters)
    index.add(["wolves hunt", "bread is baked"], ["a", "b"])
    index.delete("a")
    assert index.compact(erase=True).bytes == 0
    assert [hit.id for hit in index.search("bread")] == ["b"]


def _copied(step: Callable[..., Any], folder: Path, copies: list[Path]) -> Callable[..., Any]:
    """The step, with the folder copied before and after it: what a crash at these moments leaves."""

    def copy() -> None:
        copies.append(folder.with_name(f"copy-{len(copies)}.gsm"))
        subprocess.run(["cp", "-r", folder, copies[-1]], check=True)  # not by this process, see `store.pages`

    def stepped(*arguments: Any, **named: Any) -> Any:
        copy()
        found = step(*arguments, **named)
        copy()
        return found

    return stepped


@pytest.mark.parametrize("erase", [False, True])
def test_a_crash_at_any_step_leaves_a_whole_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, erase: bool) -> None:
    folder = tmp_path / "a.gsm"
    copies: list[Path] = []
    with filled(folder) as index:
        index.delete([f"d{at}" for at in range(0, 300, 2)])
        expected = sorted(index.ids())
        for name in ("write_snapshot", "remove_snapshots", "remove_derived", "drop_history", "_checkpoint"):
            monkeypatch.setattr(Store, name, _copied(getattr(Store, name), folder, copies))
        monkeypatch.setattr(
            "gossamer.store.database.Database.vacuum",
            _copied(index.state.store.database.__class__.vacuum, folder, copies),
        )
        index.compact(erase=erase)
        monkeypatch.undo()
    assert len(copies) >= 10
    for copy in copies:
        with Index.open(copy, letters) as index:
            assert sorted(index.ids()) == expected
            assert index.search("wolves hunt deer", 3)
            index.check()
