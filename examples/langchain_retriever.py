"""LangChain: a vector store that knows its concepts. Needs no model files: words are hashed into vectors.

pip install "gossamer[langchain]"; python examples/langchain_retriever.py
"""

from __future__ import annotations

from texts import METADATA, TEXTS, hashed_words

from gossamer.integrations.langchain import GossamerEmbeddings, GossamerRetriever, GossamerVectorStore


def main() -> None:
    # Any embeddings of LangChain will do; path="notes.gsm" keeps the store on disk.
    store = GossamerVectorStore.from_texts(TEXTS, GossamerEmbeddings(hashed_words), METADATA)
    for document in store.similarity_search("who hunts in the forest?", k=2, filter={"year": {"$gte": 2020}}):
        print(document.page_content)
    retriever = GossamerRetriever(index=store.index, k=1, min_confidence=0.2)
    for document in retriever.invoke("bake bread in the oven"):
        print(f"{document.metadata['score']:.2f} {document.page_content} in {document.metadata['concepts']}")
    print("not here:", retriever.invoke("quarterly tax return"))
    print("topics:", [topic.label for topic in store.index.topics(3).concepts])


if __name__ == "__main__":
    main()
