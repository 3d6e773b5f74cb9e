"""Importing one integration imports no other and no other framework; one that is not installed says what to install."""

from __future__ import annotations

import importlib.util
import pkgutil
import subprocess
import sys

import pytest

import gossamer.integrations

FRAMEWORKS = {
    "haystack": "haystack",
    "langchain": "langchain_core",
    "llama_index": "llama_index",
    "mcp": "mcp",
    "scikit_learn": "sklearn",
}
"""Integrations that import their framework, of which they have base classes."""
LAZY = ("ann_benchmarks", "mteb", "transfer")
"""Integrations that import what they need when they are called."""
BESIDES = {"haystack": "torch", "scikit_learn": "pyarrow"}
"""What a framework itself imports where it is installed."""
LIBRARIES = {"bertopic", "chromadb", "faiss", "h5py", "lancedb", "mteb", "pyarrow", "torch"}

CODE = """
import sys
from importlib import import_module
for name in {names}:
    before = set(sys.modules)
    import_module("gossamer.integrations." + name)
    new = {watched} & (set(sys.modules) - before) - {{"gossamer.integrations." + name, {frameworks}.get(name)}}
    print(name, sorted(new))
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_all_are_listed() -> None:
    found = {module.name for module in pkgutil.iter_modules(gossamer.integrations.__path__)}
    assert found == {*FRAMEWORKS, *LAZY, "common"}


@pytest.mark.parametrize("names", [LAZY, *((name,) for name in FRAMEWORKS)], ids=" ".join)
def test_importing_one_imports_no_other(names: tuple[str, ...]) -> None:
    for name in names:
        if name in FRAMEWORKS and importlib.util.find_spec(FRAMEWORKS[name]) is None:
            pytest.skip(f"needs the extra {name.replace('_', '-')}")
    watched = {f"gossamer.integrations.{name}" for name in (*FRAMEWORKS, *LAZY)} | {*FRAMEWORKS.values()} | LIBRARIES
    watched -= {BESIDES.get(name) for name in names}
    told = run(CODE.format(names=names, watched=watched, frameworks=FRAMEWORKS))
    assert told.splitlines() == [f"{name} []" for name in names]


@pytest.mark.parametrize("name", ["langchain", "llama_index", "haystack", "mcp"])
def test_a_missing_extra_is_named(name: str) -> None:
    told = run(
        f"import sys; sys.modules[{FRAMEWORKS[name]!r}] = None\n"
        f"try: import gossamer.integrations.{name}\nexcept ImportError as error: print(error)"
    )
    assert f'pip install "gossamer[{name.replace("_", "-")}]"' in told
