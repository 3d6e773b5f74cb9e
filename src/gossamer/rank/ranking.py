"""Query and `SearchRequest` → documents: the ranker that a request calls for."""

from gossamer.array_types import Floats
from gossamer.graph.search_graph import SearchGraph
from gossamer.rank.best_first import best_first
from gossamer.rank.exact import Scoring, rank_listed
from gossamer.rank.guided import search_guided
from gossamer.rank.path_sum import PathSum
from gossamer.rank.request import Restriction, SearchRequest
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.scoring import Ranked


def rank(
    t: TreeArrays, X: Floats, request: SearchRequest,
    graph: SearchGraph | None, path_sum: PathSum, restriction: Restriction | None = None,
) -> Ranked:  # fmt: skip
    """Rank documents for each row of X. Without a complete graph, a guided search scores everything."""
    if request.method == "best-first":
        return best_first(t, X, request.k, request.budget)
    one_concept = restriction is not None and restriction.one_concept
    if request.is_guided and graph is not None and graph.complete and not one_concept:
        ranked = search_guided(t, graph, X, request, restriction)
        if ranked is not None:
            return ranked
    scoring = Scoring(request.aggregate == "mean", request.context)
    if restriction is not None:
        return rank_listed(t, X, restriction.documents, request.k, scoring)
    return path_sum.search(t, X, request.k, scoring)
