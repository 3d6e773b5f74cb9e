"""Texts for the examples of integrations, and vectors for them without a model."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np

_TEXTS = {
    "The red fox hunts mice in the snowy forest at night.": 2019,
    "A pack of wolves hunts deer together in the forest.": 2020,
    "An owl hunts mice above the forest without a sound.": 2021,
    "Bake the bread in a hot oven until the crust is brown.": 2022,
    "Bake the cake with butter, sugar and flour in the oven.": 2020,
    "An apple pie needs butter, flour and a hot oven.": 2021,
    "The moon goes around the earth in about a month.": 2022,
    "Mars is a cold planet with two small moons.": 2024,
    "Venus is the planet that is nearest to the earth.": 2023,
}
TEXTS = list(_TEXTS)
METADATA: list[dict[str, Any]] = [{"year": year} for year in _TEXTS.values()]


def hashed_words(texts: list[str]) -> Any:
    """A dimension for each of 1,024 hashed words: texts that share no word are orthogonal."""
    vectors = np.full((len(texts), 1024), 1e-3)
    for vector, text in zip(vectors, texts, strict=True):
        vector[[zlib.crc32(word.encode()) % 1024 for word in re.findall(r"\w+", text.lower())]] = 1.0
    return vectors
