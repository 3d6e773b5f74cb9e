"""Opening an index and fetching the files of its encoder, with progress on the screen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gossamer.cli.screen import Screen
from gossamer.errors import MissingExtraError, NotAnIndexError

if TYPE_CHECKING:
    from gossamer.index import EncoderSpec, Index


@contextmanager
def opened(
    path: Path, screen: Screen, mode: Literal["r", "w"] = "r", encoder: EncoderSpec | None = None
) -> Iterator[Index]:
    """Open the index at `path`, and close it at the end of the block."""
    if not path.exists():
        raise NotAnIndexError(f"there is no index at {path}: make one with: gossamer index FILES --to {path}")
    if path.is_dir() and path.suffix != ".gsm" and not is_index(path):
        raise NotAnIndexError(f"the folder {path} is not an index: {_index_of(path)}")
    with screen.working(f"opening {path.resolve().name}"):
        from gossamer.index import Index

        ix = Index.open(path, encoder, mode=mode)
    with ix:
        yield ix


@contextmanager
def filling(path: Path, screen: Screen, encoder: str | None, *, made: bool) -> Iterator[Index]:
    """The index, to add to. One that was made just now is removed where an error leaves it empty."""
    empty = False
    try:
        with opened(path, screen, "w", encoder) as ix:
            try:
                yield ix
            except BaseException:
                empty = made and not len(ix)
                raise
    finally:
        if empty:
            shutil.rmtree(path)  # else the next run could not choose its encoder


def is_index(path: Path) -> bool:
    """Whether an index is at `path`, sound or not."""
    return (path / "documents.sqlite").exists()


def _index_of(folder: Path) -> str:
    """The name of the index of a folder of documents, or how to make it: notes.gsm beside notes, x.gsm in "."."""
    if folder.name in ("", ".."):  # ".", "..", "/"
        name = folder.resolve().name
        beside = Path(f"{name}.gsm") if name else None
    else:
        beside = folder.with_name(f"{folder.name}.gsm")
    if beside is None:
        return "name one, as in notes.gsm"
    return f"did you mean {beside}?" if beside.exists() else f"make one of it: gossamer index {folder} --to {beside}"


def is_cluster(path: Path) -> bool:
    """Whether there is a cluster at `path`: see `gossamer cluster`."""
    return (path / "cluster.json").is_file()


def prepare_encoder(name: str, screen: Screen) -> None:
    """Fetch the files of an encoder before they are needed, with a progress bar."""
    from gossamer.index import MODELS, is_fetched, pull

    base = name.strip().partition("?")[0]
    if base not in MODELS or is_fetched(base):
        return
    if not (find_spec("onnxruntime") and find_spec("tokenizers")):
        raise MissingExtraError(f"The encoder {base}", "onnx")
    with screen.bar(f"fetching {base}", "bytes") as bar:
        pull(base, progress=bar)
