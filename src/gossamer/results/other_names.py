"""Names that other libraries have for what an `Index` and its results do → errors that say what it is called here.

Chroma, LanceDB, LangChain, FAISS and BERTopic are where these names come from. They are no aliases: there is one name
for one thing.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import iscoroutinefunction, isfunction
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound=type)


class Instead(str):
    """What to do in place of a name that has no counterpart here."""

    __slots__ = ()


_OPEN: Final = "Index.create(path) for a new one, Index.open(path) for one that is there"

_METHODS: Final = {
    **dict.fromkeys(
        (
            "query",
            "similarity_search",
            "similarity_search_with_score",
            "find",
            "retrieve",
            "knn_query",
            "vector_search",
        ),
        "search(query, k=10)",
    ),
    **dict.fromkeys(("as_retriever", "as_query_engine"), "search(query, k=10); adapters are in gossamer.integrations"),
    **dict.fromkeys(("upsert", "insert", "append", "add_texts", "add_documents", "extend"), "add(texts, ids)"),
    **dict.fromkeys(
        ("remove", "drop", "pop", "clear", "reset", "delete_collection"), "delete(ids), or delete(where={}) for all"
    ),
    **dict.fromkeys(("modify", "update_metadata", "set_metadata"), "update(ids, metadata)"),
    **dict.fromkeys(
        ("get_collection", "get_or_create_collection", "create_collection", "create_index", "get_or_create", "connect"),
        _OPEN,
    ),
    **dict.fromkeys(("load", "load_local", "from_disk", "read_index", "restore"), "Index.open(path)"),
    **dict.fromkeys(
        ("from_texts", "from_documents", "from_list"), "Index.create(path), or Index() in memory, then add(texts)"
    ),
    **dict.fromkeys(
        ("from_pandas", "from_dataframe", "from_df", "from_dict", "from_records"),
        "Index.create(path), or Index() in memory, then add_table(table, text=…)",
    ),
    **dict.fromkeys(("embed", "embed_documents"), "encode(texts); vectors(ids) are those of documents"),
    **dict.fromkeys(("count", "size", "ntotal"), "len(index)"),
    **dict.fromkeys(("peek", "head", "items", "all"), "documents()"),
    **dict.fromkeys(
        ("save", "persist", "dump", "write"), "backup(path); of Index.create(path) every change is on disk"
    ),
    **dict.fromkeys(("fit", "fit_transform", "partial_fit"), "add(texts), then topics(n)"),
    **dict.fromkeys(("to_pandas", "to_df", "to_polars", "to_list"), "documents(where=…); hits have to_pandas()"),
    **dict.fromkeys(("export", "to_arrow", "write_parquet", "to_disk"), "to_parquet(path)"),
    **dict.fromkeys(
        ("get_topic_info", "get_topics", "topic_info", "get_topic", "topics_", "get_document_info", "reduce_topics"),
        "topics(n), which has to_pandas(); concept(id) for one of them",
    ),
    **dict.fromkeys(("find_topics", "approximate_distribution"), "find_concepts(query)"),
    **dict.fromkeys(
        ("set_topic_labels", "update_topics", "generate_topic_labels", "merge_topics"), "rename_concept(id, name)"
    ),
    **dict.fromkeys(("topics_over_time", "topics_per_class"), "facets(within=id), and changes(since=…)"),
    **dict.fromkeys(("get_representative_docs", "representative_docs_"), "topics(n).concepts[0].exemplars"),
    **dict.fromkeys(
        ("visualize_topics", "visualize_hierarchy", "visualize_documents", "visualize_barchart"),
        "the index itself in a notebook, plane(), `gossamer tree --html` or `gossamer serve`",
    ),
    "transform": "assign(texts), or topics(n).assign(texts)",
    "hierarchical_topics": "concepts(), or topics(levels=[8, 40])",
}

_VECTORS: Final = {
    **dict.fromkeys(("query", "knn_query", "kneighbors", "range_search", "find", "vector_search"), "search(Q, k=10)"),
    **dict.fromkeys(("upsert", "insert", "append", "extend", "add_items", "add_with_ids"), "add(E, ids)"),
    **dict.fromkeys(("fit", "train", "build", "init_index"), "add(E, ids): there is nothing to train"),
    **dict.fromkeys(("remove_ids", "mark_deleted", "drop", "pop"), "delete(ids)"),
    **dict.fromkeys(
        ("get", "get_items", "reconstruct", "fetch"),
        "path(id), where a document lies; an Index keeps what was added, and has get(ids) and vectors(ids)",
    ),
    **dict.fromkeys(("ids", "get_ids_list", "keys"), "documents_below(vx.tree.root)"),
    **dict.fromkeys(("ntotal", "count", "size", "get_current_count", "element_count"), "len(vx)"),
    **dict.fromkeys(("d", "dimension", "ndim"), "dim"),
    **dict.fromkeys(("set_ef", "efSearch", "nprobe"), "search(Q, k, recall=0.98)"),
    **dict.fromkeys(("save_index", "write_index", "dump", "persist", "backup"), "save(path)"),
    **dict.fromkeys(("load_index", "read_index", "restore", "open"), "VectorIndex.load(path)"),
    **dict.fromkeys(("topics", "clusters", "labels_"), "cut(n)"),
}
"""The same for `VectorIndex`, for which FAISS, hnswlib and scikit-learn have names, too."""

_CLIENT: Final = _METHODS | dict.fromkeys(
    (
        *("ids", "documents", "passages", "vectors", "encode", "labels", "outline", "check", "settle", "refresh"),
        *(
            "peek",
            "head",
            "items",
            "all",
            "save",
            "persist",
            "dump",
            "write",
            "export",
            "to_pandas",
            "to_df",
            "to_list",
        ),
        *("add_table", "to_parquet", "backup", "compact", "reencode", "repair"),
    ),
    Instead("not over HTTP, open the Index where its folder is"),
)
"""The same for clients, which do not have all methods of `Index`."""

_TOPICS: Final = {
    **dict.fromkeys(("get_topic_info", "topic_info", "to_df", "get_document_info"), "to_pandas(), or rows()"),
    **dict.fromkeys(("topics", "groups", "clusters", "get_topics", "get_topic"), "concepts, each with label and terms"),
    **dict.fromkeys(("labels", "names", "topic_labels_"), "the label of each of concepts"),
    **dict.fromkeys(("topics_", "labels_", "predictions", "doc_topics"), "assignments, document id to concept id"),
    **dict.fromkeys(("transform", "predict", "find_topics"), "assign(texts)"),
    "reduce_topics": "Index.topics(n) with a smaller n, or merge(ids)",
    "merge_topics": "merge(ids)",
    "set_topic_labels": "rename(id, name)",
    "get_representative_docs": "the exemplars of each of concepts",
}
"""The same for `Topics`."""

_HITS: Final = {
    **dict.fromkeys(("to_df", "to_dataframe", "to_polars", "to_arrow"), "to_pandas(), or rows()"),
    **dict.fromkeys(("to_list", "to_dict", "to_dicts", "to_json"), "rows()"),
    "limit": "a slice, as in hits[:3], or search(query, k=3)",
}
"""The same for `Hits`."""

_HIT: Final = {
    **dict.fromkeys(("document", "content", "page_content", "body", "chunk"), "text"),
    **dict.fromkeys(("distance", "similarity", "relevance"), "score, the larger the better"),
    **dict.fromkeys(("meta", "payload", "fields"), "metadata"),
    **dict.fromkeys(("doc_id", "key", "uid"), "id"),
    **dict.fromkeys(("vector", "embedding"), "Index.vectors([hit.id])"),
    "topic": "path, from the root to the leaf",
}
"""The same for `Hit`."""


SEARCH: Final = {
    **dict.fromkeys(("n_results", "top_k", "topk", "limit", "n", "num_results"), "k"),
    **dict.fromkeys(("filter", "filters", "metadata_filter", "prefilter"), "where"),
    **dict.fromkeys(("query_texts", "queries", "text", "q", "query_text"), "query"),
    **dict.fromkeys(("query_embeddings", "embedding", "query_vector", "vectors"), "vector"),
    **dict.fromkeys(("threshold", "score_threshold", "min_score"), "min_confidence, which is no score"),
    **dict.fromkeys(("reranker", "ranker"), "rerank"),
    "include": Instead("hits have all of it, id, text, metadata and score; vectors(ids) gives vectors"),
    "where_document": Instead("put words that must be there in quotes in the query, as in search('\"red fox\"')"),
}
"""Arguments of `search` elsewhere, and what they are called here."""

ADD: Final = {
    **dict.fromkeys(("documents", "docs", "text", "data"), "texts"),
    **dict.fromkeys(("metadatas", "payloads", "meta"), "metadata"),
    **dict.fromkeys(("embeddings", "embedding", "vector"), "vectors"),
    **dict.fromkeys(("id", "uids"), "ids"),
}
"""The same for `add`."""

GET: Final = {
    **dict.fromkeys(("where", "filter", "limit", "offset", "where_document"), "documents(where=…), for all that match"),
    **dict.fromkeys(("include",), "passages(ids), which has vectors too"),
}
"""The same for `get`."""

UPDATE: Final = {
    **dict.fromkeys(("metadatas", "meta", "payload", "set"), "metadata"),
    **dict.fromkeys(("id", "uids"), "ids"),
    **dict.fromkeys(
        ("text", "texts", "documents", "document"), Instead("add([text], [id]) replaces the document of an id")
    ),
    **dict.fromkeys(("where", "filter"), Instead("pass ids, as in update(index.ids(where=…), metadata)")),
}
"""The same for `update`."""

TOPICS: Final = dict.fromkeys(("nr_topics", "n_topics", "num_topics", "n_clusters", "k"), "n")
"""The same for `topics`."""

DOCUMENTS: Final = {
    **dict.fromkeys(("filter", "filters"), "where"),
    **dict.fromkeys(("limit", "n", "k", "offset"), Instead("itertools.islice(index.documents(), n) takes the first n")),
    "ids": Instead("get(ids) gives those of some ids"),
}
"""The same for `documents`."""

NEAR_DUPLICATES: Final = dict.fromkeys(
    ("threshold", "min_similarity", "similarity", "min_score", "cutoff"),
    Instead("pass chance, how many documents may be as near by chance: 0.001 by default, 1e-6 is stricter"),
)
"""The same for `near_duplicates`."""

TABLE: Final = {
    **dict.fromkeys(("ids", "id_column", "id_field"), "id"),
    **dict.fromkeys(("text_column", "text_field", "texts", "column", "on"), "text"),
    **dict.fromkeys(("metadatas", "columns", "meta"), "metadata"),
}
"""The same for `add_table`."""

NEW: Final = {
    **dict.fromkeys(
        ("embedding_function", "embedding_model", "embedding", "embeddings", "model", "embed", "encoder_name"),
        "encoder",
    ),
    **dict.fromkeys(
        ("exist_ok", "get_or_create"), Instead("use Index.open(path) if Path(path).exists() else Index.create(path)")
    ),
    **dict.fromkeys(("overwrite", "reset", "force"), Instead("remove the folder yourself first")),
}
"""The same for `Index` and `Index.create`."""


def unknown_attribute(owner: object, name: str) -> AttributeError:
    """The error for a name that an object, or a class, does not have."""
    kind = owner.__name__ if isinstance(owner, type) else type(owner).__name__
    tables = {"VectorIndex": _VECTORS, "Topics": _TOPICS, "Hits": _HITS, "Hit": _HIT}
    names = _CLIENT if kind in ("Client", "AsyncClient") else tables.get(kind, _METHODS)
    hint = f": {_told(names[name])}" if name in names else ""
    article = "" if kind in ("Hits", "Topics") else "an " if kind[0] in "AI" else "a "
    if kind == "Hits" and not hint and not name.startswith("_"):
        hint = ": it is a list, take the id, text and score of each hit, or rows()"
    return AttributeError(f"{article}{kind} has no {name!r}{hint}", name=name, obj=owner)


class TellingNames(type):
    """The class of classes that say what `from_texts` and the like are called here."""

    if not TYPE_CHECKING:  # else types would not find misspelt names

        def __getattr__(cls, name: str) -> NoReturn:
            raise unknown_attribute(cls, name)


def methods_of(name: str) -> Callable[[_C], _C]:
    """Let Python's messages about arguments name the methods of a base class by the class that users know."""

    def decorate(cls: _C) -> _C:
        methods: list[Any] = list(filter(isfunction, vars(cls).values()))
        for method in methods:  # and what a decorator has wrapped
            method.__qualname__ = f"{name}.{method.__name__}"
            methods += [method.__wrapped__] if hasattr(method, "__wrapped__") else []
        return cls

    return decorate


def telling_arguments(names: Mapping[str, str]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a method say what an argument is called here that has another name elsewhere."""

    def decorate(method: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(method)
        def told(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                return method(*args, **kwargs)
            except TypeError as error:
                if (hint := _hint(error, method, kwargs, names)) is None:
                    raise
                raise TypeError(hint) from None

        @wraps(method)
        async def told_later(*args: _P.args, **kwargs: _P.kwargs) -> Any:
            try:
                return await method(*args, **kwargs)  # type: ignore[misc]
            except TypeError as error:
                if (hint := _hint(error, method, kwargs, names)) is None:
                    raise
                raise TypeError(hint) from None

        return told_later if iscoroutinefunction(method) else told  # type: ignore[return-value]

    return decorate


def _hint(
    error: TypeError, method: Callable[..., object], given: Mapping[str, object], names: Mapping[str, str]
) -> str | None:
    """What an argument that a method does not have is called here; None where the error is about another thing."""
    name = next((name for name in given if name in names), None)
    if name is None or f"unexpected keyword argument {name!r}" not in str(error):
        return None
    called = method.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    return f"{called}() has no argument {name!r}: {_told(names[name])}"


def _told(here: str) -> str:
    return here if isinstance(here, Instead) else f"here it is {here}"
