"""The index with hostile texts that the pictures of the package are tested with."""

from pictures.conftest import index, texts

__all__ = ["index", "texts"]
