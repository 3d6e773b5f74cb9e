"""Collections by name.

qqp                     the ready setting of 76,000 questions; the first n are the paper's with n documents
msmarco                 MS MARCO passages with the hard queries, those closest to the paper's
msmarco-rest            the same passages with the other queries, by which nothing was chosen
msmarco-v21             as the authors of the paper use it: each query with its ten passages, then passages of others
scifact cranfield cacm  folders in BEIR's layout below data/
FOLDER                  any folder in BEIR's layout, see `gossamer.cli.evaluation`
FILE.tsv                labelled pairs of questions, also as .gz: the paper's construction
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.cli.evaluation import data_folder, find_file, read_answers, read_jsonl, read_lines
from gossamer.errors import InputError
from gossamer_lab.data.collection import Collection, own_texts, shuffled_rows
from gossamer_lab.data.construct import DOCUMENTS_A_QUERY, Pair, cut, from_pairs

HARD: Final = ("dev_bm25", "v21", "explain")
"""Sources of MS MARCO queries whose passages another ranker had found before people judged them."""

REST: Final = ("v2_ir0", "trecdl")
NAMES: Final = ("qqp", "msmarco", "msmarco-rest", "msmarco-v21", "scifact", "cranfield", "cacm")


def load(
    name: str,
    *,
    folder: Path | None = None,
    documents: int | None = None,
    queries: int | None = None,
    seed: int = 0,
    keep_own: bool = False,
) -> Collection:
    """The collection of that name, cut to a number of documents and queries; see the module for the names.

    `keep_own` leaves a query's own text in the rankings as a distractor, as the authors' program does.
    """
    found = _load(name, folder, documents, queries, seed)
    if not keep_own:
        return found
    return replace(found, own={}, about=f"{found.about}; own texts of queries left in".lstrip("; "))


def _load(name: str, folder: Path | None, documents: int | None, queries: int | None, seed: int) -> Collection:
    n = documents or 10_000
    q = queries or max(1, n // DOCUMENTS_A_QUERY)
    path = Path(name).expanduser()
    if name == "qqp":
        return ready_qqp(data_folder(folder) / "embeddings", n, q)
    if name == "msmarco-v21":
        return v21(data_folder(folder) / "data" / "msmarco", documents, queries, seed)
    if name in NAMES:
        path = data_folder(folder) / "data" / name.removesuffix("-rest")
    if path.is_dir():
        found = beir(path, sources={"msmarco": HARD, "msmarco-rest": REST}.get(name))
        return cut(found, documents=documents, queries=queries, seed=seed)
    if path.is_file() and ".tsv" in path.suffixes:
        return from_pairs(read_pairs(path), path.name, documents=n, queries=q, seed=seed)
    raise InputError(f"there is no collection {name!r}: give one of {', '.join(NAMES)}, a folder, or a .tsv file")


def ready_qqp(folder: Path, documents: int, queries: int) -> Collection:
    """The first `documents` of the ready QQP questions, and at most `queries` queries."""
    path = folder / "qqp-setup.json.gz"
    setup = json.loads("".join(read_lines(path)))
    texts, targets = setup["corpus"][:documents], setup["targets"]
    if len(texts) < documents:
        raise InputError(f"{path} holds {len(texts):,} documents, and {documents:,} were asked for: ask for fewer")
    taken = [i for i, target in enumerate(targets[:queries]) if target < documents]
    rows = shuffled_rows(len(texts))
    texts, ids = [texts[row] for row in rows], [f"d{row}" for row in rows]
    asked = {f"q{i}": setup["queries"][i] for i in taken}
    answers = {f"q{i}": {f"d{targets[i]}": 1} for i in taken}
    return Collection(
        "qqp", tuple(ids), tuple(texts), tuple(asked), tuple(asked.values()), answers,
        own_texts(dict(zip(ids, texts, strict=True)), asked, answers),
        "the ready QQP setting: second questions of duplicate pairs, then fillers",
        "qqp", rows, np.array(taken, np.int64),
    )  # fmt: skip


def v21(folder: Path, documents: int | None, queries: int | None, seed: int = 0) -> Collection:
    """The paper's setting with rows of MS MARCO 2.1, as the authors' program makes it, of `v21_rows.jsonl.gz`.

    Queries with a passage that was selected come with all their passages, the first selected one being the answer; then
    passages of other rows; then others of the pool. A passage is taken once. Trees grow in that order.
    """
    pool = list(read_jsonl(find_file(folder, "corpus.jsonl")))
    asked = {row["text"]: number for number, row in enumerate(read_jsonl(find_file(folder, "queries.jsonl")))}
    numbers = {row["text"]: number for number, row in reversed(list(enumerate(pool)))}
    rows = list(read_jsonl(find_file(folder, "v21_rows.jsonl")))
    right: dict[str, str] = {}
    for row in rows:
        if any(row["passages"]["is_selected"]) and row["query"] in asked:
            right.setdefault(row["query"], row["passages"]["passage_text"][row["passages"]["is_selected"].index(1)])
    most = len(right) if documents is None else max(1, documents // DOCUMENTS_A_QUERY)
    chosen = dict(list(right.items())[: most if queries is None else queries])
    first = sorted(rows, key=lambda row: row["query"] not in chosen)
    listed = dict.fromkeys(text for row in first for text in row["passages"]["passage_text"] if text in numbers)
    fillers = np.random.default_rng(seed).permutation(len(pool))
    listed |= dict.fromkeys(pool[row]["text"] for row in fillers)
    texts = list(listed)[:documents]
    if documents is not None and len(texts) < documents:
        raise InputError(
            f"MS MARCO 2.1 has {len(texts):,} passages here, and {documents:,} were asked for: ask for fewer"
        )
    source = np.array([numbers[text] for text in texts], np.int64)
    order = shuffled_rows(len(texts))
    ids = [f"p{source[place]}" for place in order]
    answers = {f"q{asked[query]}": {f"p{numbers[text]}": 1} for query, text in chosen.items()}
    return Collection(
        "msmarco-v21", tuple(ids), tuple(texts[place] for place in order), tuple(answers), tuple(chosen), answers,
        {}, "rows of MS MARCO 2.1: each query with its ten passages, then others", "msmarco",
        source[order], np.array([asked[query] for query in chosen], np.int64), order,
    )  # fmt: skip


def beir(folder: Path, sources: Iterable[str] | None = None) -> Collection:
    """A folder in BEIR's layout; with `sources`, only the queries whose field `source` is one of them."""
    documents = list(read_jsonl(find_file(folder, "corpus.jsonl")))
    questions = list(read_jsonl(find_file(folder, "queries.jsonl")))
    texts = {str(row["_id"]): f"{row.get('title') or ''} {row.get('text') or ''}".strip() for row in documents}
    rows = {id: row for row, id in enumerate(texts)}
    texts = {id: text for id, text in texts.items() if text}  # some classic collections have ids without a text
    answers = read_answers(find_file(folder, "qrels.tsv", "qrels/test.tsv"), texts)
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


def read_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of a table with columns question1, question2 and is_duplicate."""
    for row in csv.DictReader(read_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE):
        try:
            yield Pair(row["question1"], row["question2"], row["is_duplicate"].strip() == "1")
        except KeyError as error:
            raise InputError(f"{path} has no column {error}: expected question1, question2, is_duplicate") from error
