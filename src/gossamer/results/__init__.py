"""What the calls return: frozen dataclasses that carry their cost.

vectors       `VectorIndex` and `CobwebTree`: ids and scores, paths of nodes
concepts      concepts, topics and outlines of the tree
explanation   why a document scores as it does, also as text, JSON and HTML
index         `Index`: documents, hits, the state of an index
plane         documents as points of the plane, and the regions of concepts
since         from when on changes are told
tables        rows as a DataFrame
other_names   what other libraries call all this
notebook      HTML for notebooks

Importing this package imports no numpy, so that `gossamer --help` stays fast.
"""

from gossamer.results.concepts import (
    Concept,
    ConceptChange,
    ConceptMatch,
    Exemplar,
    LabelRequest,
    Novelty,
    Outline,
    Topics,
    as_levels,
)
from gossamer.results.explanation import ConceptStep, Explanation, Rival
from gossamer.results.index import (
    Compaction,
    Document,
    Facet,
    Facets,
    FacetValue,
    Hit,
    Hits,
    IndexInfo,
    LostDocument,
    NearDuplicates,
    Passage,
    Repair,
)
from gossamer.results.plane import Plane, Region
from gossamer.results.since import Since, operation_or_moment
from gossamer.results.vectors import Axis, DocId, PathStep, Refinement, SearchResult, TreeStats, VectorExplanation

__all__ = [
    "Axis", "Compaction", "Concept", "ConceptChange", "ConceptMatch", "ConceptStep", "DocId", "Document", "Exemplar",
    "Explanation", "Facet", "FacetValue", "Facets", "Hit", "Hits", "IndexInfo", "LabelRequest", "LostDocument",
    "NearDuplicates", "Novelty", "Outline", "Passage", "PathStep", "Plane", "Refinement", "Region", "Repair", "Rival",
    "SearchResult", "Since", "Topics", "TreeStats", "VectorExplanation", "as_levels", "operation_or_moment",
]  # fmt: skip
