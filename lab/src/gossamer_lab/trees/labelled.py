"""Labelled collections: texts, the class that people gave each, and vectors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.cli.evaluation import data_folder, find_file, read_jsonl
from gossamer.errors import InputError
from gossamer_lab.data.embedded import encode
from gossamer_lab.engine import Floats, Longs
from gossamer_lab.job import Job

NAMES: Final = ("20newsgroups", "banking77", "bbc_news")


@dataclass(frozen=True)
class Labelled:
    """Documents with a class and a vector each."""

    name: str
    texts: tuple[str, ...]
    classes: Longs
    E: Floats

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_classes(self) -> int:
        """The number of different classes."""
        return len(np.unique(self.classes))

    def sample(self, most: int, seed: int = 0) -> Labelled:
        """At most `most` documents, drawn at random; all of them in order if there are no more."""
        if len(self) <= most:
            return self
        places = np.sort(np.random.default_rng(seed).permutation(len(self))[:most])
        classes = np.unique(self.classes[places], return_inverse=True)[1]
        return Labelled(self.name, tuple(self.texts[i] for i in places), classes, self.E[places])


def load(name: str, job: Job, *, model: str, most: int | None, seed: int = 0) -> Labelled:
    """A collection by its name, or a folder with a corpus.jsonl (or .gz) whose rows have a `text` and a `label`."""
    base = data_folder(job.folder) / "data" / name if name in NAMES else Path(name).expanduser()
    path = find_file(base, "corpus.jsonl")
    rows = [row for row in read_jsonl(path) if row.get("text") and row.get("label") is not None]
    if not rows:
        raise InputError(f"{path} has no rows with a text and a label: the quality of a tree is measured by labels")
    texts = tuple(f"{row.get('title') or ''} {row['text']}".strip() for row in rows)
    classes = np.unique([str(row["label"]) for row in rows], return_inverse=True)[1].astype(np.int64)
    bare = Labelled(Path(name).name, texts, classes, np.zeros((len(texts), 0), np.float32))
    drawn = bare if most is None else bare.sample(most, seed)
    if drawn.n_classes < 2:
        raise InputError(f"{path} has {drawn.n_classes} class among {len(drawn)} documents: at least 2 are needed")
    E, _ = encode(model, drawn.texts, cache=job.cache, say=job.say)
    return Labelled(drawn.name, drawn.texts, drawn.classes, E)
