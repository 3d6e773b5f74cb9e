"""Names that other libraries have for what an `Index` does → errors that say what it is called here.

Chroma, LanceDB, LangChain, FAISS and BERTopic are where these names come from. They are no aliases: there is one name
for one thing.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Final, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

_METHODS: Final = {
    **dict.fromkeys(("query", "similarity_search", "find", "retrieve", "knn_query"), "search(query, k=10)"),
    **dict.fromkeys(("upsert", "insert", "append", "add_texts", "add_documents", "extend"), "add(texts, ids)"),
    **dict.fromkeys(("remove", "drop", "pop", "clear"), "delete(ids), or delete(where=…)"),
    **dict.fromkeys(("count", "size", "ntotal"), "len(index)"),
    **dict.fromkeys(("peek", "head", "items", "all"), "documents()"),
    **dict.fromkeys(
        ("save", "persist", "dump", "write"), "backup(path); of Index.create(path) every change is on disk"
    ),
    **dict.fromkeys(("fit", "fit_transform", "partial_fit"), "add(texts), then topics(n)"),
    **dict.fromkeys(("get_topic_info", "get_topics"), "topics(n).to_pandas()"),
    "transform": "assign(texts), or topics(n).assign(texts)",
    "hierarchical_topics": "concepts(), or topics(levels=[8, 40])",
}

SEARCH: Final = {
    **dict.fromkeys(("n_results", "top_k", "topk", "limit", "n", "num_results"), "k"),
    **dict.fromkeys(("filter", "filters", "metadata_filter", "prefilter"), "where"),
    **dict.fromkeys(("query_texts", "queries", "text", "q", "query_text"), "query"),
    **dict.fromkeys(("query_embeddings", "embedding", "query_vector", "vectors"), "vector"),
    **dict.fromkeys(("threshold", "score_threshold", "min_score"), "min_confidence, which is no score"),
    **dict.fromkeys(("reranker", "ranker"), "rerank"),
}
"""Arguments of `search` elsewhere, and what they are called here."""

ADD: Final = {
    **dict.fromkeys(("documents", "docs", "text", "data"), "texts"),
    **dict.fromkeys(("metadatas", "payloads", "meta"), "metadata"),
    **dict.fromkeys(("embeddings", "embedding", "vector"), "vectors"),
    **dict.fromkeys(("id", "uids"), "ids"),
}
"""The same for `add`."""


def unknown_attribute(owner: object, name: str) -> AttributeError:
    """The error for a name that an index does not have."""
    known = _METHODS.get(name)
    hint = "" if known is None else f": here it is {known}"
    return AttributeError(f"an Index has no {name!r}{hint}", name=name, obj=owner)


def telling_arguments(names: Mapping[str, str]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a method say what an argument is called here that has another name elsewhere."""

    def decorate(method: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(method)
        def told(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                return method(*args, **kwargs)
            except TypeError as error:
                given = next((name for name in kwargs if name in names), None)
                if given is None or f"unexpected keyword argument {given!r}" not in str(error):
                    raise
                raise TypeError(f"{method.__name__}() has no argument {given!r}: here it is {names[given]}") from None

        return told

    return decorate
