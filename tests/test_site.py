"""The documentation: generated pages are current, examples are there, and the site builds without a warning."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

import gossamer

ROOT: Final = Path(__file__).resolve().parents[1]


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of scripts/docs can be imported."""
    monkeypatch.syspath_prepend(ROOT / "scripts" / "docs")


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize("name", ["cli", "http"])
def test_the_references_are_current(name: str) -> None:
    written = (ROOT / "docs" / "reference" / f"{name}.md").read_text()
    assert written == load(f"{name}_page").page(), "run python scripts/docs/write.py"


@pytest.mark.usefixtures("scripts")
def test_every_public_method_has_an_example() -> None:
    api = load("api_page")
    classes = {name: getattr(gossamer, name) for name in gossamer.__all__ if inspect.isclass(getattr(gossamer, name))}
    missing = [
        f"{name}.{method}"
        for name, cls in classes.items()
        if name not in api.LIKE_INDEX
        for method, function in api.methods(name, cls).items()
        if ">>>" not in (function.__doc__ or "")
    ]
    assert missing == []


@pytest.mark.usefixtures("scripts")
def test_every_public_type_has_an_example() -> None:
    """Also the types that calls return: what one gets, and what to do with it."""
    api = load("api_page")
    classes = {name: getattr(gossamer, name) for name in gossamer.__all__ if inspect.isclass(getattr(gossamer, name))}
    own = {name: f"{inspect.getdoc(cls)} {cls.__init__.__doc__}" for name, cls in classes.items()}
    assert [name for name, told in own.items() if ">>>" not in told and name not in api.LIKE_INDEX] == []
    page = api.page()
    assert [name for name in classes if f"## {name}\n" not in page] == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    if find_spec("material") is None:
        pytest.skip("the dependency group docs is not installed")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr  # with --quiet, warnings are not counted
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 30
    loaded = re.compile(r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//|<link[^>]* href="(?:https?:)?//')
    assert [page.name for page in pages if loaded.search(page.read_text())] == []
    assert "Index.search" in (tmp_path / "reference" / "api.html").read_text()
