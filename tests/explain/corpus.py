"""A corpus with themes, written for these tests."""

from __future__ import annotations

import random

THEMES = {
    "baking": "bread dough flour oven yeast crust sourdough loaf",
    "cycling": "bicycle tyre chain brake pedal saddle wheel gear",
    "sky": "moon comet planet orbit telescope galaxy eclipse asteroid",
    "music": "violin concert melody rhythm guitar piano chorus orchestra",
    "garden": "tomato seedling compost pruning orchard tulip greenhouse weeds",
}
EVERYWHERE = ["today", "people", "really", "question", "answer", "morning", "friend", "always"]


def document(theme: str, rng: random.Random) -> str:
    words = [*rng.sample(THEMES[theme].split(), 4), *rng.sample(EVERYWHERE, 2)]
    rng.shuffle(words)
    return " ".join(words)


def documents(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """So many texts and the theme of each, in turn."""
    rng = random.Random(seed)
    themes = [list(THEMES)[at % len(THEMES)] for at in range(n)]
    return [document(theme, rng) for theme in themes], themes
