"""Importing one integration imports no other, and one that is not installed says what to install."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

FRAMEWORKS = {"langchain": "langchain_core", "llama_index": "llama_index", "haystack": "haystack", "mcp": "mcp"}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_importing_one_imports_no_other(name: str) -> None:
    if importlib.util.find_spec(FRAMEWORKS[name]) is None:
        pytest.skip(f"needs the extra {name.replace('_', '-')}")
    others = {framework for other, framework in FRAMEWORKS.items() if other != name}
    said = run(f"import sys, gossamer.integrations.{name}; print(sorted({others!r} & set(sys.modules)))")
    assert said == "[]"


@pytest.mark.parametrize(
    ("name", "extra"), [("langchain", "langchain"), ("llama_index", "llama-index"), ("haystack", "haystack")]
)
def test_a_missing_extra_is_named(name: str, extra: str) -> None:
    said = run(
        f"import sys; sys.modules[{FRAMEWORKS[name]!r}] = None\n"
        f"try: import gossamer.integrations.{name}\nexcept ImportError as error: print(error)"
    )
    assert f'pip install "gossamer[{name.replace("_", "-")}]"' in said
