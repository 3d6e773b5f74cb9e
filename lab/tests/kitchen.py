"""Fixtures: a small collection written for these tests, in memory and as a BEIR folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from gossamer_lab.data.collection import Collection

TOPICS = {
    "bread": ("bake the bread in a hot oven", "knead the dough before baking", "flour water salt and yeast"),
    "bicycle": ("pump up the flat bicycle tyre", "oil the chain of the bicycle", "the brakes of the bike squeak"),
    "garden": ("water the tomatoes in the evening", "sow the carrots in early spring", "weeds grow between the roses"),
    "music": ("tune the strings of the guitar", "the piano has eighty eight keys", "the choir sings on sunday"),
    "space": ("the moon goes around the earth", "mars is a cold red planet", "a comet of ice and dust"),
}
WORDS = ("today", "always", "slowly", "with care", "at home", "for friends", "every week", "in winter")


def write_beir(folder: Path, *, zipped: bool = False) -> Path:
    """Forty variations of fifteen sentences, a question on each topic, and the topic's documents as answers."""
    documents: list[dict[str, str]] = []
    answers: list[tuple[str, str, int]] = []
    for topic, sentences in TOPICS.items():
        for number, sentence in enumerate(sentences):
            for word in WORDS:
                documents.append(
                    {"_id": f"{topic}-{number}-{len(documents)}", "title": "", "text": f"{sentence} {word}"}
                )
                answers.append((topic, documents[-1]["_id"], 2 if number == 0 else 1))
    queries = [{"_id": topic, "text": f"{sentences[0]}?"} for topic, sentences in TOPICS.items()]
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in answers)]
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "corpus.jsonl": "\n".join(map(json.dumps, documents)),
        "queries.jsonl": "\n".join(map(json.dumps, queries)),
        "qrels.tsv": "\n".join(lines),
    }
    for name, text in files.items():
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_beir(tmp_path_factory.mktemp("sets") / "kitchen")


@pytest.fixture
def small() -> Collection:
    """Five documents, three queries; the third query's own text is among the documents."""
    return Collection(
        "small",
        ("a", "b", "c", "d", "e"),
        ("one", "two", "three", "four", "five"),
        ("x", "y", "z"),
        ("first", "second", "three"),
        {"x": {"a": 1}, "y": {"b": 2, "c": 1}, "z": {"d": 1}},
        {"z": frozenset({"c"})},
    )
