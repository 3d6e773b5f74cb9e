"""Every format and every encoder is documented."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from gossamer.encoders import known_encoders, known_models
from gossamer.readers import FORMATS

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_every_suffix_is_documented() -> None:
    told = set(re.findall(r"\.\w+", (DOCS / "files.md").read_text()))
    assert set(FORMATS) <= told


def test_every_extra_is_documented() -> None:
    extras = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = [line for line in (DOCS / "install.md").read_text().splitlines() if line.startswith("| `")]
    told = set(re.findall(r"`([\w-]+)`", " ".join(row.split("|")[1] for row in rows)))
    others = (DOCS / "integrations.md").read_text() + (DOCS / "other-programs.md").read_text()
    adapters = {"langchain", "llama-index", "haystack", "mteb"}
    assert told == set(extras) - adapters
    assert [name for name in adapters if f"`{name}`" not in others] == []


def test_every_encoder_is_documented() -> None:
    page = (DOCS / "encoders.md").read_text()
    assert [name for name in known_encoders() if f"| `{name}` |" not in page] == []
    assert {model.name.partition(":")[0] for model in known_models()} < {
        name.partition(":")[0] for name in known_encoders()
    }
