"""Documents on five themes."""

from __future__ import annotations

import random
from typing import Any

from explain.corpus import THEMES, document


def corpus(count: int, seed: int = 0) -> tuple[list[str], list[str], list[dict[str, Any]]]:
    """Texts on five themes in turn, with ids and metadata."""
    rng, themes = random.Random(seed), list(THEMES)
    texts = [f"{document(themes[at % 5], rng)} {at}" for at in range(count)]
    return texts, [f"{themes[at % 5]}-{at}" for at in range(count)], [
        {"theme": themes[at % 5], "number": at} for at in range(count)
    ]  # fmt: skip
