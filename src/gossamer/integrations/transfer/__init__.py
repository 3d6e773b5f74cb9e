"""Vectors from other stores into an index, and out of it: nothing is encoded again.

rows            what is taken over, and how an index takes it
parquet         a Parquet file of vectors ↔ an index
faiss_index     a FAISS index ↔ an index; texts come from elsewhere
chroma          a Chroma collection → an index
lancedb_table   a LanceDB table → an index

Each module imports its library when it is called, and names the extra where that is missing.

    with Index.create("notes.gsm", encoder="minilm") as index:      # the model that made the vectors
        take_over(index, from_chroma("chroma/", "notes"))
        to_parquet(index, "notes.parquet")
"""

from gossamer.integrations.transfer.chroma import from_chroma
from gossamer.integrations.transfer.faiss_index import from_faiss, to_faiss
from gossamer.integrations.transfer.lancedb_table import from_lancedb
from gossamer.integrations.transfer.parquet import from_parquet, to_parquet
from gossamer.integrations.transfer.rows import Rows, TakenOver, take_over

__all__ = [
    "Rows",
    "TakenOver",
    "from_chroma",
    "from_faiss",
    "from_lancedb",
    "from_parquet",
    "take_over",
    "to_faiss",
    "to_parquet",
]
