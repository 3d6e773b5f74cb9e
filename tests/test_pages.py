"""The code of the how-tos, migrations and the tutorial runs, block by block, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Final

import pytest
from typer.testing import CliRunner

from explain.chat_service import Server
from gossamer.cli.app import app
from gossamer.encoders import load_encoder
from gossamer.errors import MissingExtraError, ModelUnavailableError

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
PAGES: Final = (
    "tutorial.md",
    *(f"{part}/{page.name}" for part in ("howto", "migrate") for page in sorted((DOCS / part).glob("*.md"))),
)

AS_PROGRAM: Final = ("howto/processes.md",)
"""Pages whose code starts processes of its own, so it has to be a file."""

ASK_A_MODEL: Final = ("howto/naming.md", "howto/rag.md")

ASK_MINILM: Final = ("tutorial.md", "howto/min-confidence.md")

NEEDS: Final = {"howto/pandas.md": ("pandas", "narwhals"), "migrate/bertopic.md": ("pandas",)}
"""Page → modules of extras."""

_BLOCK: Final = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
"""Python and shell are run; a block without a language is what the Python before it prints. Others are not ours."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Stands for the language model that a page asks."""
    with Server() as running:
        Thread(target=running.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        monkeypatch.setenv("OLLAMA_HOST", running.url.removeprefix("http://"))
        yield running
        running.shutdown()


def write_texts(folder: Path) -> None:
    """The folder of texts that a reader of the tutorial is supposed to have."""
    folder.mkdir()
    for name, subject in (
        ("git", "a commit of a branch"),
        ("gpg", "the signature of a package"),
        ("pip", "a wheel of Python"),
    ):
        for verb in ("verify", "install", "remove", "list", "compare", "download", "repair"):
            (folder / f"{name}-{verb}.txt").write_text(f"How to {verb} {subject}: run {name} {verb}.")


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    for module in NEEDS.get(page, ()):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if page in ASK_MINILM:
        try:
            load_encoder("minilm").encode(["a word"])
        except (ModelUnavailableError, MissingExtraError) as error:
            pytest.skip(f"minilm is not to be had here: {error}")
    if page in ASK_A_MODEL:
        request.getfixturevalue("server")
    blocks = _BLOCK.findall((DOCS / page).read_text())
    assert blocks
    monkeypatch.chdir(tmp_path)
    if page == "tutorial.md":
        write_texts(tmp_path / "texts")
    names: dict[str, object] = {"__name__": "page"}
    printed = ""
    for language, block in blocks:
        if language == "python":
            printed = _run_file(block, tmp_path) if page in AS_PROGRAM else _run(block, page, names)
        elif language == "sh":
            _run_shell(block)
        elif not language:
            assert printed == block, f"{page} prints something else"
    for value in names.values():
        if type(value).__name__ in ("Index", "VectorIndex"):
            value.close()  # type: ignore[attr-defined]


def _run(code: str, page: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, page, "exec"), names)
    return printed.getvalue()


def _run_file(code: str, folder: Path) -> str:
    (folder / "example.py").write_text(code)
    return subprocess.run([sys.executable, "example.py"], check=True, capture_output=True, text=True).stdout


def _run_shell(commands: str) -> None:
    """Run commands as a user would type them; each has to succeed. Our own run in this process, which is quicker."""
    for line in commands.splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] == "gossamer":
            done = CliRunner().invoke(app, words[1:])
            assert done.exit_code == 0, done.output
        else:
            subprocess.run(["bash", "-euc", line], check=True)
