"""`gossamer topics`: groups as a table, for people and for other programs."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bag import encode
from cli.conftest import Run
from explain.corpus import documents
from gossamer import Client, Index
from server.running import running


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of five themes, with the theme as metadata; one document has none."""
    path = tmp_path_factory.mktemp("news") / "news.gsm"
    texts, themes = documents(200)
    with Index.create(path, "lsa") as index:
        metadata: list[dict[str, Any]] = [{"theme": theme} for theme in themes]
        metadata[0] = {}
        index.add(texts, [f"d{at}" for at in range(200)], metadata)
    return path


def read(run: Run, *arguments: object) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


def test_as_json(run: Run, news: Path) -> None:
    rows = read(run, "topics", news, "--n", "5")["topics"]
    assert len(rows) == 5
    assert sum(row["size"] for row in rows) == 200
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    assert all(row["label"] and row["terms"] and row["exemplars"] for row in rows)
    assert [row["size"] for row in rows] == sorted((row["size"] for row in rows), reverse=True)
    assert len(read(run, "topics", news)["topics"]) == 12


def test_levels_lie_in_each_other(run: Run, news: Path) -> None:
    rows = read(run, "topics", news, "--levels", "3,9")["topics"]
    above = {row["id"]: row for row in rows if row["level"] == 0}
    below = [row for row in rows if row["level"] == 1]
    assert (len(above), len(below)) == (3, 9)
    for id, row in above.items():
        assert sum(each["size"] for each in below if each["within"] == id) == row["size"]
    assert rows[1]["within"] == rows[0]["id"], "each stands below the one it lies in"


def test_by_a_field(run: Run, news: Path) -> None:
    found = read(run, "topics", news, "--n", "5", "--by", "theme")
    assert len(found["values"]) == 6
    assert "none" in found["values"]
    total: dict[str, int] = {}
    for row in found["topics"]:
        assert sum(row["by"].values()) == row["size"]
        for value, count in row["by"].items():
            total[value] = total.get(value, 0) + count
    assert total["none"] == 1
    assert total["sky"] == 40
    shown = run("topics", news, "--n", "5", "--by", "theme").stdout
    assert "sky" in shown.splitlines()[0]
    assert "%" in shown


def test_for_people(run: Run, news: Path) -> None:
    lines = run("topics", news, "--n", "3", "--examples", "0").stdout.splitlines()
    assert lines[0].split() == ["share", "documents", "id", "topic"]
    assert sum("%" in line for line in lines) == 3


def test_as_a_file(run: Run, news: Path, tmp_path: Path) -> None:
    run("topics", news, "--n", "4", "--by", "theme", "--csv", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert sum(int(row["by:sky"]) for row in rows) == 40
    parquet = pytest.importorskip("pyarrow.parquet")
    run("topics", news, "--n", "4", "--parquet", tmp_path / "t.parquet")
    assert parquet.read_table(tmp_path / "t.parquet").num_rows == 4


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--by", "colour"), 1, "choose one of theme"),
        (("--levels", "3,x"), 2, "3,x"),
        (("--levels", "3", "--n", "3"), 2, "not both"),
        (("--csv", "nowhere/at/all.csv"), 1, "cannot be written"),
    ],
)
def test_errors(run: Run, news: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = run("topics", news, *arguments, ok=False)
    assert done.exit_code == code
    assert said in " ".join(done.output.split())


def test_where_other_texts_would_be() -> None:
    texts, themes = documents(150)
    with Index(encode) as index:
        index.add(texts, [f"d{at}" for at in range(150)])
        topics = index.topics(5)
        groups = topics.assign(texts)
        agree = sum(topics.assignments[f"d{at}"] == group for at, group in enumerate(groups))
        assert agree > 140
        assert topics.assign(texts[3]) == groups[3:4]
        assert topics.assign([]) == []
        assert [row["size"] for row in topics.rows()] == [
            list(topics.assignments.values()).count(concept.id) for concept in topics.concepts
        ]
    assert len(themes) == 150


def test_a_group_is_named_for_good(run: Run, news: Path, tmp_path: Path) -> None:
    path = tmp_path / "news.gsm"
    shutil.copytree(news, path)
    first, second, *_ = read(run, "topics", path, "--n", "5")["topics"]
    renamed = read(run, "topics", path, "--n", "5", "--rename", f"{first['id']}= First of all ")["topics"]
    assert [row["label"] for row in renamed][:2] == ["First of all", second["label"]]
    assert read(run, "topics", path, "--n", "5")["topics"] == renamed
    again = read(run, "topics", path, "--n", "5", "--rename", f"{first['id']}=")["topics"]
    assert again[0]["label"] == first["label"]
    for wrong in ("no id", "x=name", "=name"):
        assert "812=" in run("topics", path, "--rename", wrong, ok=False).output
    assert "999999" in run("topics", path, "--rename", "999999=Name", ok=False).output


def test_the_same_concept_is_called_the_same_everywhere(run: Run, news: Path, tmp_path: Path) -> None:
    """By the index, on the command line, over HTTP and by the client; one is named by hand."""
    path = tmp_path / "news.gsm"
    shutil.copytree(news, path)
    query = "bread dough oven"
    with Index.open(path) as index:
        index.rename_concept(index.search(query)[0].path[1].id, "Named by hand")
        expected = {step.id: step.label for hit in index.search(query, k=5) for step in hit.path}
        assert "Named by hand" in expected.values()
        for id, label in expected.items():
            assert index.concept(id).label == label
        assert index.labels(expected) == expected
    found = read(run, "search", path, query, "-k", "5")["hits"]
    assert {step["id"]: step["label"] for hit in found for step in hit["path"]} == expected
    shown = run("search", path, query, "-k", "5", columns=200).output
    assert "Named by hand" in shown
    with running({"main": Index.open(path)}) as served, Client(served.url) as client:
        hits = served.http.post("/v1/search", json={"query": query, "k": 5}).json()["hits"]
        assert {step["id"]: step["label"] for hit in hits for step in hit["path"]} == expected
        assert {id: client.concept(id).label for id in expected} == expected
        whole = served.http.get("/v1/map", params={"depth": 64, "labels": "true"}).json()
        assert expected.items() <= dict(zip(whole["ids"], whole["labels"], strict=True)).items()
        client.rename_concept(next(iter(expected)), "Everything")
        assert client.concept(next(iter(expected))).label == "Everything"


def test_groups_that_hold_parts_of_documents_alone_are_counted(run: Run, tmp_path: Path) -> None:
    texts = {f"{name}.txt": " ".join(f"The {name} number {i} is here." for i in range(60)) for name in ("owl", "fox")}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    run("index", tmp_path, "--to", tmp_path / "x.gsm", "--encoder", "lsa", "--max-tokens", "40")
    found = json.loads(run("topics", tmp_path / "x.gsm", "--n", "6", "--json").stdout)["topics"]
    empty = sum(not row["size"] for row in found)
    assert len(found) == 6
    assert empty >= 4
    done = run("topics", tmp_path / "x.gsm", "--n", "6", columns=200)
    assert " 0.0%" not in done.stdout
    assert f"{empty} more groups hold parts of documents that are mostly in others" in done.stderr
