"""`gossamer eval run` on a collection of one's own, and commands that gossamer-lab adds."""

from __future__ import annotations

import gzip
import json
import math
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from cli.conftest import TEXTS, Run
from gossamer.cli.evaluation import JudgedCollection, Measures, measure, read_answers, read_collection
from gossamer.cli.extensions import GROUP, add_extensions
from gossamer.cli.suggestions import SETTINGS, suggest
from gossamer.errors import DiskError, InputError
from gossamer.index import Index

QUERIES = {"animals": "Which animals hunt in the forest?", "food": "baking in the oven", "space": "planets and moons"}


def write_collection(folder: Path, *, zipped: bool = False, qrels: str = "qrels.tsv") -> Path:
    """The texts of the other tests, with a query for each topic."""
    files = {
        "corpus.jsonl": "\n".join(
            json.dumps({"_id": id, "title": "", "text": text}) for id, (text, _) in TEXTS.items()
        ),
        "queries.jsonl": "\n".join(json.dumps({"_id": id, "text": text}) for id, text in QUERIES.items()),
        qrels: "query-id\tcorpus-id\tscore\n" + "\n".join(f"{row['topic']}\t{id}\t1" for id, (_, row) in TEXTS.items()),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(("zipped", "qrels"), [(False, "qrels.tsv"), (True, "qrels/test.tsv")])
def test_a_collection_of_ones_own(run: Run, tmp_path: Path, zipped: bool, qrels: str) -> None:
    folder = write_collection(tmp_path / "mine", zipped=zipped, qrels=qrels)
    told = json.loads(run("eval", "run", folder, "--encoder", "lsa", "--json").stdout)
    assert (told["collection"], told["documents"], told["queries"], told["encoder"]) == ("mine", 12, 3, "lsa")
    assert [row["method"] for row in told["methods"]] == ["hybrid", "dense", "words"]
    for row in told["methods"]:
        assert 30 < row["nDCG@10"] <= 100
        assert 30 < row["recall@10"] <= 100
        assert row["MRR@10"] == 100  # the first answer is right for each of the three
        assert row["seconds"] > 0
    assert told["methods"][0]["recall@10"] > told["methods"][2]["recall@10"]  # not every answer shares a word


def test_it_is_shown_as_a_table(run: Run, tmp_path: Path) -> None:
    write_collection(tmp_path / "data" / "mine")
    shown = run("eval", "run", "mine", "--model", "lsa", "--methods", "dense", "--data", tmp_path).stdout.splitlines()
    assert shown[0].startswith("mine: 12 documents, 3 queries, encoder lsa, built in ")
    assert shown[1].split() == ["method", "nDCG@10", "recall@10", "MRR@10", "seconds"]
    assert shown[2].split()[0] == "dense"
    assert len(shown) == 3


def test_suggestions_tell_what_settings_would_gain(run: Run, tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "mine")
    told = json.loads(run("eval", "run", folder, "--encoder", "lsa", "--suggest", "--json").stdout)["suggestions"]
    assert [gain["setting"] for gain in told["gains"]] == list(SETTINGS)
    assert (told["chosen"], told["queries"]) == (None, 3)
    shown = run("eval", "run", folder, "--encoder", "lsa", "--suggest").stdout
    assert "3 queries are too few to choose settings by: judge at least 20." in shown
    assert re.search(r"hybrid=0.3 +[+-][0-9.]+ +[+-][0-9.]+ +[+-][0-9.]+\n", shown)


@pytest.mark.parametrize("meaning", ["wrong", "right"])
def test_a_setting_is_suggested_where_it_surely_gains(meaning: str) -> None:
    """Words find every answer; vectors find none, or all of them."""
    n = 60
    numbers = np.random.default_rng(0).permutation(n) if meaning == "wrong" else np.arange(n)
    directions = np.random.default_rng(1).normal(size=(n, 16)).astype(np.float32)

    def encode(texts: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        """Queries begin with their number, documents with their word."""
        rows = [numbers[int(text[4:])] if text.startswith("word") else int(text.split()[0]) for text in texts]
        return directions[rows]

    documents = {f"d{at}": f"word{at}" for at in range(n)}
    queries = {f"q{at}": f"{at} word{at}" for at in range(n)}
    answers = {f"q{at}": {f"d{at}": 1} for at in range(n)}
    with Index(encode) as index:
        index.add(documents.values(), documents.keys())
        found = suggest(index, JudgedCollection("mine", documents, queries, answers))
    gains = {gain.setting: gain for gain in found.gains}
    if meaning == "right":
        assert found.chosen is None
        assert found.sentence == "No setting is better than the default on half of the queries: keep the default."
        return
    assert gains["hybrid=False"].high < 0.0 < gains["hybrid=1.2"].low <= gains["hybrid=1.2"].mean
    assert found.chosen is not None
    assert found.chosen.setting == "hybrid=1.2"
    assert found.chosen.is_sure
    assert found.sentence.startswith("hybrid=1.2 was best on half of the queries, and gains +")
    assert found.sentence.endswith("on the other half: pass it to search.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere",), "there is no collection 'nowhere'.*--data"),
        (("nowhere", "--data", "{folder}"), "there is no collection 'nowhere', neither here nor at"),
        (("{folder}", "--methods", "hybrid,magic"), "there is no method 'magic': choose among hybrid, dense, words"),
        (("{folder}", "--encoder", "word2vec"), "no encoder 'word2vec'"),
        (("{empty}",), "has no corpus.jsonl: a collection is corpus.jsonl, queries.jsonl and qrels.tsv"),
    ],
)
def test_errors_say_what_to_do(arguments: tuple[str, ...], says: str, run: Run, tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "mine")
    (tmp_path / "empty").mkdir()
    given = [each.format(folder=folder, empty=tmp_path / "empty") for each in arguments]
    result = run("eval", "run", *given, ok=False, GOSSAMER_DATA=str(tmp_path / "missing"))
    assert result.exit_code == 1
    assert re.match(f"error: .*{says}", result.stderr)


def test_measures_by_hand() -> None:
    answers = {"a": 2, "b": 1}
    ideal = 2 + 1 / math.log2(3)
    assert measure(["a", "b"], answers) == Measures(1.0, 1.0, 1.0)
    assert measure(["x", "a"], answers) == pytest.approx((2 / math.log2(3) / ideal, 0.5, 0.5))
    assert measure([*"uvwxyz", "a"], answers, depth=5) == (0.0, 0.0, 0.0)
    assert measure([], answers) == (0.0, 0.0, 0.0)


def test_a_querys_own_text_is_no_answer(tmp_path: Path) -> None:
    rows = [{"_id": "1", "text": "same"}, {"_id": "2", "text": "other"}, {"_id": "3", "text": " "}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "same"}\n\n{"_id": "2", "text": "unjudged"}\n')
    (tmp_path / "qrels.tsv").write_text("1\t1\t1\n1\t2\t2\n2\t3\t1\n2\t1\t0\n")
    found = read_collection(str(tmp_path))
    assert found.documents == {"1": "same", "2": "other"}
    assert found.queries == {"1": "same"}
    assert found.answers["1"] == {"2": 2}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("corpus.jsonl", "{not json", r"corpus\.jsonl:1: not valid JSON"),
        ("corpus.jsonl", "[1]", r"corpus\.jsonl:1: expected an object"),
        ("qrels.tsv", "q d 1\nanimals\tfox\tgood\n", r"qrels\.tsv:2: expected query, document and grade"),
        ("qrels.tsv", "animals\tunicorn\t1\n", "no query has an answer among its 12 documents"),
    ],
)
def test_files_that_are_broken(tmp_path: Path, name: str, text: str, says: str) -> None:
    (write_collection(tmp_path) / name).write_text(text)
    with pytest.raises(InputError, match=says):
        read_collection(str(tmp_path))


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv.gz").write_bytes(b"not compressed")
    with pytest.raises(DiskError, match=r"qrels\.tsv\.gz cannot be read"):
        read_answers(tmp_path / "qrels.tsv.gz", {})


# -- commands of other packages --------------------------------------------------------------------


def tool(*points: EntryPoint) -> typer.Typer:
    app, group = typer.Typer(), typer.Typer()
    group.command("run")(lambda: typer.echo("own"))
    app.add_typer(group, name="eval")
    add_extensions(app, points)
    return app


def test_commands_that_are_not_installed_say_what_to_install() -> None:
    runner = CliRunner()
    for arguments in (
        ["bench", "search", "--quick"],
        ["eval", "paper", "--table", "1"],
        ["eval", "compare", "scifact"],
    ):
        done = runner.invoke(tool(), arguments)
        assert done.exit_code == 1
        assert "is part of gossamer-lab, which is not installed: run pip install ./lab" in done.stderr
    assert runner.invoke(tool(), ["eval", "run"]).stdout == "own\n"
    assert "paper" not in runner.invoke(tool(), ["eval", "--help"]).stdout


added = typer.Typer()
added.command("paper")(lambda: typer.echo("the paper"))
added.command("tree")(lambda: typer.echo("the tree"))


def test_commands_join_a_group_or_form_one() -> None:
    app = tool(EntryPoint("eval", "cli.test_eval:added", GROUP), EntryPoint("more", "cli.test_eval:added", GROUP))
    for arguments, says in ((["eval", "run"], "own"), (["eval", "paper"], "the paper"), (["more", "tree"], "the tree")):
        assert CliRunner().invoke(app, arguments).stdout == f"{says}\n"


def test_a_package_that_cannot_be_loaded_breaks_its_own_command_alone() -> None:
    app = tool(EntryPoint("bench", "nowhere_at_all:app", GROUP))
    done = CliRunner().invoke(app, ["bench", "search"])
    assert done.exit_code == 1
    assert "gossamer bench cannot be loaded from nowhere_at_all:app" in done.stderr
    assert CliRunner().invoke(app, ["eval", "run"]).exit_code == 0
