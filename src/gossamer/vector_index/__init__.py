"""`VectorIndex`: whitening, tree, links and ranking together, for people who bring vectors."""

from gossamer.vector_index.raw_vectors import Source
from gossamer.vector_index.staging import Staged
from gossamer.vector_index.vector_index import VectorIndex

__all__ = ["Source", "Staged", "VectorIndex"]
