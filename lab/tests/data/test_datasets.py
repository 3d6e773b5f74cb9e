"""Collections, and reading them."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer.errors import DiskError, InputError
from gossamer_lab.data.collection import Collection, own_texts
from gossamer_lab.data.datasets import beir, load, read_pairs
from kitchen import write_beir


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"texts": ("one",)}, "5 ids but 1 texts of documents"),
        ({"ids": ("a", "a", "c", "d", "e")}, "5 documents but 4 ids"),
        ({"query_ids": (), "queries": ()}, "has no queries"),
        ({"answers": {"x": {"a": 1}, "y": {"q": 1}, "z": {"d": 1}}}, "query 'y' has no answer"),
        ({"own": {"x": frozenset({"a"})}}, "query 'x' itself is listed as an answer"),
    ],
)
def test_what_does_not_fit_is_refused(small: Collection, change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        replace(small, **change)


def test_a_text_labelled_as_the_answer_stays_one() -> None:
    own = own_texts({"a": "Same  text", "b": "same text"}, {"q": "same text"}, {"q": {"a": 1}})
    assert own == {"q": frozenset({"b"})}


def test_fewer_documents_keep_only_queries_with_answers(small: Collection) -> None:
    fewer = small.with_documents([0, 2])
    assert fewer.ids == ("a", "c")
    assert fewer.query_ids == ("x", "y")
    assert fewer.answers == {"x": {"a": 1}, "y": {"c": 1}}
    assert fewer.fingerprint != small.fingerprint


@pytest.mark.parametrize("zipped", [False, True])
def test_a_beir_folder(tmp_path: Path, zipped: bool) -> None:
    found = beir(write_beir(tmp_path / "set", zipped=zipped))
    assert (len(found), len(found.queries)) == (120, 5)
    assert found.answers["bread"][found.ids[0]] == 2
    assert found.rows is not None
    assert found.rows.tolist() == list(range(120))


def test_only_queries_from_named_sources(folder: Path, tmp_path: Path) -> None:
    for name in ("corpus.jsonl", "qrels.tsv"):
        (tmp_path / name).write_text((folder / name).read_text())
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    sources = [{**row, "source": "v21" if row["_id"] == "music" else "trecdl"} for row in rows]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, sources)))
    found = beir(tmp_path, sources=["v21"])
    assert found.query_ids == ("music",)
    assert found.query_rows is not None
    assert found.query_rows.tolist() == [3]


def test_a_folder_cut_to_size(folder: Path) -> None:
    found = load(str(folder), documents=60, queries=2)
    assert (len(found), len(found.queries)) == (60, 2)
    assert found.texts == tuple(beir(folder).texts[row] for row in (found.rows if found.rows is not None else ()))


def test_own_text_in_a_folder_is_never_an_answer(tmp_path: Path) -> None:
    rows = [{"_id": "1", "text": "same question"}, {"_id": "2", "text": "its duplicate"}, {"_id": "3", "text": ""}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "1", "text": "same question"}))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\t1\t1\n1\t2\t1\n")
    found = load(str(tmp_path))
    assert found.answers == {"1": {"2": 1}}
    assert found.own == {"1": frozenset({"1"})}
    assert found.ids == ("1", "2")  # a document without text is none
    assert load(str(tmp_path), keep_own=True).own == {}


def test_pairs_from_a_table(tmp_path: Path) -> None:
    table = tmp_path / "pairs.tsv.gz"
    lines = ["id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate"]
    lines += [f'{i}\t{i}\t{i}\thow "many {i}\tcount {i}\t{i % 2}' for i in range(30)]
    table.write_bytes(gzip.compress("\n".join(lines).encode()))
    pairs = list(read_pairs(table))
    assert len(pairs) == 30
    assert pairs[1].first == 'how "many 1'
    assert [pair.duplicate for pair in pairs[:2]] == [False, True]
    made = load(str(table), documents=20, queries=5)
    assert (len(made), len(made.queries)) == (20, 5)


def test_a_name_that_is_not_known() -> None:
    with pytest.raises(InputError, match="there is no collection 'nowhere'"):
        load("nowhere")


def test_files_that_are_broken(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="has no corpus"):
        load(str(tmp_path))
    (tmp_path / "corpus.jsonl").write_text("{not json")
    (tmp_path / "queries.jsonl").write_text("{}")
    (tmp_path / "qrels.tsv").write_text("")
    with pytest.raises(InputError, match=r"corpus.jsonl:1: not valid JSON"):
        load(str(tmp_path))


def test_no_folder_of_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GOSSAMER_DATA", raising=False)
    with pytest.raises(DiskError, match=r"no data folder at ../shared"):
        load("qqp")


def test_the_ready_setting(tmp_path: Path) -> None:
    (tmp_path / "embeddings").mkdir()
    setup = {"corpus": [f"text {i}" for i in range(50)], "queries": ["ask 0", "text 7"], "targets": [0, 1]}
    (tmp_path / "embeddings" / "qqp-setup.json.gz").write_bytes(gzip.compress(json.dumps(setup).encode()))
    found = load("qqp", folder=tmp_path, documents=20)
    assert (len(found), found.query_ids) == (20, ("q0", "q1"))
    assert found.own == {"q1": frozenset({"d7"})}
    assert found.query_rows is not None
    assert np.array_equal(found.query_rows, [0, 1])
    with pytest.raises(InputError, match="holds 50 documents, and 60 were asked for"):
        load("qqp", folder=tmp_path, documents=60)
