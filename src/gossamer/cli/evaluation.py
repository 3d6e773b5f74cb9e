"""How good an index's answers are, on a collection with known answers.

In: a folder in BEIR's layout and an index of its documents. Out: nDCG@10, recall@10 and MRR@10 in percent.

    corpus.jsonl    {"_id": "d1", "title": "…", "text": "…"}, one a line; the title is optional
    queries.jsonl   {"_id": "q1", "text": "…"}
    qrels.tsv       query, document and grade, tab-separated, with or without a header; or qrels/test.tsv

Each file may be compressed (.gz). With g_i the grade of the document at rank i, 0 for one that is no answer:

    DCG = Σ_{i ≤ 10} g_i / log2(i + 1)          nDCG@10 = DCG / (DCG of the best possible ranking)
    recall@10 = answers among the first 10 / all answers          MRR@10 = 1 / rank of the first answer, or 0
"""

import gzip
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from gossamer.errors import DiskError, InputError
from gossamer.index import Index, Progress

DEPTH: Final = 10
DATA_VARIABLE: Final = "GOSSAMER_DATA"

METHODS: Final[Mapping[str, bool | float]] = {"hybrid": True, "dense": False, "words": 1e6}
"""What each method passes as `hybrid` to `Index.search`. At the weight 1e6 the words alone decide: a cosine is at
most 1, so documents with a score of at most 1 share no word with the query, and `words` leaves them out."""


@dataclass(frozen=True)
class JudgedCollection:
    """Documents and queries by id, and the answers of each query with their grades, at least 1."""

    name: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    answers: Mapping[str, Mapping[str, int]]


class Measures(NamedTuple):
    """Quality of one ranking as shares of 1, or of a method in percent."""

    ndcg: float
    recall: float
    mrr: float


def evaluate(
    index: Index, collection: JudgedCollection, method: str = "hybrid", progress: Progress | None = None
) -> tuple[Measures, float]:
    """The mean of the measures over all queries in percent, and the seconds they took, encoding included.

    The index holds the documents of the collection under their ids. A document with the id and the text of a query
    is left out of that query's answers and ranking.
    """
    start = time.perf_counter()
    least = 1.0 if method == "words" else -math.inf
    found = measure_each(index, collection, {"hybrid": check_method(method)}, progress, least)
    seconds = time.perf_counter() - start
    return Measures(*(100.0 * sum(values) / len(found) for values in zip(*found, strict=True))), seconds


def measure_each(
    index: Index,
    collection: JudgedCollection,
    options: Mapping[str, Any],
    progress: Progress | None = None,
    least: float = -math.inf,
) -> list[Measures]:
    """The measures of every query, searched for with these options; hits that score at most `least` do not count."""
    found: list[Measures] = []
    for number, (query, text) in enumerate(collection.queries.items(), 1):
        ranked = [hit.id for hit in index.search(text, k=DEPTH + 1, **options) if hit.score > least]
        if collection.documents.get(query) == text:
            ranked = [id for id in ranked if id != query]
        found.append(measure(ranked, collection.answers[query]))
        if progress is not None:
            progress(number, len(collection.queries))
    return found


def check_method(name: str) -> bool | float:
    """The value of `hybrid` for a method."""
    if name not in METHODS:
        raise InputError(f"there is no method {name!r}: choose among {', '.join(METHODS)}")
    return METHODS[name]


def measure(ranked: Sequence[str], answers: Mapping[str, int], depth: int = DEPTH) -> Measures:
    """The measures of one ranking; see the module for the formulas."""
    grades = [answers.get(id, 0) for id in ranked[:depth]]
    ranks = [rank for rank, grade in enumerate(grades, 1) if grade > 0]
    ideal = _dcg(sorted(answers.values(), reverse=True)[:depth])
    return Measures(_dcg(grades) / ideal, len(ranks) / len(answers), 1.0 / ranks[0] if ranks else 0.0)


def _dcg(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


# -- reading ---------------------------------------------------------------------------------------


def read_collection(name: str, data: Path | None = None) -> JudgedCollection:
    """The collection in the folder `name`, or in the folder of that name in the data folder."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        folder = data_folder(data, f"collection {name!r}") / "data" / name
    if not folder.is_dir():
        raise InputError(f"there is no collection {name!r}, neither here nor at {folder}: give the path of a folder")
    documents = read_texts(find_file(folder, "corpus.jsonl"))
    queries = read_texts(find_file(folder, "queries.jsonl"))
    answers = read_answers(find_file(folder, "qrels.tsv", "qrels/test.tsv"), documents)
    for id in queries.keys() & answers.keys():
        if documents.get(id) == queries[id]:
            answers[id].pop(id, None)
    queries = {id: text for id, text in queries.items() if answers.get(id)}
    if not queries:
        raise InputError(f"{folder}: no query has an answer among its {len(documents):,} documents, see qrels.tsv")
    return JudgedCollection(folder.name, documents, queries, answers)


def read_texts(path: Path) -> dict[str, str]:
    """Title and text by `_id`; rows without a text are left out."""
    rows = ((str(row.get("_id")), f"{row.get('title') or ''} {row.get('text') or ''}") for row in read_jsonl(path))
    return {id: text.strip() for id, text in rows if text.strip()}


def read_answers(path: Path, documents: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Grades above 0 by query and document, of documents that exist."""
    answers: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split("\t")
        try:
            if grade := max(0, int(fields[-1])):
                answers.setdefault(fields[0], {}).update({fields[-2]: grade} if fields[-2] in documents else {})
        except (IndexError, ValueError):
            if number > 1:  # the first line may be a header
                raise InputError(f"{path}:{number}: expected query, document and grade, got {fields!r}") from None
    return answers


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file that has one on each line."""
    for number, line in enumerate(read_lines(path), 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}:{number}: not valid JSON ({error})") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number}: expected an object with _id and text, got {line[:40]!r}")
        yield row


def find_file(folder: Path, *names: str) -> Path:
    """The first of these files that exists, compressed or not."""
    for path in (folder / f"{name}{ending}" for name in names for ending in ("", ".gz")):
        if path.is_file():
            return path
    layout = "a collection is corpus.jsonl, queries.jsonl and qrels.tsv, each also as .gz"
    raise DiskError(f"{folder} has no {' or '.join(names)}: {layout}")


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file that may be compressed, empty ones left out."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield from (line.rstrip("\r\n") for line in file if line.strip())
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DiskError(f"{path} cannot be read: {error}") from error


def data_folder(given: Path | None, what: str = "data") -> Path:
    """The folder that holds `data/` and `embeddings/`: the one given, or $GOSSAMER_DATA, or ../shared.

    Either of the two inside it may be named as well. `what` is what the error says was looked for.
    """
    folder = given or Path(os.environ.get(DATA_VARIABLE) or "../shared")
    if not folder.is_dir():
        raise DiskError(f"there is no {what}: no data folder at {folder}. Name one with --data or ${DATA_VARIABLE}")
    return folder.parent if folder.name in ("data", "embeddings") else folder
