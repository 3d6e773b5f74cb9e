"""`gossamer demo` and the docstrings it collects."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from cli.conftest import Run
from gossamer.cli import stdlib
from gossamer.cli.demo import QUESTIONS
from gossamer.index import Index


@pytest.fixture(scope="module")
def collected() -> list[stdlib.Docstring]:
    return stdlib.collect()


def test_docstrings_are_many_and_each_is_there_once(collected: list[stdlib.Docstring]) -> None:
    assert 2_000 < len(collected) < 10_000
    by_id = {each.id: each for each in collected}
    assert len(by_id) == len(collected)
    assert len({each.text.partition(": ")[2].lower() for each in collected}) == len(collected)
    run = by_id["subprocess.run"]
    assert run.text == "subprocess.run: Run command with arguments and return a CompletedProcess instance."
    assert run.metadata["module"] == "subprocess"
    assert run.metadata["kind"] == "function"
    assert run.metadata["line"] > 1
    assert by_id["gzip"].kind == "module"
    assert by_id["argparse.ArgumentParser"].kind == "class"
    assert by_id["subprocess.Popen.communicate"].kind == "method"
    assert by_id["sorted"].metadata == {"module": "builtins", "kind": "function"}
    assert "os.path.join" in by_id
    assert not any(part.startswith("_") for each in collected for part in each.id.split("."))


def test_a_part_comes_from_all_over(collected: list[stdlib.Docstring]) -> None:
    some = stdlib.evenly(collected, 100)
    assert len({each.id for each in some}) == 100
    assert len({each.module.split(".")[0] for each in some}) > 30
    assert stdlib.evenly(collected, None) == collected


def test_signatures_and_short_texts_are_passed_over() -> None:
    def text(docstring: str | None) -> list[str]:
        return [each.text for each in stdlib.as_document("m.f", docstring, "m", "function", 1)]

    assert text(None) == text("") == text("Too short.") == []
    assert text("f(x, y) -> z\n\nReturn the z that belongs to x and y.") == [
        "m.f: Return the z that belongs to x and y."
    ]
    assert text("f(x) -- Return what belongs to x, if any.") == ["m.f: Return what belongs to x, if any."]
    assert len(text("many words " * 200)[0]) < 420


def test_a_second_run_uses_the_index_of_the_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collected: list[stdlib.Docstring]
) -> None:
    monkeypatch.setattr(stdlib, "collect", lambda report: collected)
    monkeypatch.chdir(tmp_path)
    first = run("demo", "--limit", "300", "--encoder", "lsa", columns=60)
    assert (tmp_path / "stdlib.gsm").is_dir()
    assert "300 documents" in first.stdout
    assert "made in" in first.stdout
    assert "The tree is a living one" in first.stdout
    for question in QUESTIONS:
        assert f"“{question}”" in first.stdout
    assert "gossamer tree stdlib.gsm" in first.stdout
    assert first.stdout.rstrip().endswith("gossamer serve stdlib.gsm")
    assert "reading the docstrings" in first.stderr

    second = run("demo", "--limit", "300", "--encoder", "lsa")
    assert "there already" in second.stdout
    assert not second.stderr
    answer = json.loads(run("demo", "--json").stdout)
    assert answer["built"] is False
    assert answer["documents"] == 300
    assert [each["query"] for each in answer["answers"]] == list(QUESTIONS)
    assert all(len(each["hits"]) == 3 for each in answer["answers"])
    advised = re.search(r"gossamer (explain stdlib\.gsm .*)", second.stdout)
    assert advised
    run(*shlex.split(advised[1]))

    other = run("demo", "--encoder", "st:x", ok=False)
    assert other.exit_code == 1
    assert "built with the encoder 'lsa'" in other.stderr


def test_an_interrupted_first_run_is_taken_up(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collected: list[stdlib.Docstring]
) -> None:
    monkeypatch.setattr(stdlib, "collect", lambda report: collected)
    Index.create(tmp_path / "stdlib.gsm", "lsa").close()  # made, and then Ctrl-C
    answer = json.loads(run("demo", "--to", tmp_path / "stdlib.gsm", "--limit", "50", "--json").stdout)
    assert (answer["built"], answer["documents"], answer["encoder"]) == (True, 50, "lsa")


def test_without_model_files_it_goes_on_with_lsa(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collected: list[stdlib.Docstring]
) -> None:
    monkeypatch.setattr(stdlib, "collect", lambda report: collected)
    nowhere = {"GOSSAMER_CACHE": str(tmp_path), "GOSSAMER_OFFLINE": "1", "GOSSAMER_MODELS": str(tmp_path / "none")}
    done = run("demo", "--to", tmp_path / "a.gsm", "--limit", "50", "--json", **nowhere)
    assert json.loads(done.stdout)["encoder"] == "lsa"
    assert "Going on with lsa" in done.stderr
    asked_for = run("demo", "--to", tmp_path / "b.gsm", "--encoder", "minilm", ok=False, **nowhere)
    assert asked_for.exit_code == 1
    assert not (tmp_path / "b.gsm").exists()
    shutil.rmtree(tmp_path / "a.gsm")
