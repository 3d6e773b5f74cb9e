"""Words → scores: BM25 over the texts of documents."""
