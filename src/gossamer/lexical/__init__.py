"""Words → scores and places: BM25 over the texts of documents, and where in them the words of a query stand.

analysis      a text → words, a word → its term; languages
query_text    what people type → words, phrases, excluded words
vocabulary    terms ↔ numbers
words         the words of all documents: changed as a value, saved, scored
scores        the lexical part of scores, for one query
kernels       postings made and read, phrases found
"""
