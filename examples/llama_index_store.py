"""LlamaIndex: the store behind a VectorStoreIndex, explained answers, and concepts for broad questions.

pip install "gossamer[llama-index]"; python examples/llama_index_store.py
"""

from __future__ import annotations

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import TextNode
from texts import METADATA, TEXTS, hashed_words

from gossamer.integrations.llama_index import GossamerRetriever, GossamerVectorStore, HierarchicalRetriever


class HashedWords(BaseEmbedding):
    """In the place of a real model, which this example does without."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return hashed_words([text])[0].tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def main() -> None:
    model, store = HashedWords(), GossamerVectorStore()  # GossamerVectorStore("notes.gsm") keeps it on disk
    nodes = [TextNode(text=text, metadata=metadata) for text, metadata in zip(TEXTS, METADATA, strict=True)]
    index = VectorStoreIndex(nodes, storage_context=StorageContext.from_defaults(vector_store=store), embed_model=model)
    print(index.as_retriever(similarity_top_k=1).retrieve("who hunts in the forest?")[0].text)
    (found,) = GossamerRetriever(store, k=1, embed_model=model).retrieve("bake bread in the oven")
    print(f"{found.text} {found.metadata['concepts']}\n  {found.metadata['explanation']}")
    for found in HierarchicalRetriever(store, k=1, embed_model=model, answer_with="concepts").retrieve("baking"):
        print(found.text)


if __name__ == "__main__":
    main()
