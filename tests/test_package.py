"""The package as a whole: what it exports, what importing it costs, and which versions it is tested with."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import gossamer
from gossamer.errors import MissingExtraError

ROOT = Path(__file__).parent.parent
HEAVY = ("numba", "sklearn", "scipy", "torch", "onnxruntime", "transformers", "numpy", "typer", "rich", "httpx")


def test_importing_is_cheap() -> None:
    """A fresh process that imports gossamer has loaded none of the heavy libraries, numpy included."""
    code = f"import sys, gossamer; print([m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_an_error_can_be_sent_to_another_process() -> None:
    error = MissingExtraError("Reading this", "files")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.extra) == (type(error), str(error), "files")


def test_what_an_index_returns_is_public() -> None:
    """So that whoever writes types down need not look for them."""
    seen = set[type]()
    for name, member in inspect.getmembers(gossamer.Index):
        call = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and callable(call):
            seen |= _named_in(get_type_hints(call).get("return"))
    names = {kind.__name__ for kind in seen if kind.__module__.startswith("gossamer")}
    assert {"Hits", "Compaction", "Repair"} <= names
    assert names <= set(gossamer.__all__)


def _named_in(hint: object) -> set[type]:
    """The classes that a type hint names."""
    inner: set[type] = set().union(*map(_named_in, get_args(hint)))
    return inner | {hint} if isinstance(hint, type) else inner


def test_public_names() -> None:
    """What is exported is a promise: adding to this list is a decision, taking away breaks people."""
    assert set(gossamer.__all__) == {
        "AsyncClient",
        "Axis",
        "Client",
        "CobwebTree",
        "Compaction",
        "Concept",
        "ConceptChange",
        "ConceptMatch",
        "ConceptStep",
        "Cut",
        "Document",
        "Encoded",
        "Exemplar",
        "Explanation",
        "Facet",
        "FacetValue",
        "Facets",
        "GossamerError",
        "Hit",
        "Hits",
        "Index",
        "IndexInfo",
        "LabelRequest",
        "LostDocument",
        "NearDuplicates",
        "Novelty",
        "Outline",
        "Passage",
        "PathStep",
        "Plane",
        "Refinement",
        "Region",
        "Repair",
        "Rival",
        "SearchResult",
        "Topics",
        "TreeStats",
        "VectorExplanation",
        "VectorIndex",
        "Whitener",
        "__version__",
    }
    for name in gossamer.__all__:
        assert getattr(gossamer, name) is not None
    assert dir(gossamer) == sorted(gossamer.__all__)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Faiss'"):
        _ = gossamer.Faiss


def requirements(*extras: str) -> list[Requirement]:
    """What pyproject.toml states for the core and for `extras`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    return [Requirement(line) for lines in lists for line in lines]


def pins(file: str) -> dict[str, Version]:
    """Name → version of a file in requirements/, whose lines are `name==version`, with a marker at most."""
    pinned = {}
    for line in (ROOT / "requirements" / file).read_text().splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r"([a-z0-9-]+)==([0-9][\w.]*)(; python_version >= \"3\.\d+\")?", line)
            assert match, f"{file}: {line}"
            pinned[match[1]] = Version(match[2])
    return pinned


def test_the_lower_bounds_are_those_that_are_tested() -> None:
    stated = {}
    for requirement in requirements("onnx", "serve", "parquet", "client"):
        (bound,) = (each for each in requirement.specifier if each.operator != "<")
        assert bound.operator == ">=", requirement
        stated[requirement.name] = Version(bound.version)
    assert pins("lowest.txt") == stated


def test_the_lock_has_a_version_of_every_requirement() -> None:
    locked = pins("lock.txt")
    lab = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())["project"]
    named = [*lab["dependencies"], *lab["optional-dependencies"]["hnswlib"]]
    of_lab = [Requirement(line) for line in named if line != "gossamer"]
    for requirement in [*requirements("onnx", "parquet", "serve"), *of_lab]:
        assert locked[requirement.name] in requirement.specifier
    assert not [name for name in locked if name.startswith(("torch", "nvidia", "cuda"))]


class Checkout:
    """A copy of what `make` reads, with a Python that only notes how it was called."""

    def __init__(self, folder: Path, python: str = "") -> None:
        self.folder = folder
        (folder / "requirements").mkdir()
        (folder / "lab").mkdir()
        (folder / ".venv" / "bin").mkdir(parents=True)
        for name in ("python", "gossamer"):
            program = folder / ".venv" / "bin" / name
            program.write_text(f'#!/bin/sh\necho "$@" >>{folder}/calls\n{python}\n')
            program.chmod(0o755)
        for name in ("Makefile", "pyproject.toml", "lab/pyproject.toml", "requirements/lock.txt"):
            shutil.copy(ROOT / name, folder / name)

    def make(self, *arguments: str) -> str:
        """Run make; returns what it printed."""
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "LOCK", "VENV", "UV"))
        }
        command = ["make", "--silent", *arguments]
        return subprocess.run(command, cwd=self.folder, env=clean, check=True, capture_output=True, text=True).stdout

    @property
    def stamps(self) -> set[str]:
        return {path.name for path in (self.folder / ".venv").glob(".demo-*")}

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_demo_is_installed_anew_after_other_versions(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    for arguments, stamp in ((["install"], "locked"), (["install", "LOCK="], "newest"), (["demo"], "locked")):
        checkout.make(*arguments)
        assert checkout.stamps == {f".demo-{stamp}"}


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_nothing_but_hnswlib_is_built_from_source(tmp_path: Path) -> None:
    """On a machine whose compiler always fails, where pip would have to build what has no wheel."""
    checkout = Checkout(tmp_path, 'case "$*" in *--only-binary*) exit 0;; *"pip install"*) exit 1;; esac')
    said = checkout.make("install")
    assert "hnswlib has no wheel and could not be built here: comparisons with it are skipped" in said
    built = [call for call in checkout.calls if "pip install" in call and "--only-binary :all:" not in call]
    assert len(built) == 1
    assert built[0].endswith(" hnswlib")
    extras = [call for call in checkout.calls if "--editable" in call]
    assert extras[0].endswith(".[onnx,serve]"), "the demo needs these, and is installed first"


def test_the_lock_is_made_by_the_oldest_python(tmp_path: Path) -> None:
    newer = tmp_path / "python"
    newer.write_text("#!/bin/sh\necho Python 3.12.1\n")
    newer.chmod(0o755)
    for python in (str(newer), str(tmp_path / "missing")):
        done = subprocess.run([sys.executable, ROOT / "scripts" / "lock", python], capture_output=True, text=True)
        assert done.returncode == 1
        assert "is not Python 3.11, which chooses the versions: install it" in done.stderr
