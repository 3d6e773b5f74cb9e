"""Documents with their vectors from another store into an index, and out of it; nothing is encoded again.

pip install "gossamer[parquet,faiss,chroma,lancedb]"
python examples/transfer.py [parquet|faiss|chroma|lancedb ...]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from gossamer import Index
from gossamer.integrations.transfer import (
    Rows,
    from_chroma,
    from_faiss,
    from_lancedb,
    from_parquet,
    take_over,
    to_faiss,
    to_parquet,
)

TEXTS = {
    "fox": "The red fox hunts mice in the snowy forest at night.",
    "wolf": "A pack of wolves hunts deer together in the forest.",
    "bread": "Bake the bread in a hot oven until the crust is brown.",
    "cake": "Bake the cake with butter, sugar and flour in the oven.",
    "moon": "The moon goes around the earth in about a month.",
    "mars": "Mars is a cold red planet with two small moons.",
}


def encode(texts: list[str]) -> np.ndarray:
    """Stands for the model that made the vectors: how often each letter pair occurs, folded into 64 dimensions."""
    vectors = np.zeros((len(texts), 64), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for one, other in pairwise(text):
            row[(ord(one) * 31 + ord(other)) % 64] += 1
    return vectors


def stored(kind: str, folder: Path) -> Iterator[Rows]:
    """Put texts and vectors into another store, and read them from there."""
    ids, texts, vectors = list(TEXTS), list(TEXTS.values()), encode(list(TEXTS.values()))
    if kind == "chroma":
        import chromadb

        settings = chromadb.config.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(folder / "chroma"), settings)
        client.create_collection("notes", embedding_function=None).add(ids, vectors, documents=texts)
        return from_chroma(folder / "chroma", "notes")
    if kind == "lancedb":
        import lancedb

        rows = [{"id": id, "text": text, "vector": v.tolist()} for id, text, v in zip(ids, texts, vectors, strict=True)]
        lancedb.connect(str(folder / "lance")).create_table("notes", rows)
        return from_lancedb(folder / "lance", "notes")
    with Index(encode) as index:
        index.add(texts, ids)
        if kind == "parquet":
            to_parquet(index, folder / "notes.parquet")
            return from_parquet(folder / "notes.parquet")
        to_faiss(index, folder / "notes.faiss")
        return from_faiss(folder / "notes.faiss", texts, ids)


def main(*kinds: str) -> None:
    for kind in kinds or ("parquet", "faiss", "chroma", "lancedb"):
        with tempfile.TemporaryDirectory() as folder, Index(encode) as index:
            taken = take_over(index, stored(kind, Path(folder)))
            print(f"{kind}: {taken.documents} taken over, {index.more_like('cake', k=1)[0].id} is nearest to cake")


if __name__ == "__main__":
    main(*sys.argv[1:])
