"""`VectorIndex`: whitening, tree, links and ranking together, for people who bring vectors.

vector_index    the façade: checks vectors, says what happens in which order
reader          the part of it that looks at the tree
presets         the settings that "default" and "paper" stand for
core            what searches read: whitener, tree and graph; how documents are inserted and removed
state           the core in use, ids, settings, renewal, history; their form on disk
staging         a change in two steps: what can fail, and what cannot
renewal         a new core over the same documents, made by a thread beside the one in use
cutting         the documents in n groups
explaining      why a document scores as it does: the gains of its path, and axes
raw_vectors     vectors as they came, on which a whitener is fitted again
ids             ids of documents ↔ their numbers in the tree
"""

from gossamer.vector_index.cutting import Cut
from gossamer.vector_index.raw_vectors import Source
from gossamer.vector_index.staging import Staged
from gossamer.vector_index.vector_index import VectorIndex

__all__ = ["Cut", "Source", "Staged", "VectorIndex"]
