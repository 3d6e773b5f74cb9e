"""Every format and every encoder is documented."""

from __future__ import annotations

import re
from pathlib import Path

from gossamer.encoders import known_encoders, known_models
from gossamer.readers import FORMATS

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_every_suffix_is_documented() -> None:
    told = set(re.findall(r"\.\w+", (DOCS / "files.md").read_text()))
    assert set(FORMATS) <= told


def test_every_encoder_is_documented() -> None:
    page = (DOCS / "encoders.md").read_text()
    assert [name for name in known_encoders() if f"| `{name}` |" not in page] == []
    assert {model.name.partition(":")[0] for model in known_models()} < {
        name.partition(":")[0] for name in known_encoders()
    }
