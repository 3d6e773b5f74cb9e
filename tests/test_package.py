"""The package as a whole: what it exports, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gossamer

HEAVY = ("numba", "sklearn", "scipy", "torch", "onnxruntime", "transformers", "numpy", "typer", "rich", "httpx")


def test_importing_is_cheap() -> None:
    """A fresh process that imports gossamer has loaded none of the heavy libraries, numpy included."""
    code = f"import sys, gossamer; print([m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_public_names() -> None:
    """What is exported is a promise: adding to this list is a decision, taking away breaks people."""
    assert set(gossamer.__all__) == {
        "AsyncClient",
        "Axis",
        "Client",
        "CobwebTree",
        "Concept",
        "ConceptMatch",
        "ConceptStep",
        "Document",
        "Exemplar",
        "Explanation",
        "Hit",
        "Hits",
        "Index",
        "IndexInfo",
        "LabelRequest",
        "Novelty",
        "PathStep",
        "Rival",
        "SearchResult",
        "Topics",
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
