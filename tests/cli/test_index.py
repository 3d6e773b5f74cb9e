"""`gossamer index`: every kind of source, only what changed, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import TEXTS, Run, write_jsonl
from gossamer.cli.ingest import Ingest
from gossamer.index import Index


def index(run: Run, *arguments: object, **options: Any) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(run("index", *arguments, "--encoder", "lsa", "--json", **options).stdout)
    return summary


def changes(summary: dict[str, Any]) -> tuple[int, ...]:
    return tuple(summary[name] for name in ("added", "replaced", "unchanged", "pruned"))


def test_only_what_changed_is_added(run: Run, source: Path, tmp_path: Path) -> None:
    to = tmp_path / "x.gsm"
    first = index(run, source, "--to", to)
    assert changes(first) == (12, 0, 0, 0)
    assert first["documents"] == 12
    assert first["seconds"] > 0
    assert first["documents_per_second"] > 0
    assert changes(index(run, source, "--to", to)) == (0, 0, 12, 0)

    rows = dict(TEXTS)
    rows["fox"] = ("The fox is in the garden now.", {"topic": "animals", "year": 2018})
    rows["sun"] = (rows["sun"][0], {"topic": "space", "year": True})  # other metadata, though 1 == True to Python
    rows["pluto"] = ("Pluto is a small and distant planet.", {})
    del rows["owl"]
    write_jsonl(source, rows)
    assert changes(index(run, source, "--to", to)) == (1, 2, 9, 0)
    assert changes(index(run, source, "--to", to, "--prune")) == (0, 0, 12, 1)
    with Index.open(to, mode="r") as ix:
        assert set(ix.ids()) == set(rows)
        assert ix.get("fox").text == "The fox is in the garden now."
        assert ix.get("sun").metadata == {"topic": "space", "year": True}
        ix.check()


def test_the_summary_for_people(run: Run, source: Path, tmp_path: Path) -> None:
    shown = run("index", source, "--to", tmp_path / "x.gsm", "--encoder", "lsa", columns=300)
    first, second = shown.stdout.splitlines()
    assert first == f"{tmp_path / 'x.gsm'}: 12 documents"
    assert second.startswith("12 added, 0 replaced, 0 unchanged in ")
    assert second.endswith("documents/s)")
    told = "12 rows: the text is from 'text', the id from 'id' (--text-field, --id-field choose others)\n"
    assert shown.stderr == told
    assert not run("index", source, "--to", tmp_path / "x.gsm", "--quiet").stderr


def test_folders_with_all_sorts_of_files(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("Foxes live in the forest.")
    (folder / "deep" / "B.MD").write_text("# Wolves\n\nThey hunt in packs.")
    (folder / "c.csv").write_text("id,text,year\nowl,Owls hunt at night,2020\nbear,Bears sleep in winter,2021\n")
    (folder / "d.tsv").write_text("id\ttext\nmoon\tThe moon is round\n")
    (folder / "e.jsonl").write_text('{"id": "sun", "text": "The sun is a star"}\n')
    (folder / "ignored.log").write_text("not wanted")
    to = folder / "notes.gsm"  # inside of what is indexed
    assert changes(index(run, folder, "--to", to)) == (6, 0, 0, 0)
    assert changes(index(run, folder, "--to", to, "--prune")) == (0, 0, 6, 0)
    with Index.open(to, mode="r") as ix:
        assert set(ix.ids()) == {"a.txt", "deep/B.MD", "owl", "bear", "moon", "sun"}
        assert ix.get("owl").metadata == {"year": 2020}
    assert changes(index(run, folder, "--to", to, "--prune", "--glob", "*.txt", "--glob", "*.csv")) == (0, 0, 3, 3)


def test_signs_of_life_where_there_is_no_terminal(
    run: Run, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.cli.screen.EVERY", 0.002)
    line = re.compile(r"^indexing( …|: [\d,]+ documents, [\d,]+/s)$", re.MULTILINE)
    shown = run("index", source, "--to", tmp_path / "a.gsm", "--encoder", "lsa")
    assert line.search(shown.stderr)
    assert "indexing" not in shown.stdout
    assert "indexing" not in run("index", source, "--to", tmp_path / "b.gsm", "--encoder", "lsa", "--quiet").output
    shown = run("index", source, "--to", tmp_path / "c.gsm", "--encoder", "lsa", "--json")
    assert json.loads(shown.stdout)["added"] == 12
    assert not shown.stderr


def test_text_of_several_fields(run: Run, tmp_path: Path) -> None:
    rows = tmp_path / "news.csv"
    rows.write_text("url,headline,story\nu1,Owls,They hunt at night\nu2,Bears,They sleep in winter\n")
    to = tmp_path / "news.gsm"
    options = ("--to", to, "--encoder", "lsa", "--id-field", "url")
    wrong = run("index", rows, *options, "--text-field", "headline", "--text-field", "storey", ok=False)
    assert wrong.exit_code == 1
    assert "there is no field 'storey' among 'url', 'headline', 'story'. Did you mean 'story'?" in wrong.stderr
    told = run("index", rows, *options, "--text-field", "headline", "--text-field", "story", columns=200).stderr
    assert "2 rows: the text is from 'headline + story', the id from 'url'" in told
    with Index.open(to, mode="r") as ix:
        assert ix.get("u1").text == "Owls. They hunt at night"


def test_encodings_that_were_assumed_are_told(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.txt").write_bytes("Der Fuchs wohnt in einer Höhle, nicht weit vom Fluß.".encode("latin-1"))
    (folder / "e.txt").write_bytes("Лиса живёт в норе недалеко от большой реки.".encode("koi8-r"))
    (folder / "f.txt").write_bytes(b"caf\xc3\xa9 na\xc3\xafve \xff")
    arguments = ("index", folder, "--to", tmp_path / "x.gsm", "--encoder", "lsa")
    told = run(*arguments, columns=300).stderr
    first = ", ".join(f"{folder}/{name}.txt" for name in "abc")
    assert (
        "not UTF-8, read as Windows-1252 (--charset names another): "
        f"4 files: {first} and others (--json lists all)" in told
    )
    assert f"not all UTF-8, what cannot be read is replaced by \ufffd: 1 file: {folder}/f.txt" in told
    assert "e.txt: neither UTF-8 nor western text: --charset names its encoding" in told
    summary = json.loads(run("index", folder, "--to", tmp_path / "x.gsm", "--charset", "koi8-r", "--json").stdout)
    assert summary["broken"] == 0
    assert len(summary["charsets"]["koi8-r"]) == 6
    with Index.open(tmp_path / "x.gsm", mode="r") as ix:
        assert ix.get("e.txt").text.startswith("Лиса")


def test_what_was_left_out_is_told(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("a.png", "b.png", "c.xyz", "LICENSE", "paper.PDF.gz", "data.xyz.gz"):
        (folder / name).write_text("not read")
    (folder / "blank.html").write_text("<p> </p>")
    (folder / "twin.rst").symlink_to(folder / "a.rst")
    (folder / "package.json").write_text('{"name": "x", "version": 3}')
    (folder / "broken.json").write_text("{")
    (folder / "a.rst").write_text("Foxes\n=====\n\nThey live in the forest.")
    (folder / "rows.csv").write_text("url,title,body\nu1,Owls,They hunt at night\n")
    arguments = ("index", folder, "--to", tmp_path / "x.gsm", "--encoder", "lsa")
    told = run(*arguments, columns=300).stderr
    assert (
        "not read: 2 .png files, 1 file without a suffix, 1 .xyz file, 1 .xyz.gz file: "
        "no reader (--glob reads those that are text)" in told
    )
    assert "not read: 1 .pdf.gz file: not read compressed (gunzip takes the .gz away)" in told
    assert f"without text: {folder}/blank.html" in told
    assert "1 link to files that are read anyway" in told
    assert "not read: 1 .json file: no field with text (--text-field names one)" in told
    assert "not read: 1 without text, 1 broken" in told
    assert "1 row: the text is from 'title + body', the id is the file and the line" in told
    assert "broken.json: not valid JSON" in told
    summary = json.loads(run(*arguments, "--json").stdout)
    assert {"suffix": ".png", "reason": "no reader", "files": 2} in summary["unread"]
    assert (summary["empty_files"], summary["twins"]) == ([f"{folder}/blank.html"], 1)
    assert summary["fields"] == [{"text": "title + body", "id": None, "rows": 1}]
    stopped = run(*arguments, "--on-error", "raise", ok=False)
    assert "broken.json: not valid JSON" in stopped.stderr
    with Index.open(tmp_path / "x.gsm", mode="r") as ix:
        assert ix.get("rows.csv:2").text == "Owls. They hunt at night"


def test_a_search_in_one_folder_and_for_recent_files(run: Run, tmp_path: Path) -> None:
    for name, year in {"letters/old.md": 2020, "letters/new.md": 2026, "notes/fox.md": 2026}.items():
        file = tmp_path / "texts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("Foxes live in the forest.")
        then = datetime(year, 1, 1, tzinfo=UTC).timestamp()
        os.utime(file, (then, then))
    to = tmp_path / "x.gsm"
    index(run, tmp_path / "texts", "--to", to)
    where = '{"path": {"$startswith": "letters/"}}'
    found = run("search", to, "foxes", "--where", where, "--recent", "modified:30d", "--json")
    hits = json.loads(found.stdout)["hits"]
    assert [hit["id"] for hit in hits] == ["letters/new.md", "letters/old.md"]
    assert hits[0]["boost"] > hits[1]["boost"]
    (tmp_path / "texts" / "notes" / "fox.md").touch()
    assert changes(index(run, tmp_path / "texts", "--to", to)) == (0, 0, 3, 0)


def test_documents_of_files_that_are_gone(run: Run, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"The text of {name} is about foxes.")
    arguments = ("index", tmp_path, "--to", tmp_path / "x.gsm", "--encoder", "lsa")
    assert "--prune" not in run(*arguments).stderr
    (tmp_path / "b.txt").unlink()
    told = run(*arguments, columns=300).stderr
    assert "x.gsm is not in what was read now, 'b.txt': if its file is gone, --prune removes it" in told
    assert "1 document in" in told
    (tmp_path / "a.txt").rename(tmp_path / "c.txt")
    told = run(*arguments, columns=300).stderr
    assert "2 documents in" in told
    assert "x.gsm are not in what was read now, such as 'a.txt': if their files are gone, --prune removes them" in told
    assert "--prune" not in run(*arguments, "--prune").stderr


def test_ids_from_another_field_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("url,nr,text\nu1,7,Owls hunt at night\nu2,8,Bears sleep in winter\n")
    arguments = ("index", tmp_path / "a.csv", "--to", tmp_path / "x.gsm", "--encoder", "lsa")
    run(*arguments, "--id-field", "url")
    for other in (("--id-field", "nr"), ()):
        refused = run(*arguments, *other, ok=False)
        assert refused.exit_code == 1
        assert "is in the index as 'u1', and would be there twice. Use --id-field url" in refused.stderr
    run("index", tmp_path / "a.csv", "--to", tmp_path / "y.gsm", "--encoder", "lsa")
    refused = run("index", tmp_path / "a.csv", "--to", tmp_path / "y.gsm", "--id-field", "nr", ok=False)
    assert "is in the index as 'a.csv:2'" in refused.stderr
    assert "the --id-field of before" in refused.stderr
    (tmp_path / "b.csv").write_text("url,text\nu9,Foxes live in the forest\n")  # other documents are welcome
    run("index", tmp_path / "b.csv", "--to", tmp_path / "y.gsm", "--id-field", "url")


def test_a_folder_above_or_below_the_one_of_before_is_refused(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "notes" / "zoo"
    folder.mkdir(parents=True)
    for animal in ("fox", "owl"):
        (folder / f"{animal}.txt").write_text(f"The {animal} hunts at night.")
    run("index", tmp_path / "notes", "--to", tmp_path / "a.gsm", "--encoder", "lsa")
    below = run("index", folder, "--to", tmp_path / "a.gsm", ok=False).stderr
    assert "the document with the id 'fox.txt' is in the index as 'zoo/fox.txt', and would be there twice" in below
    assert "ids are paths within it" in below
    run("index", folder, "--to", tmp_path / "b.gsm", "--encoder", "lsa")
    above = run("index", tmp_path / "notes", "--to", tmp_path / "b.gsm", ok=False).stderr
    assert "the id 'zoo/fox.txt' is in the index as 'fox.txt'" in above
    (folder / "fox.txt").write_text("Another text under the same name is another document.")
    assert changes(index(run, folder, "--to", tmp_path / "a.gsm")) == (2, 0, 0, 0)


def test_an_index_is_named_after_what_is_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.notes").mkdir()
    (tmp_path / "my.notes" / "a.txt").write_text("An owl hunts.")
    assert index(run, "my.notes/", "--encoder", "lsa")["index"] == "my.gsm"
    refused = run("index", "my.notes", "my.notes/a.txt", ok=False, columns=200)
    assert refused.exit_code == 2
    assert "say where the index goes, as in --to notes.gsm" in refused.stderr


def test_fields_and_lines_and_standard_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("url,body,text\nu1,The body counts,not this\nu2,Another body,nor this\n")
    to = tmp_path / "x.gsm"
    index(run, tmp_path / "a.csv", "--to", to, "--text-field", "body", "--id-field", "url")
    (tmp_path / "lines.txt").write_text("first line\nsecond line\n\n")
    summary = index(run, tmp_path / "lines.txt", "--to", to, "--lines")
    assert changes(summary) == (2, 0, 0, 0)
    assert summary["skipped"] == summary["empty"] == 1
    index(run, "-", "--to", to, input='{"id": "s", "text": "from a pipe"}\n')
    with Index.open(to, mode="r") as ix:
        assert ix.ids() == ["u1", "u2", "lines.txt:1", "lines.txt:2", "s"]
        assert ix.get("u1").text == "The body counts"


def test_what_cannot_be_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "fine"}\nbroken\n')
    to = tmp_path / "x.gsm"
    refused = run("index", tmp_path / "a.jsonl", "--to", to, "--encoder", "lsa", ok=False)
    assert refused.exit_code == 1
    assert "a.jsonl:2: not valid JSON" in refused.stderr
    assert "--on-error skip" in refused.stderr
    done = run("index", tmp_path / "a.jsonl", "--to", to, "--on-error", "skip", "--json")
    assert json.loads(done.stdout)["broken"] == 1
    assert "warning: skipped" in done.stderr
    (tmp_path / "b.jsonl").write_text('{"id": "b", "text": "of another file"}\n')
    run("index", tmp_path / "b.jsonl", "--to", to)
    pruned = run("index", tmp_path / "a.jsonl", "--to", to, "--on-error", "skip", "--json", "--prune", "-q", ok=False)
    assert pruned.exit_code == 1, "what was asked for was not done"
    assert json.loads(pruned.stdout)["prune_refused"]
    assert "nothing was pruned, since 1 input could not be read" in pruned.stderr
    assert json.loads(run("info", to, "--json").stdout)["documents"] == 2


def test_links_are_followed_when_asked_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("Foxes live in the forest.")
    (tmp_path / "secret.txt").write_text("The password is wolf.")
    (tmp_path / "notes" / "b.txt").symlink_to(tmp_path / "secret.txt")
    arguments = ("index", tmp_path / "notes", "--to", tmp_path / "x.gsm", "--encoder", "lsa", "--json")
    done = run(*arguments)
    assert "such as" in done.stderr
    assert "(--follow-links) reads them" in done.stderr
    summary = json.loads(done.stdout)
    assert (summary["added"], summary["skipped"], summary["links"]) == (1, 1, 1)
    assert json.loads(run(*arguments, "--follow-links").stdout)["added"] == 1


def test_an_id_that_comes_twice(run: Run, tmp_path: Path) -> None:
    same = '{"id": "a", "text": "one"}\n'
    (tmp_path / "same.jsonl").write_text(same * 3)
    summary = index(run, tmp_path / "same.jsonl", "--to", tmp_path / "x.gsm")
    assert (summary["added"], summary["repeated"]) == (1, 2)
    (tmp_path / "other.jsonl").write_text(same + '{"id": "a", "text": "two"}\n')
    arguments = ("index", tmp_path / "other.jsonl", "--to", tmp_path / "y.gsm", "--encoder", "lsa")
    refused = run(*arguments, ok=False)
    assert refused.exit_code == 1
    assert "the id 'a' came before with another text" in refused.stderr
    run(*arguments, "--on-error", "skip")
    with Index.open(tmp_path / "y.gsm", mode="r") as ix:
        assert ix.get("a").text == "one"


def test_an_index_that_an_error_leaves_empty_is_not_made(run: Run, own: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "text": "one"')
    with Index.open(own, mode="r") as ix:
        held = len(ix)
    for to in (tmp_path / "new.gsm", own):
        assert run("index", tmp_path / "bad.jsonl", "--to", to, ok=False).exit_code == 1
    assert not (tmp_path / "new.gsm").exists()
    with Index.open(own, mode="r") as ix:
        assert len(ix) == held > 0


def test_nothing_found_and_nothing_pruned(run: Run, own: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    nothing = run("index", tmp_path / "empty", "--to", own)
    assert "0 added" in nothing.stdout
    assert "no documents were found" in nothing.stderr
    unmade = run("index", tmp_path / "empty", "--to", tmp_path / "new.gsm", columns=300)
    assert "new.gsm was not made: check the paths" in unmade.stderr
    assert unmade.stdout == ""
    assert not (tmp_path / "new.gsm").exists()
    refused = run("index", tmp_path / "empty", "--to", own, "--prune", ok=False)
    assert refused.exit_code == 1
    assert "would have removed all 12" in refused.stderr
    assert len(json.loads(run("search", own, "fox", "-k", "20", "--json").stdout)["hits"]) == 12


def test_long_texts_are_split_unless_told_otherwise(run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(" ".join(f"Sentence number {i} is about trees." for i in range(200)))

    def passages(name: str, *options: str) -> int:
        run("index", tmp_path / "long.txt", "--to", tmp_path / name, "--encoder", "lsa", *options)
        return int(json.loads(run("info", tmp_path / name, "--json").stdout)["passages"])

    assert passages("a.gsm") > 1
    assert passages("b.gsm", "--max-tokens", "0") == 1
    assert passages("c.gsm", "--max-tokens", "50") > passages("d.gsm", "--max-tokens", "500")


def test_ctrl_c_keeps_what_is_in_and_the_next_run_goes_on(run: Run, tmp_path: Path) -> None:
    rows: dict[str, tuple[str, dict[str, Any]]] = {
        f"d{i}": (f"Document {i} tells of {('foxes', 'bread', 'stars')[i % 3]} and number {i % 97}.", {})
        for i in range(2500)
    }
    source, to = write_jsonl(tmp_path / "many.jsonl", rows), tmp_path / "many.gsm"
    arguments = ["index", str(source), "--to", str(to), "--encoder", "lsa"]
    code = "from gossamer.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments, "--batch", "50", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_for_documents(to, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    stopped = json.loads(out)
    assert stopped["stopped"]
    assert 0 < stopped["documents"] == stopped["added"] < 2500
    assert "run the same command again to go on" in err
    assert "Traceback" not in err

    rest = index(run, source, "--to", to)
    assert not rest["stopped"]
    assert rest["unchanged"] == stopped["documents"]
    assert rest["added"] == 2500 - stopped["documents"]
    with Index.open(to, mode="r") as ix:
        assert len(ix) == 2500
        ix.check()


@pytest.mark.parametrize("keeps", [False, True])
def test_ctrl_c_says_which_command_goes_on(
    keeps: bool, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index without a document is removed, so that the same command can be run; else without what made it."""

    def stop(self: Ingest, *arguments: Any) -> None:
        if keeps:
            self._ix.add(["A fox."])
        raise KeyboardInterrupt

    monkeypatch.setattr(Ingest, "add", stop)
    (tmp_path / "a.txt").write_text("An owl.")
    arguments = ("--to", tmp_path / "a.gsm", "--encoder", "lsa", "--max-tokens", "50")
    done = run("index", tmp_path / "a.txt", *arguments, ok=False)
    assert done.exit_code == 130
    without = " without --max-tokens" * keeps
    assert f"run the same command again{without} to go on" in " ".join(done.stderr.split())
    assert (tmp_path / "a.gsm").exists() == keeps


def test_ctrl_c_while_modules_are_imported() -> None:
    code = """
import sys
import gossamer.cli

class Interrupted:
    def find_spec(self, name, *_):
        if name == "gossamer.cli.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
gossamer.cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "stopped\n")


def _wait_for_documents(to: Path, process: subprocess.Popen[str]) -> None:
    """Until something is durable."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if (to / "documents.sqlite").exists():
            db = sqlite3.connect(f"file:{to / 'documents.sqlite'}?mode=ro", uri=True)
            try:
                if db.execute("SELECT count(*) FROM documents").fetchone()[0]:
                    return
            finally:
                db.close()
        time.sleep(0.01)
    raise AssertionError(f"it ended early or did nothing: {process.poll()}")
