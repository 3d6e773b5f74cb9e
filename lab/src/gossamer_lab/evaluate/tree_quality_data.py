"""Labelled collections for the quality of trees: texts, the class that people gave each, and vectors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.array_types import Floats
from gossamer.encoders import CachedEncoder, SqliteStore, is_fitted_encoder, load_encoder
from gossamer.errors import DiskError, InputError
from gossamer_lab.evaluate.datasets import read_jsonl
from gossamer_lab.evaluate.places import data_folder, kept
from gossamer_lab.evaluate.run import Say
from gossamer_lab.evaluate.tree_quality_measures import Numbers

NAMES: Final = ("20newsgroups", "banking77", "bbc_news")
_AT_ONCE: Final = 512
"""Texts encoded between two writes: what Ctrl-C loses."""


@dataclass(frozen=True)
class Labelled:
    """Documents with a class and a vector each."""

    name: str
    texts: tuple[str, ...]
    classes: Numbers
    E: Floats

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(np.unique(self.classes))

    def of(self, places: Numbers) -> Labelled:
        """Some of the documents, in that order."""
        classes = np.unique(self.classes[places], return_inverse=True)[1]
        return Labelled(self.name, tuple(self.texts[i] for i in places), classes, self.E[places])

    def sample(self, most: int, seed: int = 0) -> Labelled:
        """At most so many documents, drawn at random; all of them in order where there are no more."""
        if len(self) <= most:
            return self
        return self.of(np.sort(np.random.default_rng(seed).permutation(len(self))[:most]))


def load(
    name: str, *, folder: Path | None, cache: Path | None, model: str, most: int | None, seed: int, say: Say
) -> Labelled:
    """A collection by its name, or a folder with a corpus.jsonl (or .gz) whose rows have a `text` and a `label`."""
    path = _corpus(name, folder)
    rows = [row for row in read_jsonl(path) if row.get("text") and row.get("label") is not None]
    if not rows:
        raise InputError(f"{path} has no rows with a text and a label: the quality of a tree is measured by labels")
    texts = tuple(f"{row.get('title') or ''} {row['text']}".strip() for row in rows)
    classes = np.unique([str(row["label"]) for row in rows], return_inverse=True)[1].astype(np.int64)
    bare = Labelled(Path(name).name, texts, classes, np.zeros((len(texts), 0), np.float32))
    drawn = bare if most is None else bare.sample(most, seed)
    if drawn.n_classes < 2:
        raise InputError(f"{path} has {drawn.n_classes} class among {len(drawn)} documents: at least 2 are needed")
    return Labelled(drawn.name, drawn.texts, drawn.classes, _encoded(drawn, model, cache, say))


def _corpus(name: str, folder: Path | None) -> Path:
    base = data_folder(folder) / "data" / name if name in NAMES else Path(name).expanduser()
    for file in (base / "corpus.jsonl.gz", base / "corpus.jsonl"):
        if file.is_file():
            return file
    raise DiskError(
        f"there is no corpus.jsonl or corpus.jsonl.gz in {base}: give one of {', '.join(NAMES)}, or a folder"
    )


def _encoded(data: Labelled, model: str, cache: Path | None, say: Say) -> Floats:
    """A vector for each text, kept by content: a second run encodes nothing."""
    encoder = load_encoder(model)
    if is_fitted_encoder(encoder):
        encoder.fit(data.texts)
        return encoder.encode(data.texts)
    store = SqliteStore(kept(cache) / "vectors.sqlite")
    try:
        cached = CachedEncoder(encoder, store)
        parts = []
        for start in range(0, len(data), _AT_ONCE):
            say(f"{data.name}: encoding", start, len(data))
            parts.append(cached.encode(data.texts[start : start + _AT_ONCE]))
        return np.concatenate(parts)
    finally:
        store.close()
