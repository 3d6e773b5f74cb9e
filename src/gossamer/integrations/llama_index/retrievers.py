"""Retrievers of LlamaIndex over an index: passages with explanations, and concepts for broad questions."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from gossamer.errors import ParameterError
from gossamer.index import Index
from gossamer.integrations.common import concepts_of
from gossamer.integrations.llama_index.vector_store import GossamerVectorStore
from gossamer.results import ConceptMatch, Hit

AnswerWith = Literal["auto", "concepts", "passages"]


class _Retriever(BaseRetriever):
    """A retriever over an index or a store. Without `embed_model` the index's own encoder encodes questions."""

    def __init__(self, source: Index | GossamerVectorStore, *, k: int = 5, embed_model: Any = None) -> None:
        super().__init__()
        self.index: Index = source.client if isinstance(source, GossamerVectorStore) else source
        self._k, self._embed_model = k, embed_model

    def _vector(self, bundle: QueryBundle) -> list[float] | None:
        if bundle.embedding is None and self._embed_model is not None:
            bundle.embedding = self._embed_model.get_agg_embedding_from_queries(bundle.embedding_strs)
        return bundle.embedding

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class GossamerRetriever(_Retriever):
    """The best passages, each with its `concepts` and an `explanation` in the metadata.

    With `min_confidence` (0.05 is a good start) there are none where nothing here answers the question. `options` are
    further arguments of `Index.search`: `where`, `within`, `diversity`, `hybrid`.
    """

    def __init__(
        self,
        source: Index | GossamerVectorStore,
        *,
        k: int = 5,
        embed_model: Any = None,
        min_confidence: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(source, k=k, embed_model=embed_model)
        self._options = {"explain": True, "min_confidence": min_confidence, **options}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        vector = self._vector(query_bundle)
        hits = self.index.search(query_bundle.query_str, self._k, vector=vector, **self._options)
        return [_passage(hit) for hit in hits]


class HierarchicalRetriever(_Retriever):
    """Concepts for a broad question, passages for a narrow one.

    A question is narrow if a passage is as near to it as passages are to each other: if its confidence (see
    `Index.novelty`) is at least `narrow`. This is a rough guess, see docs/integrations.md; `answer_with` decides it.
    """

    def __init__(
        self,
        source: Index | GossamerVectorStore,
        *,
        k: int = 5,
        embed_model: Any = None,
        narrow: float = 0.2,
        answer_with: AnswerWith = "auto",
    ) -> None:
        super().__init__(source, k=k, embed_model=embed_model)
        if answer_with not in ("auto", "concepts", "passages"):
            raise ParameterError(f"answer_with must be auto, concepts or passages, got {answer_with!r}")
        self._narrow, self._answer_with = narrow, answer_with

    def is_narrow(self, question: str, vector: list[float] | None = None) -> bool:
        """Whether a question asks for passages."""
        if self._answer_with != "auto":
            return self._answer_with == "passages"
        return self.index.novelty(question, vector=vector).confidence >= self._narrow

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        question, vector = query_bundle.query_str, self._vector(query_bundle)
        if self.is_narrow(question, vector):
            return [_passage(hit) for hit in self.index.search(question, self._k, vector=vector, explain=True)]
        return [_concept(match) for match in self.index.find_concepts(question, self._k, vector=vector)]


def _passage(hit: Hit) -> NodeWithScore:
    metadata = {name: value for name, value in hit.metadata.items() if not name.startswith("_node")}
    metadata |= {"kind": "passage", "document": hit.id, "concepts": concepts_of(hit)}
    if hit.explanation is not None:
        metadata["explanation"] = " ".join(hit.explanation.sentences)
    return NodeWithScore(node=TextNode(id_=hit.id, text=hit.passage, metadata=metadata), score=hit.score)


def _concept(match: ConceptMatch) -> NodeWithScore:
    """A concept in words: its label, its size and typical documents."""
    concept = match.concept
    typical = "".join(f"\n- {exemplar.text}" for exemplar in concept.exemplars)
    metadata = {
        "kind": "concept",
        "concept": concept.id,
        "size": concept.size,
        "concepts": [step.label for step in match.path],
        "documents": [exemplar.id for exemplar in concept.exemplars],
    }
    text = f"{concept.label} ({concept.size:,} passages), for example:{typical}"
    return NodeWithScore(node=TextNode(id_=f"concept-{concept.id}", text=text, metadata=metadata), score=match.score)
