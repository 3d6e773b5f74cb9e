"""Vectors from FAISS, Chroma, LanceDB and Parquet into an index and out of it, with the real libraries."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from gossamer import Index
from gossamer.cli.app import app
from gossamer.errors import DimensionError, DiskError, InputError, ParameterError
from gossamer.integrations.transfer import (
    Rows,
    from_chroma,
    from_faiss,
    from_lancedb,
    from_parquet,
    take_over,
    to_faiss,
    to_parquet,
)

DIM = 6
TEXTS = [f"the {animal} eats {food}" for animal in ("fox", "owl", "cat") for food in ("mice", "bread", "fish", "figs")]
IDS = [f"d{at}" for at in range(len(TEXTS))]
METADATA: list[dict[str, Any]] = [{"food": text.split()[-1], "length": len(text)} for text in TEXTS]
VECTORS = np.random.default_rng(0).normal(size=(len(TEXTS), DIM)).astype(np.float32)


def never(texts: list[str]) -> npt.NDArray[np.float32]:
    """An encoder that must not be called for documents: their vectors are given."""
    assert texts == ["dimension"], texts  # what an index asks to learn the dimension
    return np.zeros((1, DIM), np.float32)


def letters(texts: list[str]) -> npt.NDArray[np.float32]:
    return np.array([[text.count(letter) for letter in "word12"] for text in texts], np.float32)


def library(name: str, extra: str) -> Any:
    return pytest.importorskip(name, reason=f"needs the extra {extra}")


@pytest.fixture
def index() -> Any:
    with Index(never) as index:
        yield index


def assert_taken_over(index: Index, vectors: npt.NDArray[np.float32] = VECTORS) -> None:
    assert index.ids() == IDS
    assert [each.text for each in index.get(IDS)] == TEXTS
    assert [each.metadata for each in index.get(IDS)] == METADATA
    assert np.array_equal(np.stack([part.vector for (part,) in index.passages(IDS)]), vectors)
    assert index.search(vector=vectors[7], k=1, hybrid=False)[0].id == IDS[7]


@pytest.fixture
def full(index: Index) -> Index:
    take_over(index, [Rows(IDS, list(TEXTS), VECTORS, METADATA)])
    return index


def test_parquet_there_and_back(full: Index, tmp_path: Path) -> None:
    library("pyarrow", "parquet")
    assert full.to_parquet(tmp_path / "x.parquet") == len(TEXTS)
    assert to_parquet(full, tmp_path / "x.parquet") == len(TEXTS)  # replaces the file
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]
    with Index(never) as other:
        assert take_over(other, from_parquet(tmp_path / "x.parquet")) == (len(TEXTS), 0)
        assert_taken_over(other)


def test_parquet_of_other_programs(index: Index, tmp_path: Path) -> None:
    arrow, parquet = library("pyarrow", "parquet"), importlib.import_module("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    columns = {"key": IDS, "body": TEXTS, "embedding": VECTORS.astype(np.float64).tolist()}
    fields = {name: [each[name] for each in METADATA] for name in METADATA[0]}
    parquet.write_table(arrow.table(columns | fields), path)
    take_over(index, from_parquet(path, text="body", id="key"))
    assert_taken_over(index)
    with pytest.raises(ParameterError, match=r"no column 'text'.* it has key, body, embedding, food, length"):
        next(from_parquet(path))
    with pytest.raises(InputError, match=r"'length' of .* shape"):
        next(from_parquet(path, text="body", vector="length"))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(DiskError, match="cannot be read as Parquet"):
        next(from_parquet(tmp_path / "broken.parquet"))


def test_documents_of_several_passages_are_several_rows(tmp_path: Path) -> None:
    library("pyarrow", "parquet")
    words = " ".join(f"word{at}" for at in range(60))
    with Index(letters, max_tokens=30, overlap=0) as index:
        index.add([words, "a short text"], ["long", "short"], [{"document": "mine"}, None])
        ((*parts,), (one,)) = index.passages(["long", "short"])
        assert " ".join(part.text for part in parts).split() == words.split()
        assert [words[part.start :].startswith(part.text) for part in parts] == [True] * len(parts)
        to_parquet(index, tmp_path / "x.parquet")
    rows = importlib.import_module("pyarrow.parquet").read_table(tmp_path / "x.parquet").to_pydict()
    assert rows["id"] == [f"long#{at}" for at in range(len(parts))] + ["short"]
    assert rows["text"] == [part.text for part in parts] + [one.text]
    assert rows["document"] == ["long"] * len(parts) + ["short"]
    assert rows["start"] == [part.start for part in parts] + [0]
    assert rows["whole"] == [words] + [None] * len(parts)
    (named,) = from_parquet(tmp_path / "x.parquet", id="id")  # the rows as they are, for who names columns
    assert named.ids == rows["id"]


def content(index: Index) -> list[Any]:
    """All that is to come back: ids in their order, texts, metadata, passages and the bytes of vectors."""
    ids = index.ids()
    parts = [[(part.start, part.text, part.vector.tobytes()) for part in each] for each in index.passages(ids)]
    return [(each.id, each.text, each.metadata, some) for each, some in zip(index.get(ids), parts, strict=True)]


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["red fox", "owl.", " ", "\n\n", "ééé", "漢字"]), min_size=1, max_size=60),
            st.dictionaries(st.sampled_from(["document", "id", "text", "year"]), st.none() | st.integers(0, 9)),
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_an_export_comes_back_exactly(tmp_path: Path, rows: list[tuple[list[str], dict[str, Any]]]) -> None:
    library("pyarrow", "parquet")
    with Index(letters, max_tokens=10, overlap=2) as index, Index(letters) as other:
        for at, (words, metadata) in enumerate(rows):
            index.add("begin " + " ".join(words), f"d#{at}", metadata)
        index.add(["one vector for a long text " * 9, "again"], ["given", "given#0"], vectors=np.eye(2, DIM))
        index.delete("d#0")
        index.to_parquet(tmp_path / "x.parquet")
        take_over(other, from_parquet(tmp_path / "x.parquet"))
        assert content(other) == content(index)
        other.check()
        assert other.search("owl", 3)[:1] != []


def test_documents_that_are_taken_over_in_several_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library("pyarrow", "parquet")
    with Index(letters, max_tokens=10, overlap=0) as index, Index(letters) as other:
        index.add([f"word{at} " * (1 + at % 7) for at in range(40)])
        index.to_parquet(tmp_path / "x.parquet")
        monkeypatch.setattr("gossamer.integrations.transfer.parquet._BATCH", 3)
        monkeypatch.setattr("gossamer.integrations.transfer.rows._AT_ONCE", 10)
        assert take_over(other, from_parquet(tmp_path / "x.parquet")) == (40, 0)
        assert content(other) == content(index)


def test_an_export_is_not_indexed_by_mistake(full: Index, tmp_path: Path) -> None:
    """Its vectors would become metadata."""
    library("pyarrow", "parquet")
    full.to_parquet(tmp_path / "x.parquet")
    wrong = gossamer("index", tmp_path / "x.parquet", "--to", tmp_path / "x.gsm", "--encoder", "lsa", fails=True)
    assert "an export of an index, with vectors. Take it over with gossamer import parquet" in " ".join(wrong.split())


@pytest.mark.parametrize("kind", ["Flat", "HNSW8,Flat", "IVF2,Flat", "IDMap,Flat", "IDMap2,Flat"])
def test_faiss(index: Index, tmp_path: Path, kind: str) -> None:
    faiss = library("faiss", "faiss")
    made = faiss.index_factory(DIM, kind)
    made.train(VECTORS)
    if kind.startswith("IDMap"):
        made.add_with_ids(VECTORS, np.arange(len(TEXTS)) + 100)
    else:
        made.add(VECTORS)
    faiss.write_index(made, str(tmp_path / "x.faiss"))
    take_over(index, from_faiss(tmp_path / "x.faiss", TEXTS, IDS, METADATA))
    assert_taken_over(index)
    (rows,) = from_faiss(made, TEXTS)
    assert rows.ids == [str(at + 100 * kind.startswith("IDMap")) for at in range(len(TEXTS))]
    with pytest.raises(InputError, match="got 3 texts for 12 vectors"):
        next(from_faiss(made, TEXTS[:3]))
    with pytest.raises(DiskError, match="there is no FAISS index"):
        next(from_faiss(tmp_path / "none", TEXTS))


def test_faiss_there_and_back_on_the_command_line(full: Index, tmp_path: Path) -> None:
    faiss = library("faiss", "faiss")
    with Index.create(tmp_path / "x.gsm", never) as saved:
        saved.add(TEXTS, IDS, METADATA, vectors=VECTORS)
    done = gossamer("export", tmp_path / "x.gsm", "--to", tmp_path / "x.faiss", "--json")
    assert json.loads(done) == {"file": str(tmp_path / "x.faiss"), "documents": len(TEXTS), "passages": len(TEXTS)}
    _, nearest = faiss.read_index(str(tmp_path / "x.faiss")).search(VECTORS[3:4], 1)
    lines = [json.loads(line) for line in (tmp_path / "x.faiss.jsonl").read_text().splitlines()]
    assert lines[int(nearest[0, 0])] == {"id": "d3", "text": TEXTS[3]} | METADATA[3]
    wrong = gossamer("import", "faiss", tmp_path / "x.faiss", "--texts", tmp_path / "x.faiss.jsonl",
                     "--to", tmp_path / "y.gsm", fails=True)  # fmt: skip
    assert "vectors have 6 dimensions, but the index's encoder 'minilm' gives 384" in wrong
    assert not (tmp_path / "y.gsm").exists()


def test_faiss_writes_what_it_reads(full: Index, tmp_path: Path) -> None:
    library("faiss", "faiss")
    assert to_faiss(full, tmp_path / "x.faiss") == len(TEXTS)
    rows = [json.loads(line) for line in (tmp_path / "x.faiss.jsonl").read_text().splitlines()]
    texts, ids = [row.pop("text") for row in rows], [row.pop("id") for row in rows]
    with Index(never) as other:
        take_over(other, from_faiss(tmp_path / "x.faiss", texts, ids, rows))
        assert_taken_over(other)


def test_chroma(index: Index, tmp_path: Path) -> None:
    chromadb = library("chromadb", "chroma")
    client = chromadb.PersistentClient(str(tmp_path), chromadb.config.Settings(anonymized_telemetry=False))
    made = client.create_collection("notes", embedding_function=None)
    made.add(IDS, VECTORS, METADATA, TEXTS)
    take_over(index, from_chroma(tmp_path))
    assert_taken_over(index)
    made.add(["silent"], VECTORS[:1])
    client.create_collection("others", embedding_function=None)
    with pytest.raises(InputError, match=r"several collections: choose among '\w+', '\w+'"):
        next(from_chroma(tmp_path))
    with pytest.raises(DiskError, match="no Chroma database"):
        next(from_chroma(tmp_path / "none"))
    with Index(never) as other:
        assert take_over(other, from_chroma(tmp_path, "notes")) == (len(TEXTS), 1)
        assert_taken_over(other)


def test_lancedb(index: Index, tmp_path: Path) -> None:
    lancedb = library("lancedb", "lancedb")
    database = lancedb.connect(str(tmp_path / "db"))
    rows = zip(IDS, TEXTS, VECTORS.tolist(), METADATA, strict=True)
    made = database.create_table("notes", [{"id": i, "body": t, "vector": v} | m for i, t, v, m in rows])
    take_over(index, from_lancedb(tmp_path / "db", text="body"))
    assert_taken_over(index)
    (found,) = from_lancedb(made, text="body")
    assert found.ids == IDS
    with pytest.raises(InputError, match="no table 'others': choose among 'notes'"):
        next(from_lancedb(tmp_path / "db", "others"))
    with pytest.raises(DiskError, match="no LanceDB database"):
        next(from_lancedb(tmp_path / "none"))


def test_vectors_of_another_length_are_refused(index: Index) -> None:
    index.add(TEXTS, vectors=VECTORS)
    with pytest.raises(DimensionError, match="vectors have 3 dimensions, but 6 are expected"):
        take_over(index, [Rows(["a"], ["a text"], np.ones((1, 3), np.float32), [{}])])


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("faiss", "faiss", lambda path: next(from_faiss(path, []))),
        ("chromadb", "chroma", lambda path: next(from_chroma(path))),
        ("lancedb", "lancedb", lambda path: next(from_lancedb(path))),
        ("pyarrow.parquet", "parquet", lambda path: next(from_parquet(path))),
    ],
)
def test_a_missing_extra_is_named(
    module: str, extra: str, use: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"gossamer\[{extra}\]"):
        use(tmp_path)


def gossamer(*arguments: object, fails: bool = False) -> str:
    """Run a command in this process; returns all that it printed."""
    done = CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200"})
    assert bool(done.exit_code) == fails, done.output
    return done.output


def test_parquet_on_the_command_line(tmp_path: Path) -> None:
    """Into an index whose encoder is there, and out of it again."""
    library("pyarrow", "parquet")
    vectors = np.random.default_rng(1).normal(size=(len(TEXTS), 384)).astype(np.float32)
    with Index(lambda texts: vectors[: len(texts)]) as index:
        index.add(TEXTS, IDS, METADATA, vectors=vectors)
        to_parquet(index, tmp_path / "x.parquet")
    done = gossamer("import", "parquet", tmp_path / "x.parquet", "--to", tmp_path / "x.gsm")
    assert done.startswith("12 documents taken over in ")
    assert "holds 12" in " ".join(done.split())
    done = " ".join(gossamer("export", tmp_path / "x.gsm", "--to", tmp_path / "y.parquet").split())
    assert done.startswith("12 documents written to ")
    assert "as 12 passages: a row for each passage" in done
    assert f"for a copy of the index itself: gossamer backup {tmp_path / 'x.gsm'} COPY.gsm" in done
    with Index(lambda texts: vectors[: len(texts)]) as index:
        take_over(index, from_parquet(tmp_path / "y.parquet"))
        assert_taken_over(index, vectors)
    wrong = gossamer("export", tmp_path / "x.gsm", "--to", tmp_path / "x.csv", fails=True)
    assert "neither in .parquet nor in .faiss" in wrong
    missing = gossamer("import", "parquet", tmp_path / "none.parquet", "--to", tmp_path / "z.gsm", fails=True)
    assert "there is no Parquet file at" in missing
    assert not (tmp_path / "z.gsm").exists()


def test_an_import_that_fails_leaves_no_index(full: Index, tmp_path: Path) -> None:
    """Else the next try could not choose the encoder."""
    to_parquet(full, tmp_path / "x.parquet")
    for encoder, says in (("lsa", "learns from the corpus"), ("minilm", "6 dimensions")):
        refused = gossamer(
            "import", "parquet", tmp_path / "x.parquet", "--to", tmp_path / "x.gsm", "--encoder", encoder, fails=True
        )
        assert says in refused
        assert not (tmp_path / "x.gsm").exists()


def test_parquet_without_vectors_is_for_the_index_command(tmp_path: Path) -> None:
    parquet, arrow = library("pyarrow.parquet", "parquet"), library("pyarrow", "parquet")
    parquet.write_table(arrow.table({"body": TEXTS}), tmp_path / "x.parquet")
    with pytest.raises(ParameterError, match="rows without vectors are for gossamer index"):
        next(from_parquet(tmp_path / "x.parquet", text="body"))


def test_an_export_says_how_many_documents_its_rows_are_of(tmp_path: Path) -> None:
    library("pyarrow", "parquet")
    with Index.create(tmp_path / "x.gsm", "lsa", max_tokens=20) as ix:
        ix.add([" ".join(f"{text}." for text in TEXTS), "the owl eats figs"])
        passages = ix.info().passages
    assert passages > 2
    done = gossamer("export", tmp_path / "x.gsm", "--to", tmp_path / "x.parquet")
    assert f"2 documents written to {tmp_path / 'x.parquet'}, as {passages} passages" in " ".join(done.split())
