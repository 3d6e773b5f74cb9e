"""`search` and `explain`: answers for people and for machines."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from cli.conftest import TEXTS, Run, write_jsonl
from gossamer.cli.screen import Screen
from gossamer.cli.search import as_json, queries, show_hits
from gossamer.index import Index
from gossamer.results import Hit, Hits


def hits(run: Run, *arguments: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("search", *arguments, "--json").stdout)["hits"]
    return found


def test_json_holds_everything(run: Run, ready: Path) -> None:
    result = run("search", ready, "a fox hunts mice", "-k", "3", "--json")
    answer = json.loads(result.stdout)
    assert answer["query"] == "a fox hunts mice"
    assert answer["seconds"] > 0
    first = answer["hits"][0]
    assert [hit["rank"] for hit in answer["hits"]] == [1, 2, 3]
    assert (first["id"], first["text"], first["metadata"]) == ("fox", *TEXTS["fox"])
    assert first["score"] == pytest.approx(first["dense"] + first["lexical"])
    assert first["path"][0]["size"] == 12
    assert first["path"][-1]["size"] == 1
    assert [step["depth"] for step in first["path"]] == list(range(len(first["path"])))
    assert first["passage"] == first["text"]
    assert not result.stderr


def test_json_without_texts_holds_passages(run: Run, ready: Path) -> None:
    found = hits(run, ready, "a fox hunts mice", "-k", "2", "--no-text")
    assert (found[0]["id"], found[0]["passage"]) == ("fox", TEXTS["fox"][0])
    assert not any("text" in hit for hit in found)


def test_people_see_rank_score_path_and_text(run: Run, ready: Path) -> None:
    first, path, text = run("search", ready, "a fox hunts mice", "-k", "1").stdout.splitlines()
    assert re.fullmatch(r" 1\. fox  \d\.\d{3}", first)
    assert path.startswith("    all 12")
    assert text == "    " + TEXTS["fox"][0]


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("around", ["", "other words " * 100])
def test_matches_are_marked(around: str, full: bool) -> None:
    passage = "The 🦊 fox\nhunts at night"
    matches = tuple(found.span() for found in re.finditer("🦊|fox|hunts", passage))
    hit = Hit("id", around + passage + around, 0.5, {}, (), passage, len(around), 0.5, 0.0, matches)
    screen, out = Screen(), io.StringIO()
    screen.out = Console(file=out, force_terminal=True, color_system="standard", width=80)
    show_hits(screen, [hit], full=full)
    assert re.findall(r"\x1b\[1;33m(.*?)\x1b\[0m", out.getvalue()) == ["🦊", "fox", "hunts"]
    assert as_json("q", Hits([hit]), 0.0)["hits"][0]["matches"] == matches


def test_filters_and_concepts_and_weights(run: Run, ready: Path) -> None:
    food = hits(run, ready, "something to eat from the oven", "--where", '{"topic": "food"}')
    assert {hit["id"] for hit in food} == {"bread", "soup", "cake", "salad"}
    recent = hits(run, ready, "planets", "--where", '{"year": {"$gte": 2023}}')
    assert {hit["id"] for hit in recent} == {"salad", "comet"}
    concept = food[0]["path"][1]
    inside = hits(run, ready, "something to eat from the oven", "-k", "12", "--within", concept["id"])
    assert len(inside) == concept["size"]
    assert all(hit["lexical"] == 0 for hit in hits(run, ready, "red planet", "--no-hybrid"))
    assert hits(run, ready, "red planet", "--weight", "0.5")[0]["lexical"] == pytest.approx(0.5)


def test_a_field_that_no_document_has(run: Run, ready: Path) -> None:
    found = run("search", ready, "planets", "--where", '{"yaer": {"$gte": 2023}}')
    assert found.stdout == "nothing found\n"
    assert found.stderr == "warning: no document has the field 'yaer': did you mean 'year'?\n"
    told = run("search", ready, "planets", "--where", '{"yaer": 2023}', "--json")
    assert json.loads(told.stdout)["warnings"] == ["no document has the field 'yaer': did you mean 'year'?"]
    quoted = run("search", ready, '"purple elephant"')
    assert quoted.stdout
    assert quoted.stderr == "warning: no document holds “purple elephant”: found without the quotes\n"
    deleted = run("delete", ready, "--where", '{"yaer": 2023}', "--dry-run")
    assert "did you mean 'year'?" in deleted.stderr


def test_long_texts_show_the_passage(capsys: pytest.CaptureFixture[str]) -> None:
    filler = " ".join(f"Sentence {i} is about the weather of that day." for i in range(150))
    passage = f"{filler[-500:]} The zebra crossed the river at dawn. {filler[:500]}"
    matches = tuple(found.span() for found in re.finditer("zebra|river", passage))
    text = f"{filler[:-500]}{passage}{filler[500:]}"
    hit = Hit("long", text, 0.5, {}, (), passage, len(filler) - 500, 0.5, 0.0, matches)
    show_hits(Screen(), [hit])
    shown = capsys.readouterr().out
    assert "The zebra crossed the river" in " ".join(shown.split())
    assert len(shown.splitlines()) <= 7
    assert "\n    …" in shown
    assert shown.rstrip().endswith("…")
    show_hits(Screen(), [hit], full=True)
    assert "Sentence 149" in " ".join(capsys.readouterr().out.split())


def test_commands_hidden_in_texts_do_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    rows: dict[str, tuple[str, dict[str, Any]]] = {
        "\x1b[2Jbad": ("A \x1b[31mred\x1b[0m fox\x07 [bold]here[/bold].", {})
    }
    to = tmp_path / "x.gsm"
    run("index", write_jsonl(tmp_path / "x.jsonl", rows), "--to", to, "--encoder", "lsa")
    for command in (("search", to, "fox"), ("search", to, "fox", "--full"), ("tree", to, "--examples", "1")):
        shown = run(*command).stdout
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "[bold]here[/bold]" in shown


def test_an_empty_index_and_no_match(run: Run, ready: Path, tmp_path: Path) -> None:
    Index.create(tmp_path / "empty.gsm", "lsa").close()
    assert run("search", tmp_path / "empty.gsm", "anything").stdout == "the index is empty\n"
    assert run("search", ready, "anything", "--where", '{"year": 1900}').stdout == "nothing found\n"
    assert hits(run, tmp_path / "empty.gsm", "anything") == []


def test_interactive_answers_line_by_line(run: Run, ready: Path) -> None:
    result = run("search", ready, "--interactive", "-k", "1", input="red fox\nhot oven\n\nnever asked\n")
    assert [line for line in result.stdout.splitlines() if re.match(r" 1\. ", line)] == [
        line for line in result.stdout.splitlines() if re.match(r" 1\. (fox|bread|cake)  ", line)
    ]
    assert result.stdout.count(" 1. ") == 2
    assert not result.stderr


def test_interactive_json_is_a_value_for_each_query(run: Run, ready: Path) -> None:
    out = run("search", ready, "moon", "--interactive", "-k", "1", "--json", input="fox\n").stdout
    decoder, answers = json.JSONDecoder(), []
    while out.strip():
        answer, end = decoder.raw_decode(out.lstrip())
        answers.append(answer)
        out = out.lstrip()[end:]
    assert [answer["query"] for answer in answers] == ["moon", "fox"]


def test_interactive_goes_on_after_an_error(run: Run, ready: Path) -> None:
    result = run("search", ready, "-i", "-k", "1", "--within", "999999", input="fox\nmoon\n")
    assert result.stderr.count("error: ") == 2


def test_ctrl_c_drops_the_line_and_ctrl_d_ends() -> None:
    script: Iterator[object] = iter(["first", KeyboardInterrupt(), "second", EOFError(), "never"])

    def ask() -> str:
        step = next(script)
        if isinstance(step, BaseException):
            raise step
        return str(step)

    assert list(queries(ask)) == ["first", "second"]


def test_explain_adds_up(run: Run, ready: Path) -> None:
    why = json.loads(run("explain", ready, "a fox hunts mice", "owl", "--json").stdout)
    assert why["score"] == pytest.approx(why["dense"] + why["lexical"])
    assert set(why["words"]) >= {"hunts", "mice"}
    assert why["path"][0]["gain"] == 0
    gains = sum(step["gain"] for step in why["path"])
    assert gains == pytest.approx(why["path"][-1]["log_p"] - why["path"][0]["log_p"], abs=1e-4)
    found = {hit["id"]: hit["score"] for hit in hits(run, ready, "a fox hunts mice")}
    assert why["score"] == pytest.approx(found["owl"])


def test_explain_for_people(run: Run, ready: Path) -> None:
    lines = run("explain", ready, "a fox hunts mice", "soup", columns=200).stdout.splitlines()
    assert lines[0] == "soup"
    assert lines[1].startswith("Cook the soup")
    assert lines[2].startswith("“soup” is number ")
    heads = ["concept", "id", "size", "log", "p", "gain", "margin", "adds", "best", "sibling"]
    assert heads in [line.split() for line in lines]
    assert sum(line.startswith("everything") for line in lines) == 1
    assert lines[-1].startswith("by meaning, in all")
    narrow = run("explain", ready, "a fox hunts mice", "soup", columns=60).stdout
    assert next(line for line in narrow.splitlines() if line.startswith("concept")).split() == [
        "concept",
        "size",
        "adds",
    ]
    dense = run("explain", ready, "a fox hunts mice", "fox", "--no-hybrid").stdout
    assert "0.000 by words" in " ".join(dense.split())


def test_search_explains_its_answers(run: Run, ready: Path) -> None:
    shown = run("search", ready, "a fox hunts mice", "-k", "2", "--explain", columns=200).stdout
    assert shown.count("by meaning and") == 2
    assert "ahead of" in shown
    assert "behind" in shown
    found = hits(run, ready, "a fox hunts mice", "-k", "2", "--explain")
    assert [hit["explanation"]["rank"] for hit in found] == [1, 2]
    for hit in found:
        why = hit["explanation"]
        steps = sum(step["contribution"] for step in why["path"])
        assert why["base"] + steps + why["opening"] + why["lexical"] == pytest.approx(hit["score"], abs=1e-9)
    assert "explanation" not in hits(run, ready, "a fox hunts mice", "-k", "2")[0]


def test_answers_are_chosen(run: Run, ready: Path) -> None:
    fields = {key for _, metadata in TEXTS.values() for key in metadata}
    field = sorted(fields)[0]
    grouped = hits(
        run, ready, "a fox hunts mice", "--group-by", field, "--recent", f"{field}:30d", "--diversity", "0.1"
    )
    values = [hit["metadata"][field] for hit in grouped if field in hit["metadata"]]
    assert len(values) == len(set(map(str, values)))
    assert all("boost" in hit for hit in grouped)
    assert [hit["lexical"] for hit in hits(run, ready, "a fox hunts mice", "--method", "path-sum")] == [0.0] * 10
    assert "date:30d" in run("search", ready, "fox", "--recent", "date", ok=False).output


def test_nothing_is_found_without_confidence(run: Run, ready: Path) -> None:
    assert len(hits(run, ready, "a fox hunts mice", "--min-confidence", "0.05")) == 10
    shown = run("search", ready, "quarterly tax return", "--min-confidence", "1.0").stdout
    assert shown.startswith("no answer with this confidence (")
    assert hits(run, ready, "quarterly tax return", "--min-confidence", "1.0") == []


@pytest.mark.parametrize("columns", [40, 60, 120])
def test_output_fits_the_terminal(run: Run, ready: Path, columns: int) -> None:
    for command in (
        ("search", ready, "a fox hunts mice in the forest"),
        ("explain", ready, "a fox hunts mice", "owl"),
        ("tree", ready, "--depth", "6", "--examples", "2"),
        ("info", ready),
        ("models", "list"),
    ):
        for line in run(*command, columns=columns).stdout.splitlines():
            name = command[0] == "models" and not line.startswith(" ")  # in one piece, so that it can be pasted
            assert name or cell_len(line) <= columns, (command, line)


def test_what_is_forgotten_is_said(run: Run, ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = run("search", "how do foxes hunt", ok=False, columns=200).stderr
    assert "'how do foxes hunt' is no index, which comes first" in alone
    assert "say what to look for" in run("search", ready, "  ", ok=False, columns=200).stderr
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    assert "make one of it: gossamer index notes --to notes.gsm" in run("search", "notes", "x", ok=False).stderr
    (tmp_path / "notes.gsm").mkdir()
    assert "did you mean notes.gsm?" in run("search", "notes", "x", ok=False).stderr
    wrong = run("search", ready, "x", "--where", "year=2020", ok=False, columns=200).stderr
    assert """write '{"year": 2020}', with the quotes""" in wrong
    kinds = run("search", ready, "x", "--where", '{"year": "2020"}').stderr
    assert "warning: the field 'year' holds numbers, and was compared with the text '2020'" in kinds
