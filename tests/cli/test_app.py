"""The command line as a whole: help, completion, what it imports, exit codes, and how errors are told."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
import typer
from rich.cells import cell_len

import gossamer
from cli.conftest import Run
from gossamer.cli.app import app
from gossamer.cli.command import complain
from gossamer.errors import InputError, NotAnIndexError
from gossamer.files import file_lock
from gossamer.files.file_lock import LockFile
from gossamer.index import Index
from gossamer.lexical.scores import AUTO

HEAVY = ("numba", "sklearn", "scipy", "torch", "onnxruntime", "transformers", "numpy", "sqlite3")


def commands(group: Any = None, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that help shows, as it is typed."""
    top: Any = group or typer.main.get_command(app)
    for name, command in top.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        elif not command.hidden:
            yield (*before, name)


ALL = list(commands())
OURS = [command for command in ALL if command[0] != "bench"]


def shell(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A real process."""
    command = [sys.executable, "-c", "from gossamer.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)


def test_all_commands_are_there() -> None:
    expected = [
        "demo",
        "index",
        "search",
        "explain",
        "topics",
        "tree",
        "info",
        "delete",
        "compact",
        "rebuild",
        "reencode",
        "backup",
        "repair",
        "export",
        "serve",
        "mcp",
    ]
    stores = ["import chroma", "import lancedb", "import parquet", "import faiss"]
    cluster = ["cluster up", "cluster status", "cluster index", "cluster search", "cluster rebalance"]
    keys = ["keys new", "keys list", "keys remove"]
    models = ["models list", "models pull", "models path"]
    lab = (
        [
            "eval compare",
            "eval paper",
            "eval defaults",
            "eval fusion",
            "eval robustness",
            "eval all",
            "eval check",
            "eval tree",
            "eval labels",
        ]
        if ALL != OURS
        else []
    )
    assert [" ".join(command) for command in OURS] == [*expected, *stores, *cluster, *keys, *models, "eval run", *lab]


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_help_has_two_examples(command: tuple[str, ...], run: Run) -> None:
    text = run(*command, "--help", columns=200).stdout.partition("Examples:")[2]
    assert len(re.findall(rf"gossamer {' '.join(command)}\b", text)) >= 2


@pytest.mark.parametrize("command", OURS, ids=" ".join)
def test_every_command_takes_json_and_debug(command: tuple[str, ...], run: Run) -> None:
    text = run(*command, "--help").stdout
    assert "--json" in text
    assert "--debug" in text


@pytest.mark.parametrize("command", [(), ("models",), *OURS], ids=" ".join)
def test_help_fits_a_narrow_terminal(command: tuple[str, ...], run: Run) -> None:
    for line in run(*command, "--help", columns=60).stdout.splitlines():
        assert cell_len(line) <= 60


def test_help_says_what_words_weigh(run: Run) -> None:
    assert f"{AUTO[0]} to {AUTO[2]}, by the query" in run("search", "--help", columns=200).stdout


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from gossamer.cli.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_search_imports_what_it_needs_and_no_more(ready: Path) -> None:
    """What keeps `gossamer search` below a second."""
    spared: tuple[str, ...] = (
        "sklearn",
        "torch",
        "pandas",
        "pyarrow",
        "httpx",
        "fastapi",
        "gossamer.server",
        "gossamer.readers",
    )
    if int(version("scipy").split(".")[1]) > 11:  # SciPy 1.11 imports it for what a search needs
        spared += ("scipy.sparse",)
    code = (
        "import sys; from typer.testing import CliRunner; from gossamer.cli.app import app\n"
        f"done = CliRunner().invoke(app, ['search', {str(ready)!r}, 'foxes'])\n"
        f"print(done.exit_code, [name for name in {spared!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0 []"


def test_version(run: Run) -> None:
    assert run("--version").stdout.strip() == gossamer.__version__


def test_completion_script() -> None:
    done = shell(_GOSSAMER_COMPLETE="source_bash")
    assert done.returncode == 0
    assert "complete" in done.stdout
    assert "gossamer" in done.stdout


def test_completion_of_commands_and_indices(tmp_path: Path) -> None:
    (tmp_path / "notes.gsm").mkdir()
    (tmp_path / "other").mkdir()

    def complete(words: str, at: int) -> list[str]:
        done = shell(_GOSSAMER_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(at))
        return done.stdout.split()

    assert complete("gossamer sea", 1) == ["search"]
    assert complete("gossamer models p", 2) == ["pull", "path"]
    assert complete(f"gossamer search {tmp_path}/n", 2) == [f"{tmp_path}/notes.gsm"]
    assert complete(f"gossamer search {tmp_path}/o", 2) == [f"{tmp_path}/other/"]
    assert complete("gossamer index notes --encoder l", 4) == ["lsa"]


def test_usage_errors_are_two(run: Run, ready: Path) -> None:
    for arguments in (
        ("nonsense",),
        ("search", ready, "x", "--nonsense"),
        ("search", ready),
        ("search", ready, " "),
        ("search", ready, "x", "-k", "0"),
        ("search", ready, "x", "--where", "{not json"),
        ("search", ready, "x", "--where", "[1]"),
        ("search", ready, "x", "--no-hybrid", "--weight", "0.3"),
        ("index", "somewhere", "else"),
        ("delete", ready),
        ("delete", ready, "fox", "--where", "{}"),
        ("explain", ready, "x"),
    ):
        result = run(*arguments, ok=False)
        assert result.exit_code == 2, arguments
        assert not result.stdout
        assert result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search", "{missing}", "x"), "there is no index at .*make one with: gossamer index FILES --to"),
        (("info", "{folder}"), "is not an index"),
        (("search", "{texts}", "x"), "texts.jsonl is a file, not an index"),
        (("repair", "{texts}"), "texts.jsonl is a file, not an index, which is a folder"),
        (("backup", "{missing}", "{missing}.copy"), "there is no index at .*make one with: gossamer index"),
        (("search", "{ready}", "x", "--where", '{"year": {"$near": 3}}'), r"\$near"),
        (("search", "{ready}", "x", "--within", "999999"), "999999"),
        (("explain", "{ready}", "x", "unicorn"), "id 'unicorn' is not in the index, which holds 12 documents"),
        (("explain", "{ready}", "fox", "at night"), "gossamer explain .*texts.gsm 'at night' fox"),
        (("tree", "{ready}", "--within", "999999"), "999999"),
        (("index", "{missing}", "--to", "{missing}.gsm"), "there is no file or folder"),
        (("index", "{texts}", "--to", "{ready}", "--encoder", "word2vec"), "no encoder 'word2vec'.*--encoder minilm"),
        (("index", "{texts}", "--to", "{ready}", "--encoder", "st:x"), "built with the encoder 'lsa'"),
        (("index", "{texts}", "--to", "{ready}", "--max-tokens", "9"), "--max-tokens is chosen when"),
        (("index", "{texts}", "--to", "{ready}", "--language", "german"), "--language is chosen when"),
        (("index", "{ready}"), "is an index, not a folder of documents"),
        (("index", "{texts}", "--to", "{folder}"), "--to names an index.* is another folder"),
        (("search", "fox", "{ready}"), "fox is no index, but .* is one.*: gossamer search .*texts.gsm fox"),
        (("info", "/"), "the folder / is not an index: name one, as in notes.gsm"),
        (("models", "pull", "bert"), "there is no model 'bert'"),
        (("models", "path", "bert"), "there is no model 'bert'"),
    ],
)
def test_errors_are_one_and_a_sentence(
    arguments: tuple[str, ...], says: str, run: Run, ready: Path, tmp_path: Path
) -> None:
    (tmp_path / "some.txt").write_text("A file in the folder.")
    places = {"{ready}": str(ready), "{missing}": str(tmp_path / "missing"), "{folder}": str(tmp_path)}
    places["{texts}"] = str(ready.with_name("texts.jsonl"))
    for name, place in places.items():
        arguments = tuple(each.replace(name, place) for each in arguments)
    result = run(*arguments, ok=False)
    assert result.exit_code == 1
    assert not result.stdout
    assert result.stderr.startswith("error: ")
    assert re.search(says, result.stderr, re.DOTALL)
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "arguments", [("info", "."), ("search", ".", "q"), ("search", "", "q"), ("tree", "."), ("serve", ".")]
)
def test_the_current_folder_is_named_where_it_is_no_index(
    arguments: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "letters" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "letters")
    refused = run(*arguments, ok=False, columns=300)
    assert refused.exit_code == 1
    assert "the folder . is not an index: make one of it: gossamer index . --to letters.gsm" in refused.stderr
    monkeypatch.chdir(tmp_path / "letters" / "deep")
    assert "gossamer index .. --to letters.gsm" in run("info", "..", ok=False, columns=300).stderr


@pytest.mark.parametrize("to", [".", ""])
def test_an_index_is_not_made_in_the_current_folder(
    to: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("A text.")
    refused = run("index", "a.txt", "--to", to, "--encoder", "lsa", ok=False, columns=300)
    assert refused.exit_code == 1
    assert "--to names an index, new or there already, and . is another folder: as in notes.gsm" in refused.stderr


def test_the_index_in_the_current_folder(run: Run, ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ready)
    assert "documents   12" in run("info", ".").stdout


def test_words_without_quotes(run: Run, ready: Path) -> None:
    refused = run("search", ready, "how", "to", "bake", ok=False, columns=200)
    assert refused.exit_code == 2
    assert "put a query of several words in quotes: 'how to bake'" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search", "{ready}", "-flask"), "no such option: -f; .* search INDEX -- -flask "),
        (("search", "-k", "3", "{ready}", "-wolf forest", "-q"), " search INDEX -- '-wolf forest' "),
        (("explain", "{ready}", "-wolf forest", "fox"), " explain INDEX -- '-wolf forest' DOC_ID "),
        (("cluster", "search", "notes.cluster", "-flask"), " cluster search CLUSTER -- -flask "),
        (("search", "{ready}", "x", "--nonsense"), "No such option: --nonsense"),
    ],
)
def test_a_query_that_begins_with_a_dash(arguments: tuple[str, ...], says: str, run: Run, ready: Path) -> None:
    refused = run(*(each.replace("{ready}", str(ready)) for each in arguments), ok=False, columns=300)
    assert refused.exit_code == 2
    assert re.search(says, refused.stderr)


def test_a_query_after_two_dashes(run: Run, ready: Path) -> None:
    for arguments in (("--json", ready, "--", "-wolves forest"), ("--json", "--", ready, "-wolves forest")):
        assert "wolf" not in [hit["id"] for hit in json.loads(run("search", *arguments).stdout)["hits"]]
    assert json.loads(run("explain", ready, "--json", "--", "-wolves forest", "fox").stdout)["id"] == "fox"


def test_debug_shows_where_an_error_comes_from(run: Run, tmp_path: Path) -> None:
    for result in (
        run("info", tmp_path / "none.gsm", "--debug", ok=False),
        run("info", tmp_path / "none.gsm", ok=False, GOSSAMER_DEBUG="1"),
    ):
        assert isinstance(result.exception, NotAnIndexError)
    assert "Traceback" in shell("info", tmp_path / "none.gsm", "--debug").stderr


def test_commands_beside_an_open_index(run: Run, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lock, "_TOLD_AFTER", 0.2)
    with Index.open(own) as index:
        (id,) = [hit.id for hit in index.search("fox", k=1)]
        run("delete", own, id)
        assert id not in index
        lock = LockFile(own / "writer.lock")
        lock.acquire()
        Timer(1.0, lock.release).start()
        assert len(json.loads(run("search", own, "fox", "--json").stdout)["hits"]) == 10  # reading does not wait
        (id,) = [hit.id for hit in index.search("fox", k=1)]
        assert "waiting for process" in run("delete", own, id).stderr
        assert id not in index


def test_an_error_without_a_message_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    complain(InputError())
    assert capsys.readouterr().err == "error: InputError\n"


def test_a_closed_pipe_is_no_error(ready: Path) -> None:
    gossamer_ = f"{sys.executable} -c 'from gossamer.cli import main; main()'"
    for command in (f"tree {ready} --depth 9", "models list --json"):
        line = f"set -o pipefail; {gossamer_} {command} | true"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_misspelt_command(run: Run) -> None:
    refused = run("serch", ok=False, columns=200)
    assert refused.exit_code == 2
    assert "No such command 'serch'. Did you mean 'search'" in refused.stderr
    assert "'list'" not in run("isert", ok=False, columns=200).stderr, "which is hidden"
    assert "No such command 'qqqq'." in run("qqqq", ok=False, columns=200).stderr


@pytest.mark.parametrize(
    ("name", "here"), [("query", "search INDEX QUERY"), ("ls", "info INDEX"), ("rm", "delete"), ("get", "search")]
)
def test_commands_that_are_called_otherwise(run: Run, name: str, here: str) -> None:
    refused = run(name, "notes.gsm", "--top-k", 3, ok=False)
    assert refused.exit_code == 1
    assert f"there is no command {name!r}: here it is gossamer {here}" in refused.stderr
    assert f"\n│ {name} " not in run("--help").stdout
