"""What an adapter adds to a search: a batch of 100 through it against the same batch without it.

    .venv-integrations/bin/python benchmarks/integrations.py --at /tmp/indexes     # prepares, measures, prints
    .venv-integrations/bin/python benchmarks/integrations.py --at /tmp/indexes --write       # docs/integrations.md, too

Two collections: 10,000 random vectors, and the 76,000 questions of QQP where $GOSSAMER_DATA (else ../shared) has them.
Their indexes are made in the folder at the first run and opened afterwards (`--prepare` does no more). Vectors of
queries are looked up, so that no encoder hides what an adapter adds. Every batch is repeated, all adapters in turn,
and each search counts with its fastest time, which other programs disturb least.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from gossamer import Index, VectorIndex
from gossamer.integrations.ann_benchmarks import Gossamer
from gossamer.integrations.common import BY_WORDS
from gossamer.integrations.haystack import GossamerDocumentStore
from gossamer.integrations.langchain import GossamerVectorStore
from gossamer.integrations.llama_index import GossamerVectorStore as LlamaIndexStore
from gossamer.integrations.mteb import GossamerSearch
from gossamer.integrations.scikit_learn import ConceptTree

PAGE = Path(__file__).resolve().parents[1] / "docs" / "integrations.md"
START, END = "<!-- adapters -->\n", "<!-- end -->"
RANDOM, DIM, QUERIES, K = 10_000, 384, 100, 10
WORDS = ["sun", "moon", "star", "sea", "river", "stone", "tree", "leaf", "bird", "fish", "wolf", "bear", "bread"]


@dataclass(frozen=True)
class Collection:
    """Texts with their vectors, and queries with theirs."""

    name: str
    texts: list[str]
    vectors: Any
    queries: list[str]
    query_vectors: Any

    def encode(self, texts: list[str]) -> Any:
        """The vectors of queries; texts come with theirs."""
        known = dict(zip(self.queries, self.query_vectors, strict=True))
        return np.stack([known[text] for text in texts])


def collections() -> Iterator[Collection]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, DIM))
    vectors = (centres[rng.integers(60, size=RANDOM)] + rng.normal(size=(RANDOM, DIM))).astype(np.float32)
    texts = [" ".join(rng.choice(WORDS, 30)) for _ in range(RANDOM)]
    near = (vectors[:QUERIES] + rng.normal(scale=0.5, size=(QUERIES, DIM))).astype(np.float32)
    queries = [f"{number} " + " ".join(rng.choice(WORDS, 6)) for number in range(QUERIES)]
    yield Collection("random", texts, vectors, queries, near)
    folder = Path(os.environ.get("GOSSAMER_DATA") or PAGE.parents[2] / "shared") / "embeddings"
    if (folder / "qqp-setup.json.gz").is_file():
        with gzip.open(folder / "qqp-setup.json.gz", "rt") as file:
            setup = json.load(file)
        asked = list(dict.fromkeys(setup["queries"]))[:QUERIES]
        rows = [setup["queries"].index(text) for text in asked]
        all_of, of_queries = (np.load(folder / f"qqp-minilm-{each}.npy") for each in ("corpus", "queries"))
        yield Collection("QQP", setup["corpus"], all_of.astype(np.float32), asked, of_queries[rows].astype(np.float32))


def prepared(collection: Collection, folder: Path) -> tuple[Index, LlamaIndexStore]:
    """The index that most adapters search, and that of LlamaIndex, whose metadata are its own."""
    plain, nodes = (folder / f"{collection.name}-{kind}.gsm" for kind in ("plain", "nodes"))
    if not plain.exists():
        ids = [str(number) for number in range(len(collection.texts))]
        with Index.create(plain, collection.encode, max_tokens=None) as index:
            index.add(collection.texts, ids, [{"n": int(id)} for id in ids], vectors=collection.vectors)
            index.settle()
            index.labels()
    if not nodes.exists():
        store = LlamaIndexStore(nodes)
        rows = enumerate(zip(collection.texts, collection.vectors, strict=True))
        store.add([_chunk(number, text, vector.tolist()) for number, (text, vector) in rows])
        store.client.settle()
        store.client.labels()
        store.client.close()
    return Index.open(plain, collection.encode), LlamaIndexStore(nodes)


def _chunk(number: int, text: str, vector: list[float]) -> TextNode:
    """The node that a splitter of LlamaIndex makes of a short document."""
    node = TextNode(id_=str(number), text=text, metadata={"n": number}, embedding=vector, end_char_idx=len(text))
    source = RelatedNodeInfo(
        node_id=f"doc-{number}", node_type=ObjectType.DOCUMENT, metadata=node.metadata, hash="0" * 64
    )
    node.relationships[NodeRelationship.SOURCE] = source
    return node


Searches = dict[str, tuple[str, list[Callable[[], Any]]]]
"""By name: the name of what it is compared with, and the calls that make up a batch."""


def one_by_one(collection: Collection, index: Index, llama: LlamaIndexStore) -> Searches:
    """100 calls of one query each, as applications search."""
    langchain, shown = (GossamerVectorStore(index=index, concepts=concepts) for concepts in (False, True))
    haystack = GossamerDocumentStore(embedding_dim=DIM)
    haystack.index = index
    vectors, texts = collection.query_vectors.tolist(), collection.queries
    nodes, hybrid = llama.client, VectorStoreQueryMode.HYBRID
    by_vector = "Index.search, a vector"
    by_text = "Index.search, a text"
    by_words = "Index.search, words alone"
    of_nodes = "Index.search over its nodes, a vector"
    of_nodes_hybrid = "Index.search over its nodes, hybrid"

    def each(call: Callable[..., Any], *columns: list[Any], **options: Any) -> list[Callable[[], Any]]:
        return [partial(call, *row, **options) for row in zip(*columns, strict=True)]

    return {
        by_vector: (by_vector, [partial(index.search, vector=v, k=K) for v in vectors]),
        "LangChain": (by_vector, each(langchain.similarity_search_by_vector, vectors, k=K)),
        "LangChain, with concepts": (by_vector, each(shown.similarity_search_by_vector, vectors, k=K)),
        "Haystack, embedding": (by_vector, each(haystack.embedding_retrieval, vectors, top_k=K)),
        by_text: (by_text, each(index.search, texts, k=K)),
        "LangChain, a text": (by_text, each(langchain.similarity_search, texts, k=K)),
        by_words: (by_words, each(index.search, texts, k=K, hybrid=BY_WORDS)),
        "Haystack, BM25": (by_words, each(haystack.bm25_retrieval, texts, top_k=K)),
        of_nodes: (of_nodes, [partial(nodes.search, vector=v, k=K) for v in vectors]),
        "LlamaIndex": (of_nodes, each(llama.query, [VectorStoreQuery(v, K) for v in vectors])),
        of_nodes_hybrid: (
            of_nodes_hybrid,
            [partial(nodes.search, t, K, vector=v) for t, v in zip(texts, vectors, strict=True)],
        ),
        "LlamaIndex, hybrid": (
            of_nodes_hybrid,
            [
                partial(llama.query, VectorStoreQuery(v, K, query_str=t, mode=hybrid))
                for t, v in zip(texts, vectors, strict=True)
            ],
        ),
    }


def many_texts(collection: Collection, index: Index) -> Searches:
    """One call with 100 texts."""
    model, name = GossamerSearch(), "Index.search, 100 texts"
    model._index = index
    asked = [{"id": str(number), "text": text} for number, text in enumerate(collection.queries)]
    return {
        name: (name, [partial(index.search, collection.queries, K)]),
        "MTEB": (name, [partial(model.search, asked, top_k=K)]),
    }


def many_vectors(collection: Collection) -> Searches:
    """One call with 100 vectors, over an index without texts."""
    algorithm, rows = Gossamer("euclidean"), collection.query_vectors
    algorithm.fit(collection.vectors)
    algorithm.set_query_arguments(0.98)
    assert algorithm._index is not None
    tree = ConceptTree(20, whiten=False)
    tree.fit(collection.vectors[:RANDOM])
    vectors, assigned = "VectorIndex.search, 100 vectors", "VectorIndex.search, k = 1"
    raw: VectorIndex = algorithm._index
    return {
        vectors: (vectors, [partial(raw.search, rows, K, recall=0.98)]),
        "ann-benchmarks": (vectors, [partial(algorithm.batch_query, rows, K)]),
        assigned: (assigned, [partial(tree.index_.search, rows, 1)]),
        "scikit-learn, predict": (assigned, [partial(tree.predict, rows)]),
    }


def measured(searches: Searches, runs: int) -> dict[str, float]:
    """Milliseconds of a batch: the sum of its calls, each with its fastest time. All take turns, batch by batch.

    As in an application, a call follows others of the same adapter, with other queries. In turns call by call the
    search itself, which all have in common, would be in the caches of the processor, and no adapter ever would. The
    order is turned round each time.
    """
    best = {name: [float("inf")] * len(calls) for name, (_, calls) in searches.items()}
    for run in range(runs):
        for name, (_, calls) in list(searches.items())[:: -1 if run % 2 else 1]:
            for number, call in enumerate(calls):
                start = time.perf_counter()
                call()
                best[name][number] = min(best[name][number], time.perf_counter() - start)
    return {name: 1e3 * sum(each) for name, each in best.items()}


def table(taken: dict[str, dict[str, float]], bases: dict[str, str]) -> list[str]:
    """A row for each adapter: the batch without it and with it, for each collection."""
    head = " | ".join(f"{name}: without, with | adds" for name in taken)
    lines = [f"| adapter | against | {head} |", "|" + "---|" * (2 + 2 * len(taken))]
    for name, base in bases.items():
        if name != base:
            pairs = [(every[base], every[name]) for every in taken.values()]
            cells = " | ".join(f"{one:.1f}, {other:.1f} ms | {other / one - 1:+.1%}" for one, other in pairs)
            lines.append(f"| {name} | {base} | {cells} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--at", type=Path, required=True, help="where the indexes are, or will be made")
    parser.add_argument("--prepare", action="store_true", help="make the indexes and stop")
    parser.add_argument("--write", action="store_true", help="write the table to docs/integrations.md")
    parser.add_argument("--runs", type=int, default=15)
    given = parser.parse_args()
    given.at.mkdir(parents=True, exist_ok=True)
    taken: dict[str, dict[str, float]] = {}
    bases: dict[str, str] = {}
    for collection in collections():
        index, llama = prepared(collection, given.at)
        if not given.prepare:
            title = f"{collection.name}, {len(collection.texts):,} documents"
            taken[title] = {}
            for searches, often in (
                (one_by_one(collection, index, llama), 1),
                (many_texts(collection, index), 2),
                (many_vectors(collection), 100),
            ):
                measured(searches, 2)  # what is compiled, read or made at the first call
                taken[title] |= measured(searches, often * given.runs)
                bases |= {name: base for name, (base, _) in searches.items()}
        index.close()
        llama.client.close()
    if given.prepare:
        return
    lines = table(taken, bases)
    print("\n".join(lines))
    if given.write:
        page = PAGE.read_text()
        head, _, rest = page.partition(START)
        PAGE.write_text(head + START + "\n".join(lines) + "\n" + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
