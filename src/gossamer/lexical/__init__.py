"""Words → scores and places: BM25 over the texts of documents, and where in them the words of a query stand."""
