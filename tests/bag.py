"""A fast, deterministic encoder for tests: words hashed into a few dimensions, and texts made of such words."""

from __future__ import annotations

import random
import re
import zlib

import numpy as np
import numpy.typing as npt

DIM = 32
WORDS = [
    *("sun", "moon", "star", "sea", "river", "stone", "tree", "leaf", "bird", "fish"),
    *("wolf", "bear", "bread", "milk", "salt", "iron", "gold", "silk", "king", "queen"),
    *(first + last for first in ("ka", "lo", "mi", "nu", "pe", "ro", "sa", "tu") for last in ("bar", "dan", "fel")),
    *(first + last for first in ("ka", "lo", "mi", "nu", "pe", "ro", "sa", "tu") for last in ("gor", "him", "jun")),
]


def encode(texts: list[str]) -> npt.NDArray[np.float32]:
    """Signed counts of hashed words, of unit length; zero for a text without words."""
    rows = np.zeros((len(texts), DIM), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in re.findall(r"\w+", text.lower()):
            code = zlib.crc32(word.encode())
            row[code % DIM] += 1.0 if code & 1 << 20 else -1.0
            row[(code >> 8) % DIM] += 0.5
        row /= np.linalg.norm(row) or 1.0
    return rows


def sentence(rng: random.Random, words: int = 5) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))
