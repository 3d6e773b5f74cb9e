"""Full text three ways: the index's own postings, Tantivy, and SQLite's FTS5, which the index used before.

All three score by BM25 and stem English. Each is asked for its hundred best documents of any that share a word with the
query, with their numbers; the queries are questions, none of whose words is left out.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer.cli.evaluation import data_folder
from gossamer.errors import InputError
from gossamer_lab.engine import WordIndex
from gossamer_lab.job import Job
from gossamer_lab.tables import Cell, Report, Row, Table
from gossamer_lab.timing import clock

COLLECTIONS: Final = ("qqp", "msmarco", "scifact")
K: Final = 100
_MEGABYTE: Final = 2**20
_WORD: Final = re.compile(r"[^\W_]+")
_ADDED: Final = 20
"""Documents that are added, and removed, one at a time."""


@dataclass(frozen=True)
class Wanted:
    """What is measured: the first documents of collections, and queries spread over all."""

    collections: tuple[str, ...] = COLLECTIONS
    rows: int | None = None
    queries: int = 300


class Engine(ABC):
    """One way to search words; documents are numbered from 1 on."""

    name: str

    @abstractmethod
    def build(self, texts: Sequence[str], folder: Path) -> None:
        """Index all texts, durably."""

    @abstractmethod
    def best(self, query: str) -> list[int]:
        """The best documents."""

    @abstractmethod
    def add(self, number: int, text: str) -> None:
        """Add one document so that the next search finds it."""

    @abstractmethod
    def remove(self, number: int, text: str) -> None:
        """Remove one document so that the next search does not find it."""

    def close(self) -> None:  # noqa: B027
        """Let go of the folder."""


class Postings(Engine):
    """Gossamer's own."""

    name = "gossamer"

    def build(self, texts: Sequence[str], folder: Path) -> None:  # noqa: D102
        self._words = WordIndex.of(texts)
        self._words.save(folder)

    def best(self, query: str) -> list[int]:  # noqa: D102
        return self._words.best(query, K)

    def add(self, number: int, text: str) -> None:  # noqa: D102
        self._words = self._words.changed([], [(number, text)])

    def remove(self, number: int, text: str) -> None:  # noqa: D102
        self._words = self._words.changed([number], [])


class Tantivy(Engine):
    """Tantivy, by its Python package."""

    name = "Tantivy"

    def build(self, texts: Sequence[str], folder: Path) -> None:  # noqa: D102
        import tantivy

        self._tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("number", stored=True, indexed=True, fast=True)
        builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
        self._index = tantivy.Index(builder.build(), str(folder))
        self._writer = self._index.writer(128_000_000)
        for number, text in enumerate(texts, 1):
            self._writer.add_document(tantivy.Document(number=number, text=text))
        self._commit()

    def best(self, query: str) -> list[int]:  # noqa: D102
        words = " ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(query.lower())))
        found = self._searcher.search(self._index.parse_query(words or "?", ["text"]), K)
        return [self._searcher.doc(address)["number"][0] for _, address in found.hits]

    def add(self, number: int, text: str) -> None:  # noqa: D102
        self._writer.add_document(self._tantivy.Document(number=number, text=text))
        self._commit()

    def remove(self, number: int, text: str) -> None:  # noqa: D102
        self._writer.delete_documents_by_term("number", number)
        self._commit()

    def close(self) -> None:  # noqa: D102
        self._writer.wait_merging_threads()

    def _commit(self) -> None:
        self._writer.commit()
        self._index.reload()
        self._searcher: Any = self._index.searcher()


class Fts5(Engine):
    """SQLite's FTS5, all matches scored by its bm25()."""

    name = "SQLite FTS5"

    def build(self, texts: Sequence[str], folder: Path) -> None:  # noqa: D102
        self._db = sqlite3.connect(folder / "words.sqlite", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5 (text, content='', tokenize='porter unicode61')")
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(texts, 1))
        self._db.execute("COMMIT")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def best(self, query: str) -> list[int]:  # noqa: D102
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(query.lower())))
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"
        return [row[0] for row in self._db.execute(sql, (words or '"?"', K))]

    def add(self, number: int, text: str) -> None:  # noqa: D102
        self._db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, text))

    def remove(self, number: int, text: str) -> None:  # noqa: D102
        self._db.execute("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (number, text))


def report(wanted: Wanted, job: Job) -> Report:
    """All engines over each collection."""
    rows: list[Row] = []
    for name in wanted.collections:
        if name not in COLLECTIONS:
            raise InputError(f"there is no collection {name!r} here: choose from {', '.join(COLLECTIONS)}")
        job.say(f"reading {name}", 0, 0)
        texts, queries = load(data_folder(job.folder, "folder of collections"), name)
        texts = texts[: wanted.rows]
        queries = queries[:: max(1, len(queries) // wanted.queries)][: wanted.queries]
        rows += compared(name, texts, queries, job)
    notes = [
        f"ms: one query, its {K} best documents and their numbers; median, 95th percentile and longest. build: all "
        "documents, durable on disk. add, remove: one document, found or gone at the next search, the median of "
        f"{_ADDED}. memory: growth of the resident set while it is built. Gossamer's are not durable by themselves: "
        "they follow the operation log, which is."
    ]
    digits = {"documents": 0, "ms": 3, "p95": 3, "longest": 2, "add, ms": 2, "remove, ms": 2, "build, s": 2}
    return job.report("words", "full text", [Table("words", "engines", rows, notes, digits)])


def load(folder: Path, name: str) -> tuple[list[str], list[str]]:
    """Texts and queries of a collection."""
    if name == "qqp":
        setup = json.loads(gzip.decompress((folder / "embeddings" / "qqp-setup.json.gz").read_bytes()))
        return setup["corpus"], setup["queries"]
    read = (_lines(folder / "data" / name / f"{part}.jsonl.gz") for part in ("corpus", "queries"))
    corpus, queries = ([f"{row.get('title') or ''} {row['text']}".strip() for row in rows] for rows in read)
    return corpus, queries


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def compared(name: str, texts: Sequence[str], queries: Sequence[str], job: Job) -> list[Row]:
    """One row for each engine."""
    return [_measured(name, kind(), texts, queries, job) for kind in (Postings, Tantivy, Fts5)]


def _measured(name: str, engine: Engine, texts: Sequence[str], queries: Sequence[str], job: Job) -> Row:
    job.say(f"{name}: {engine.name}", 0, 0)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Tantivy may still write into it
        before = _resident()
        seconds, _ = clock(lambda: engine.build(texts, Path(folder)))
        memory = _resident() - before
        disk = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        engine.best(queries[0])
        times = np.array([1e3 * clock(lambda query=query: engine.best(query))[0] for query in queries])  # type: ignore[misc]
        added = [(len(texts) + 1 + at, texts[at]) for at in range(_ADDED)]
        adding = [clock(lambda each=each: engine.add(*each))[0] for each in added]  # type: ignore[misc]
        removing = [clock(lambda each=each: engine.remove(*each))[0] for each in added]  # type: ignore[misc]
        engine.close()
    row: dict[str, Cell] = {
        "collection": name, "documents": len(texts), "engine": engine.name, "ms": float(np.median(times)),
        "p95": float(np.percentile(times, 95)), "longest": float(times.max()), "build, s": seconds,
        "add, ms": float(1e3 * np.median(adding)), "remove, ms": float(1e3 * np.median(removing)),
        "memory, MB": memory / _MEGABYTE, "disk, MB": disk / _MEGABYTE,
    }  # fmt: skip
    return row


def _resident() -> int:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0
