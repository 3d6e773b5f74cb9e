"""`Index`: text in, explained answers out. Read `index.index` first."""

from gossamer.index.index import Index

__all__ = ["Index"]
