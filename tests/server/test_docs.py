"""What docs/server.md says is there, and what is there is said."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gossamer.cli.app import app
from server.running import Running

HERE = Path(__file__).parents[2]
DOCS = HERE / "docs" / "server.md"

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="installed without the docs")


def test_every_route_is_told(service: Running) -> None:
    text = DOCS.read_text()
    described = service.http.get("/v1/openapi.json").json()["paths"]
    for path, operations in described.items():
        for method in operations:
            told = f"{method.upper()} {path}"
            assert "{name}" in path or f"`{told}`" in text or told == "POST /v1/concepts/find", told
    known = {f"{method.upper()} {path}" for path, operations in described.items() for method in operations}
    assert set(re.findall(r"`((?:GET|POST|DELETE) /\S+)`", text)) <= known


def test_every_option_of_serve_is_told_or_obvious() -> None:
    text = DOCS.read_text()
    serve = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    options = {option for parameter in serve.params for option in parameter.opts if option.startswith("--")}
    assert {option for option in options if option not in text} == {"--json", "--quiet", "--debug", "--port"}
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= options | {"--scope", "--note"}


def test_the_python_in_it_is_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        ast.parse(block)


def test_the_example_runs(own: Running) -> None:
    own.http.post("/v1/documents/delete", json={"ids": [f"d{at}" for at in range(30)]})
    command = [sys.executable, str(HERE / "examples" / "client.py"), own.url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "forest" in done.stdout.splitlines()[0]
    assert "1000 added as a stream" in done.stdout
    assert done.stdout.endswith("id 'note-7' is not in the index, which holds 6 documents\n")
