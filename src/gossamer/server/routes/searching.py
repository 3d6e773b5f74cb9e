"""Routes for queries: search, explain, novelty, facets."""

import time
from typing import Final

from fastapi import APIRouter, Depends, Response

from gossamer.results import Facets, Hits
from gossamer.server import schemas
from gossamer.server.request_bodies import JsonRoute
from gossamer.server.responses import JsonResponse, characters_of, explanation_fields, search_answer
from gossamer.server.service import TheIndex, TheService, needs

_OPTIONS: Final = (
    "where", "within", "hybrid", "vector", "recall", "explain", "min_confidence", "diversity", "group_by", "method",
)  # fmt: skip
"""Fields of a request that are arguments of `Index.search`."""

router = APIRouter(tags=["search"], dependencies=[Depends(needs("read"))], route_class=JsonRoute)


@router.post("/search", response_model=schemas.SearchAnswer)
async def search(asked: schemas.SearchRequest, served: TheIndex, service: TheService) -> Response:
    """The k best documents for a query or a vector, best first, each with its path of concepts."""
    limits = service.limits
    k = limits.check_k(asked.k, given=asked.has("k"), explain=asked.explain)
    limits.check_text(asked.query)
    limits.check_where(asked.where)
    options = {name: getattr(asked, name) for name in _OPTIONS}
    options["boost"] = None if asked.boost is None else asked.boost.model_dump()

    def work() -> tuple[Hits, float]:
        start = time.perf_counter()
        hits = served.index.search(asked.query, k, **options)
        limits.check_answer(sum(characters_of(hit, text=asked.text) for hit in hits))
        return hits, time.perf_counter() - start

    # Explanations, the confidence of a query, many candidates and other methods take longer than a plain search.
    workers = service.workers
    hits, seconds = await (workers.read if _takes_long(asked) else workers.search)(work)
    service.metrics.search_seconds.labels(served.name).observe(seconds)
    service.metrics.visited.labels(served.name).observe(hits.visited)
    return JsonResponse(search_answer(hits, seconds, concepts=asked.concepts, text=asked.text))


def _takes_long(asked: schemas.SearchRequest) -> bool:
    return asked.explain or asked.min_confidence > 0.0 or asked.group_by is not None or asked.method != "guided"


@router.post("/explain", response_model=schemas.ExplanationAnswer)
async def explain(asked: schemas.ExplainRequest, served: TheIndex, service: TheService) -> Response:
    """Why a document, any document, scores as it does: level by level, and against which rival."""
    k = service.limits.check_k(asked.k, given=asked.has("k"))
    service.limits.check_text(asked.query)
    why = await service.workers.read(
        lambda: served.index.explain(asked.query, asked.id, k=k, hybrid=asked.hybrid, vector=asked.vector)
    )
    return JsonResponse(explanation_fields(why))


@router.post("/novelty", response_model=schemas.NoveltyAnswer)
async def novelty(asked: schemas.NoveltyRequest, served: TheIndex, service: TheService) -> Response:
    """How unusual a query is, measured on how like each other the documents are."""
    service.limits.check_text(asked.query)
    return JsonResponse(await service.workers.read(lambda: served.index.novelty(asked.query, vector=asked.vector)))


@router.post("/facets", response_model=schemas.FacetsAnswer)
async def facets(asked: schemas.FacetsRequest, served: TheIndex, service: TheService) -> Response:
    """How many documents have each value of each metadata field: of those that match, or of the best answers."""
    limits = service.limits
    k = limits.check_k(asked.k, given=asked.has("k"))
    limits.check_text(asked.query)
    limits.check_where(asked.where)

    def work() -> Facets:
        return served.index.facets(asked.query, where=asked.where, within=asked.within, k=k, most=asked.most)

    return JsonResponse(await service.workers.read(work))
