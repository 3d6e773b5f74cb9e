"""`gossamer eval all` and `gossamer eval check`, on made-up data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from cli.conftest import Run
from gossamer_lab import fingerprint, pages
from kitchen import write_beir


def test_one_command_makes_pages_again(run: Run, tmp_path: Path) -> None:
    """The other pages are made in the same way; the data of this one are made up here."""
    data, out = tmp_path / "shared", tmp_path / "out"
    for name in ("msmarco", "scifact"):
        write_beir(data / "data" / name, zipped=True)
    texts = [f"how to bake bread number {number}" for number in range(40)]
    (data / "embeddings").mkdir()
    setup = json.dumps({"corpus": texts, "queries": texts[:9], "targets": list(range(9))})
    (data / "embeddings" / "qqp-setup.json.gz").write_bytes(gzip.compress(setup.encode()))
    made = run("eval", "all", "--quick", "--only", "words", "--out", out, "--data", data, "--json")
    assert json.loads(made.stdout) == {"pages": {"words": 0}}
    told = json.loads((out / "words.json").read_text())
    assert told["engine"] == fingerprint.current(("words",))
    assert {row["collection"] for row in told["tables"][0]["rows"]} == {"qqp", "msmarco", "scifact"}
    assert f"engine {told['engine']}" in (out / "words.md").read_text()
    assert run("eval", "all", "--only", "nothing", ok=False).exit_code == 1


def test_a_page_that_cannot_be_made_is_told(run: Run, tmp_path: Path) -> None:
    failed = run("eval", "all", "--only", "robustness", "--out", tmp_path, "--data", tmp_path / "none", ok=False)
    assert failed.exit_code == 1
    assert "could not make robustness" in failed.stderr


def test_check_lists_and_marks_what_an_earlier_engine_made(run: Run, tmp_path: Path) -> None:
    for page in pages.PAGES:
        engine = fingerprint.current(page.families) if page.name != "tree" else "of long ago"
        (tmp_path / f"{page.name}.json").write_text(json.dumps({"engine": engine}))
        (tmp_path / f"{page.name}.md").write_text(f"# {page.name}\n\nText.\n")
    assert json.loads(run("eval", "check", "--out", tmp_path, "--json").stdout) == {"earlier": ["tree"]}
    assert pages.EARLIER not in (tmp_path / "tree.md").read_text()
    assert run("eval", "check", "--mark", "--out", tmp_path).stdout.split() == ["tree"]
    assert pages.EARLIER in (tmp_path / "tree.md").read_text()
    assert (tmp_path / "labels.md").read_text() == "# labels\n\nText.\n"
