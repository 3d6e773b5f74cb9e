"""Collections by name: the ready QQP setting, folders in the BEIR layout, QQP pairs, MS MARCO rows, Hugging Face.

qqp                     the ready setting of 76,000 questions; the first n are the paper's with n documents
msmarco                 passages of several parts; the hard queries, those closest to the paper's
msmarco-rest            the same passages, and the queries that are not hard: nothing was chosen by them
scifact cranfield cacm  whole folders
FOLDER                  any folder with corpus.jsonl, queries.jsonl and qrels.tsv, each also as .gz
FILE.tsv                labelled pairs of questions: the paper's construction
FILE.jsonl              rows of MS MARCO v2.1: the paper's construction
hf:glue/qqp  hf:ms_marco    the same two through the `datasets` library
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, Literal

import numpy as np

from gossamer.errors import DiskError, InputError, MissingExtraError
from gossamer_lab.evaluate.collection import Collection, own_texts, shuffled_rows
from gossamer_lab.evaluate.construct import DOCUMENTS_A_QUERY, Pair, Row, cut, from_pairs, from_rows
from gossamer_lab.evaluate.places import data_folder

Own = Literal["drop", "keep"]

HARD: Final = ("dev_bm25", "v21", "explain")
"""Sources of MS MARCO queries that were chosen among passages another ranker had found."""

REST: Final = ("v2_ir0", "trecdl")
NAMES: Final = ("qqp", "msmarco", "msmarco-rest", "scifact", "cranfield", "cacm")


def load(
    name: str,
    *,
    folder: Path | None = None,
    documents: int | None = None,
    queries: int | None = None,
    seed: int = 0,
    own: Own = "drop",
) -> Collection:
    """The collection of that name, cut to so many documents and queries; see the module for the names.

    `own="keep"` leaves a query's own text in the rankings as a distractor, as the authors' program does.
    """
    found = _load(name, folder, documents, queries, seed)
    return found if own == "drop" else without_own(found)


def without_own(collection: Collection) -> Collection:
    """The same, with queries' own texts treated as any other document."""
    return replace(collection, own={}, about=f"{collection.about}; own texts of queries left in".lstrip("; "))


def _load(name: str, folder: Path | None, documents: int | None, queries: int | None, seed: int) -> Collection:
    n, q = _paper_sizes(documents, queries)
    path = Path(name).expanduser()
    if name == "qqp":
        return ready_qqp(data_folder(folder) / "embeddings", n, queries)
    if name.startswith("hf:"):
        rows = _hub(name)
        if name == "hf:glue/qqp":
            return from_pairs(_hub_pairs(rows), name, documents=n, queries=q, seed=seed)
        return from_rows((as_row(row) for row in rows), name, documents=n, queries=q, seed=seed)
    if name in NAMES:
        path = data_folder(folder) / "data" / name.removesuffix("-rest")
    if path.is_dir():
        found = beir(path, sources={"msmarco": HARD, "msmarco-rest": REST}.get(name))
        return cut(found, documents=documents, queries=queries, seed=seed)
    if path.is_file() and ".tsv" in path.suffixes:
        return from_pairs(read_pairs(path), path.name, documents=n, queries=q, seed=seed)
    if path.is_file() and ".jsonl" in path.suffixes:
        return from_rows(map(as_row, read_jsonl(path)), path.name, documents=n, queries=q, seed=seed)
    raise InputError(
        f"there is no collection {name!r}: give one of {', '.join(NAMES)}, a folder, or a .tsv or .jsonl file"
    )


def _paper_sizes(documents: int | None, queries: int | None) -> tuple[int, int]:
    n = documents or 10_000
    return n, queries or max(1, n // DOCUMENTS_A_QUERY)


# -- the ready setting -----------------------------------------------------------------------------


def ready_qqp(folder: Path, documents: int, queries: int | None = None) -> Collection:
    """The first `documents` of the ready QQP questions and, unless said otherwise, a tenth as many queries."""
    path = folder / "qqp-setup.json.gz"
    setup = json.loads(_text(path))
    texts, targets = setup["corpus"][:documents], setup["targets"]
    if len(texts) < documents:
        raise InputError(f"{path} holds {len(texts):,} documents, and {documents:,} were asked for: ask for fewer")
    count = min(len(targets), queries or max(1, documents // DOCUMENTS_A_QUERY))
    kept = [i for i, target in enumerate(targets[:count]) if target < documents]
    rows = shuffled_rows(len(texts))
    texts, ids = [texts[row] for row in rows], [f"d{row}" for row in rows]
    asked = {f"q{i}": setup["queries"][i] for i in kept}
    answers = {f"q{i}": {f"d{targets[i]}": 1} for i in kept}
    return Collection(
        "qqp", tuple(ids), tuple(texts), tuple(asked), tuple(asked.values()), answers,
        own_texts(dict(zip(ids, texts, strict=True)), asked, answers),
        "the ready QQP setting: second questions of duplicate pairs, then fillers",
        "qqp", rows, np.array(kept, np.int64),
    )  # fmt: skip


# -- BEIR folders ----------------------------------------------------------------------------------


def beir(folder: Path, sources: Iterable[str] | None = None) -> Collection:
    """A folder of corpus.jsonl, queries.jsonl and qrels.tsv; only queries from these sources, where some are named."""
    documents = list(read_jsonl(_either(folder, "corpus.jsonl")))
    questions = list(read_jsonl(_either(folder, "queries.jsonl")))
    texts = {str(row["_id"]): f"{row.get('title') or ''} {row.get('text') or ''}".strip() for row in documents}
    rows = {id: row for row, id in enumerate(texts)}
    texts = {id: text for id, text in texts.items() if text}  # some classics have numbers without a text
    answers = _qrels(_either(folder, "qrels.tsv"), texts)
    wanted = None if sources is None else set(sources)
    asked = {
        str(row["_id"]): (number, row["text"])
        for number, row in enumerate(questions)
        if str(row["_id"]) in answers and (wanted is None or row.get("source") in wanted)
    }
    queries = {id: text for id, (_, text) in asked.items()}
    for id, text in queries.items():
        if texts.get(id) == text:  # its own text under its own id
            answers[id].pop(id, None)
    queries = {id: text for id, text in queries.items() if answers[id]}
    part = "" if wanted is None else f", queries from {', '.join(sorted(wanted))}"
    return Collection(
        folder.name, tuple(texts), tuple(texts.values()), tuple(queries), tuple(queries.values()),
        {id: answers[id] for id in queries}, own_texts(texts, queries, answers), f"folder {folder.name}{part}",
        folder.name, np.array([rows[id] for id in texts]), np.array([asked[id][0] for id in queries]),
    )  # fmt: skip


def _qrels(path: Path, documents: dict[str, str]) -> dict[str, dict[str, int]]:
    answers: dict[str, dict[str, int]] = {}
    for number, fields in enumerate(csv.reader(io.StringIO(_text(path)), delimiter="\t")):
        if number == 0 and not fields[-1].lstrip("-").isdigit():
            continue
        try:
            query, document, grade = fields
            if int(grade) > 0 and document in documents:
                answers.setdefault(query, {})[document] = int(grade)
        except ValueError as error:
            raise InputError(f"{path}:{number + 1}: expected query, document and grade, got {fields!r}") from error
    return answers


# -- pairs and rows --------------------------------------------------------------------------------


def read_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of a table with columns question1, question2 and is_duplicate."""
    table = csv.DictReader(io.StringIO(_text(path)), delimiter="\t", quoting=csv.QUOTE_NONE)
    for row in table:
        try:
            yield Pair(row["question1"], row["question2"], row["is_duplicate"].strip() == "1")
        except KeyError as error:
            raise InputError(f"{path} has no column {error}: expected question1, question2, is_duplicate") from error


def as_row(row: dict[str, Any]) -> Row:
    """A row of MS MARCO v2.1 as its public form has it."""
    try:
        passages = row["passages"]
        chosen = tuple(bool(flag) for flag in passages["is_selected"])
        return Row(str(row["query"]), tuple(passages["passage_text"]), chosen)
    except (KeyError, TypeError) as error:
        raise InputError(f"not a row of MS MARCO v2.1, it lacks {error}: expected query, passages") from error


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, one a line."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(f"{path}:{number}: not valid JSON ({error})") from error


def _hub(name: str) -> Any:
    parts = {"hf:glue/qqp": ("glue", "qqp", "train"), "hf:ms_marco": ("ms_marco", "v2.1", "validation")}
    if name not in parts:
        raise InputError(f"there is no collection {name!r}: known are {', '.join(parts)}")
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError(f"{name}, read by the library datasets,", "hub") from error
    dataset, part, split = parts[name]
    return datasets.load_dataset(dataset, part, split=split)


def _hub_pairs(rows: Iterable[dict[str, Any]]) -> Iterator[Pair]:
    for row in rows:
        yield Pair(row["question1"], row["question2"], row["label"] == 1)


# -- files -----------------------------------------------------------------------------------------


def _either(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise DiskError(f"{folder} has no {name} (or {name}.gz): a collection is corpus.jsonl, queries.jsonl and qrels.tsv")


def _text(path: Path) -> str:
    try:
        with _open(path) as file:
            return file.read().decode("utf-8")
    except FileNotFoundError:
        raise DiskError(f"there is no {path}: name the folder of data with --data") from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DiskError(f"{path} cannot be read: {error}") from error


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]
