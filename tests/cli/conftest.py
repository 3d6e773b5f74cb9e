"""A small index made by the command line itself, and a way to run commands on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from typer.testing import CliRunner, Result

from gossamer.cli.app import app

Run: TypeAlias = Callable[..., Result]

TEXTS = {
    "fox": ("The red fox hunts mice in the snowy forest at night.", {"topic": "animals", "year": 2018}),
    "wolf": ("A pack of wolves hunts deer together in the forest.", {"topic": "animals", "year": 2019}),
    "owl": ("The owl sees mice in the dark and hunts without a sound.", {"topic": "animals", "year": 2021}),
    "bear": ("Bears sleep through the winter in a den in the forest.", {"topic": "animals", "year": 2022}),
    "bread": ("Bake the bread in a hot oven until the crust is brown.", {"topic": "food", "year": 2018}),
    "soup": ("Cook the soup slowly with onions, carrots and salt.", {"topic": "food", "year": 2019}),
    "cake": ("Bake the cake with butter, sugar and flour in the oven.", {"topic": "food", "year": 2020}),
    "salad": ("Wash the salad, then add oil, salt and onions.", {"topic": "food", "year": 2023}),
    "moon": ("The moon goes around the earth in about a month.", {"topic": "space", "year": 2018}),
    "mars": ("Mars is a cold red planet with two small moons.", {"topic": "space", "year": 2020}),
    "sun": ("The sun is a star, and the planets go around it.", {"topic": "space", "year": 2021}),
    "comet": ("A comet of ice and dust goes around the sun with a long tail.", {"topic": "space", "year": 2024}),
}


def write_jsonl(path: Path, rows: dict[str, tuple[str, dict[str, Any]]]) -> Path:
    lines = [json.dumps({"id": id, "text": text, **metadata}) for id, (text, metadata) in rows.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def run() -> Run:
    """Run a command in this process: `run("search", index, "a query")`; `ok=False` where it is meant to fail."""
    runner = CliRunner()

    def invoke(*arguments: object, ok: bool = True, columns: int = 100, input: str | None = None, **env: str) -> Result:
        settings = {"COLUMNS": str(columns), "GOSSAMER_DEBUG": None, **env}
        result = runner.invoke(app, [str(each) for each in arguments], input=input, env=settings)
        assert not ok or result.exit_code == 0, result.output
        return result

    return invoke


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index for tests that only look."""
    folder = tmp_path_factory.mktemp("ready")
    source = write_jsonl(folder / "texts.jsonl", TEXTS)
    done = CliRunner().invoke(app, ["index", str(source), "--to", str(folder / "texts.gsm"), "--encoder", "lsa"])
    assert done.exit_code == 0, done.output
    return folder / "texts.gsm"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The same texts as a file of one's own."""
    return write_jsonl(tmp_path / "texts.jsonl", TEXTS)


@pytest.fixture
def own(tmp_path: Path, source: Path, run: Run) -> Path:
    """An index of one's own, to change."""
    run("index", source, "--to", tmp_path / "own.gsm", "--encoder", "lsa")
    return tmp_path / "own.gsm"
