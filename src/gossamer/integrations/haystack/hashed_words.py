"""Vectors for documents that come without an embedding: their words, hashed.

Such documents lie in the tree by the words they share. Their vectors mean nothing beside those of a model, so a search
by embedding leaves these documents out.
"""

import re
from zlib import crc32

import numpy as np
import numpy.typing as npt

from gossamer.errors import StateError


class HashedWords:
    """Texts → unit vectors with a signed count of words in each of `dim` dimensions, which may be set later."""

    def __init__(self, dim: int | None = None) -> None:
        self.dim = dim

    def __call__(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """One vector for each text."""
        if self.dim is None:
            raise StateError("the dimension of the vectors is not known yet: add a document first")
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()) or [text]:
                code = crc32(word.encode())
                vector[code % self.dim] += 1.0 if code & 1 << 30 else -1.0
            vector /= np.linalg.norm(vector) or 1.0
        return vectors
