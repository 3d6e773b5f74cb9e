"""`info`, `delete`, `rebuild`, `models`."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import TEXTS, Run, write_jsonl
from gossamer.encoders import Encoder
from gossamer.files.bundle import Bundle
from gossamer.index.encoding import reload_encoder
from gossamer.store import Settings


def read(run: Run, *arguments: object, **options: Any) -> Any:
    return json.loads(run(*arguments, "--json", **options).stdout)


def test_info(run: Run, ready: Path) -> None:
    about = read(run, "info", ready)
    assert about["documents"] == about["passages"] == 12
    assert about["encoder"] == "lsa"
    assert about["bytes"] > 0
    shown = run("info", ready).stdout
    assert "documents   12" in shown
    assert "lsa" in shown


def test_delete_by_id(run: Run, own: Path) -> None:
    would = read(run, "delete", own, "fox", "unicorn", "--dry-run")
    assert would == {"deleted": 0, "found": ["fox"], "missing": 1, "documents": 12, "dry_run": True}
    assert run("delete", own, "fox", "--dry-run").stdout == "1 document would be deleted: fox\n"
    assert run("delete", own, "fox", "unicorn").stdout == "1 document deleted, 11 left\n"
    assert run("delete", own, "fox").stdout == "0 documents deleted, 11 left\n"
    assert read(run, "delete", own, "-", input="wolf\n\nowl\n")["deleted"] == 2
    assert "fox" not in [hit["id"] for hit in read(run, "search", own, "fox", "-k", "20")["hits"]]


def test_delete_by_filter(run: Run, own: Path) -> None:
    done = read(run, "delete", own, "--where", '{"topic": "food"}')
    assert (done["deleted"], done["documents"]) == (4, 8)
    assert read(run, "delete", own, "--where", '{"topic": "food"}')["deleted"] == 0


def test_all_documents_are_deleted_only_where_that_is_said(run: Run, own: Path) -> None:
    refused = run("delete", own, "--where", "{}", ok=False)
    assert refused.exit_code == 2
    assert "--all" in refused.stderr
    assert read(run, "info", own)["documents"] == 12
    assert read(run, "delete", own, "--all", "--dry-run")["found"]
    assert read(run, "delete", own, "--all") | {"found": []} == {
        "deleted": 12, "found": [], "missing": 0, "documents": 0, "dry_run": False,
    }  # fmt: skip


def test_rebuild(run: Run, own: Path) -> None:
    before = read(run, "search", own, "red fox")["hits"]
    done = read(run, "rebuild", own)
    assert done["documents"] == 12
    assert done["concepts"] == 11, "all merges of a small tree are concepts"
    assert "concepts before" in run("refine", own).stdout  # the former name
    assert read(run, "search", own, "red fox")["hits"][0]["id"] == before[0]["id"]


COMMANDS = [
    ("search", "fox"), ("explain", "fox", "fox"), ("tree",), ("tree", "--topics", "3"), ("delete", "owl"),
    ("rebuild",), ("serve", "--port", "0"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_encoder_that_can_bring_code_must_be_named(
    run: Run, own: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    name, *arguments = command
    given: list[object] = []

    def load(settings: Settings, learnt: Bundle, encoder: str | None) -> Encoder:
        given.append(encoder)
        return reload_encoder(replace(settings, encoder="lsa" if encoder == "st:tiny" else "st:tiny"), learnt, None)

    monkeypatch.setattr("gossamer.index.index.reload_encoder", load)
    monkeypatch.setattr("gossamer.server.run.run", lambda *arguments, **options: None)
    refused = run(name, own, *arguments, "--quiet", ok=False)
    assert refused.exit_code == 1
    assert "the index names the encoder 'st:tiny'" in refused.stderr
    assert "or with --encoder" in refused.stderr
    run(name, own, *arguments, "--quiet", "--encoder", "st:tiny")
    assert given[-1] == "st:tiny"


def rewrite(path: Path, **changed: object) -> None:
    """Change the settings of an index as someone who knows the format would."""
    with closing(sqlite3.connect(path / "documents.sqlite")) as db:
        value = json.dumps(json.loads(db.execute("SELECT value FROM settings").fetchone()[0]) | changed)
        db.execute("UPDATE settings SET value = ?, crc = ?", (value, zlib.crc32(value.encode())))
        db.commit()


@pytest.mark.parametrize("encoder", ["st:tiny", "callable:f", "lsa?x="])
def test_info_needs_no_encoder(run: Run, own: Path, encoder: str) -> None:
    rewrite(own, encoder=encoder)
    about = read(run, "info", own)
    assert (about["encoder"], about["documents"]) == (encoder, 12)


def test_info_sends_no_commands_to_a_terminal(run: Run, own: Path) -> None:
    rewrite(own, encoder="st:\x1b[2J", created="now\x1b]0;title\x07", written_by="1\n2\x9b31m")
    shown = run("info", own).stdout
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)
    assert "by Gossamer 1 2" in shown
    assert "\x1b" not in run("search", own, "fox", ok=False).stderr


def test_serve_refuses_an_encoder_that_no_index_has(run: Run, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.server.run.run", lambda *arguments, **options: None)
    refused = run("serve", own, "--port", "0", "--quiet", "--encoder", "typo:x", ok=False)
    assert refused.exit_code == 1
    assert "no index here has the encoder 'typo:x': they have 'lsa'" in refused.stderr
    run("serve", own, "--port", "0", "--quiet", "--encoder", "lsa")


def test_models(run: Run, tmp_path: Path) -> None:
    here = {"GOSSAMER_CACHE": str(tmp_path), "GOSSAMER_OFFLINE": "1", "GOSSAMER_MODELS": str(tmp_path / "none")}
    listed = {model["name"]: model for model in read(run, "models", "list", **here)}
    model = listed["minilm"]
    assert (model["here"], model["path"]) == (False, str(tmp_path / "models" / "minilm"))
    assert (model["megabytes"], model["dim"], model["languages"], model["extra"]) == (24, 384, "English", "onnx")
    assert listed["openai:text-embedding-3-small"]["megabytes"] is None
    assert {name.partition(":")[0] for name in listed} >= {"lsa", "st", "model2vec", "fastembed", "openai", "ollama"}
    shown = run("models", "list", columns=60, **here).stdout
    assert all(f"{name}\n" in shown for name in listed)  # each on a line of its own, also where it is long
    assert "not fetched yet" in shown
    assert run("models", "path", "minilm", **here).stdout == f"{tmp_path / 'models' / 'minilm'}\n"
    assert read(run, "models", "path", **here) == {"name": "minilm", "path": str(tmp_path / "models" / "minilm")}
    failed = run("models", "pull", "minilm", ok=False, **here)
    assert failed.exit_code == 1
    assert "GOSSAMER_OFFLINE" in failed.stderr
    assert "--encoder lsa" in failed.stderr


def test_models_alone_lists_them(run: Run) -> None:
    assert run("models").stdout == run("models", "list").stdout
    assert "minilm" in run("models").stdout


def test_ids_that_are_not_there_are_told(run: Run, own: Path) -> None:
    done = run("delete", own, "fox", "fxo")
    assert "1 document deleted" in done.stdout
    assert "not in the index: 'fxo'" in done.stderr


def test_another_encoder(run: Run, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "texts.jsonl", TEXTS)
    run("index", source, "--to", tmp_path / "a.gsm", "--encoder", "lsa")
    answer = json.loads(run("reencode", tmp_path / "a.gsm", "--to", "lsa?components=8", "--json").stdout)
    assert (answer["encoder"], answer["encoded"]) == ("lsa?components=8", answer["documents"])
    assert "lsa" in run("reencode", tmp_path / "a.gsm", "--to", "lsa").stdout
    assert "no-such" in run("reencode", tmp_path / "a.gsm", "--to", "no-such", ok=False).output


def test_a_repaired_index_has_labels(run: Run, own: Path) -> None:
    with (own / "documents.sqlite").open("r+b") as file:
        file.seek(os.path.getsize(own / "documents.sqlite") // 2)
        file.write(bytes(4096))
    done = read(run, "repair", own)
    assert not done["was_sound"]
    assert read(run, "info", own)["documents"] == done["documents"]
    assert (own / "labels").exists(), "searches only read, and find them there"
