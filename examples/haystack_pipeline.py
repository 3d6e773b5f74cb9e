"""Haystack: an indexing and a query pipeline over a document store that knows its concepts.

pip install "gossamer[haystack]"; python examples/haystack_pipeline.py
"""

from __future__ import annotations

from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.writers import DocumentWriter
from texts import METADATA, TEXTS, hashed_words

from gossamer.integrations.haystack import GossamerBM25Retriever, GossamerDocumentStore, GossamerEmbeddingRetriever


def main() -> None:
    store = GossamerDocumentStore()  # GossamerDocumentStore("notes.gsm") keeps it on disk
    parts = zip(TEXTS, METADATA, hashed_words(TEXTS).tolist(), strict=True)  # an embedder in a real pipeline
    writing = Pipeline()
    writing.add_component("writer", DocumentWriter(store))
    writing.run({"writer": {"documents": [Document(content=text, meta=meta, embedding=e) for text, meta, e in parts]}})

    asking = Pipeline()
    asking.add_component("near", GossamerEmbeddingRetriever(store, top_k=2, min_confidence=0.2))
    asking.add_component("words", GossamerBM25Retriever(store, top_k=2))
    asking.add_component("both", DocumentJoiner())
    asking.connect("near.documents", "both.documents")
    asking.connect("words.documents", "both.documents")
    question = "who hunts mice in the forest?"
    answer = asking.run(
        {"near": {"query_embedding": hashed_words([question])[0].tolist()}, "words": {"query": question}}
    )
    for document in answer["both"]["documents"]:
        print(f"{document.score:.2f} {document.content} in {document.meta['concepts']}")
    late = {"field": "meta.year", "operator": ">=", "value": 2022}
    print("since 2022:", [document.content for document in store.filter_documents(late)])
    print("topics:", [topic.label for topic in store.index.topics(3).concepts])


if __name__ == "__main__":
    main()
