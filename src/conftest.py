"""What the examples in docstrings start from; the API reference shows it at its top."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NEEDED = {
    "integrations/haystack": "haystack",
    "integrations/llama_index": "llama_index",
    "integrations/langchain.py": "langchain_core",
    "neighbours/fused.py": "triton",
    "cluster": "ray",
}
"""By what is in gossamer: the package without which it cannot be imported."""

collect_ignore = [f"gossamer/{name}" for name, needed in NEEDED.items() if find_spec(needed) is None]

EXAMPLE = """\
import numpy as np
from gossamer import Index, VectorIndex

notes = {
    "fox": "The red fox hunts mice in the snowy forest.", "wolf": "A pack of wolves hunts deer in the forest.",
    "owl": "The owl hunts mice in the dark forest.", "bear": "Bears sleep in the forest through the winter.",
    "lynx": "The lynx hunts hares in the snowy forest.", "deer": "Deer eat young trees in the forest.",
    "bread": "Bake the bread in a hot oven.", "cake": "Bake the cake with butter and sugar in the oven.",
    "pizza": "Bake the pizza dough in a very hot oven.", "pie": "Bake the apple pie with sugar and butter.",
    "soup": "Cook the soup with onions, butter and salt.", "rolls": "Bake bread rolls from the same dough.",
    "moon": "The moon goes around the earth in a month.", "mars": "Mars is a red planet with two small moons.",
    "sun": "The planets go around the sun, a star.", "comet": "A comet goes around the sun with a long tail.",
    "saturn": "Saturn is a planet with rings and many moons.", "venus": "Venus is a hot planet near the sun.",
}
ix = Index(encoder="lsa")
ix.add(notes.values(), list(notes), [{"words": len(text.split())} for text in notes.values()])

vx = VectorIndex(dim=3)
vx.add([[1, 0.1, 0], [0.6, 0.5, 0.1], [0, 0.2, 1]], ids=["fox", "owl", "fish"])
"""


CLUSTER = """\
from gossamer.cluster import Cluster

cluster = Cluster.create(path, encoder="lsa", shards=2)
cluster.add(notes.values(), list(notes), [{"words": len(text.split())} for text in notes.values()])
"""


@pytest.fixture(scope="session")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One cluster for all examples, which leave it as it was: to start one takes seconds."""
    made: dict[str, Any] = {"path": tmp_path_factory.mktemp("example") / "notes.cluster"}
    exec(EXAMPLE.partition("ix = ")[0] + CLUSTER, made)
    yield made["cluster"]
    made["cluster"].close()


@pytest.fixture(autouse=True)
def _example(
    request: pytest.FixtureRequest, doctest_namespace: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Every example runs in an empty folder; those that name `ix` or `vx` find it."""
    monkeypatch.chdir(tmp_path)
    docstring = getattr(getattr(request.node, "dtest", None), "docstring", "")
    made: dict[str, Any] = {}
    if "ix." in docstring or "vx." in docstring:
        exec(EXAMPLE, made)
        del made["__builtins__"]
        doctest_namespace.update(made)
    if "cluster." in docstring and "/cluster/" in request.node.nodeid:
        doctest_namespace["cluster"] = request.getfixturevalue("_cluster")
    yield
    for name, value in made.items():
        del doctest_namespace[name]
        if name in ("ix", "vx"):
            value.close()
