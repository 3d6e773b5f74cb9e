"""What an adapter adds to a search: 100 searches through it against 100 of Index.search, with the same vectors.

.venv-integrations/bin/python benchmarks/integrations.py
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery

from gossamer import Index
from gossamer.integrations.haystack import GossamerDocumentStore
from gossamer.integrations.langchain import GossamerVectorStore
from gossamer.integrations.llama_index import GossamerVectorStore as LlamaIndexStore
from gossamer.integrations.opening import no_encoder

DOCUMENTS, DIM, QUERIES, K, RUNS = 10_000, 384, 100, 10, 25
WORDS = [
    "sun",
    "moon",
    "star",
    "sea",
    "river",
    "stone",
    "tree",
    "leaf",
    "bird",
    "fish",
    "wolf",
    "bear",
    "bread",
    "milk",
]


def seconds(search: Callable[[list[float]], Any], queries: list[list[float]]) -> tuple[float, float]:
    """By the clock, and of this thread's CPU, which other programs disturb less."""
    start, cpu = time.perf_counter(), time.thread_time()
    for query in queries:
        search(query)
    return time.perf_counter() - start, time.thread_time() - cpu


def main() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, DIM))
    vectors = (centres[rng.integers(60, size=DOCUMENTS)] + rng.normal(size=(DOCUMENTS, DIM))).astype(np.float32)
    texts = [" ".join(rng.choice(WORDS, 30)) for _ in range(DOCUMENTS)]
    queries = (vectors[:QUERIES] + rng.normal(scale=0.5, size=(QUERIES, DIM))).tolist()
    index = Index(no_encoder, max_tokens=None)
    index.add(texts, [str(n) for n in range(DOCUMENTS)], [{"n": n} for n in range(DOCUMENTS)], vectors=vectors)
    llama = LlamaIndexStore()
    parts = enumerate(zip(texts, vectors.tolist(), strict=True))
    llama.add([TextNode(id_=str(n), text=text, metadata={"n": n}, embedding=each) for n, (text, each) in parts])
    index.labels()
    llama.client.labels()
    langchain = GossamerVectorStore(index=index)
    shown = GossamerVectorStore(index=index, concepts=True)
    haystack = GossamerDocumentStore(embedding_dim=DIM)
    haystack.index = index
    ways: dict[str, Callable[[list[float]], Any]] = {
        "Index.search": lambda query: index.search(vector=query, k=K),
        "langchain": lambda query: langchain.similarity_search_by_vector(query, K),
        "langchain, concepts": lambda query: shown.similarity_search_by_vector(query, K),
        "haystack": lambda query: haystack.embedding_retrieval(query, top_k=K),
        "Index.search of nodes": lambda query: llama.client.search(vector=query, k=K),
        "llama_index": lambda query: llama.query(VectorStoreQuery(query, K)),
    }
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(RUNS):  # in turn, so that what else the machine does falls on all of them
        for name, search in ways.items():
            took[name].append(seconds(search, queries))
    best = {name: [min(column) for column in zip(*each, strict=True)] for name, each in took.items()}
    for name, (clock, cpu) in best.items():
        base = best["Index.search of nodes" if name == "llama_index" else "Index.search"]
        more = f"{clock / base[0] - 1:+7.1%} by the clock {cpu / base[1] - 1:+7.1%} of CPU"
        print(f"{name:<22}{1e3 * clock / QUERIES:8.3f} ms a search, {1e3 * cpu / QUERIES:.3f} of CPU {more}")
    print(json.dumps({"documents": DOCUMENTS, "dim": DIM, "k": K, "seconds_of_100": best}))


if __name__ == "__main__":
    main()
