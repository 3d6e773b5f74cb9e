"""`VectorIndex`: whitening, tree, links and ranking together, for people who bring vectors."""

from gossamer.vector_index.vector_index import VectorIndex

__all__ = ["VectorIndex"]
