"""Routes for queries: search, alone and in batches, more like a document, explain, novelty, facets, near duplicates."""

import time
from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Response

from gossamer.errors import ParameterError
from gossamer.results import Facets, Hits, NearDuplicates
from gossamer.server import schemas
from gossamer.server.catalog import Served
from gossamer.server.request_bodies import JsonRoute
from gossamer.server.responses import JsonResponse, as_json, characters_of, explanation_fields, search_answer
from gossamer.server.service import Service, TheIndex, TheService, needs

_OPTIONS: Final = (
    "where", "within", "hybrid", "recall", "explain", "min_confidence", "diversity", "group_by", "method",
)  # fmt: skip
"""Fields of a request that are arguments of `Index.search`."""

router = APIRouter(tags=["search"], dependencies=[Depends(needs("read"))], route_class=JsonRoute)


@router.post("/search", response_model=schemas.SearchAnswer)
async def search(asked: schemas.SearchRequest, served: TheIndex, service: TheService) -> Response:
    """The k best documents for a query or a vector, best first, each with its path of concepts."""
    k, options = _checked(asked, service)
    service.limits.check_text(asked.query)
    return await _answer(
        asked, served, service, lambda: served.index.search(asked.query, k, **options, vector=asked.vector)
    )


@router.post("/more-like", response_model=schemas.SearchAnswer)
async def more_like(asked: schemas.MoreLikeRequest, served: TheIndex, service: TheService) -> Response:
    """The k documents most like one of the index, which is left out: by meaning, not by words."""
    k, options = _checked(asked, service)
    return await _answer(asked, served, service, lambda: served.index.more_like(asked.id, k, **options))


@router.post("/search/batch", response_model=schemas.BatchAnswer)
async def search_batch(asked: schemas.BatchRequest, served: TheIndex, service: TheService) -> Response:
    """Several queries, or vectors, at once: an answer to each, in their order."""
    limits = service.limits
    k, options = _checked(asked, service)
    queries, vectors = asked.queries, asked.vectors
    if queries is None and vectors is None:
        raise ParameterError("there is nothing to search for: pass queries, vectors, or both")
    if queries is not None and vectors is not None and len(queries) != len(vectors):
        raise ParameterError(f"vectors: {len(vectors)}, queries: {len(queries)}; pass one vector for each query")
    count = limits.check_batch(len(queries if queries is not None else vectors or ()), "queries")
    for query in queries or ():
        limits.check_text(query)
    part = max(1, (limits.explain if asked.explain else limits.k) // k)  # no more in memory than of the largest search

    def work() -> tuple[list[bytes], list[int], float]:
        start = time.perf_counter()
        answers: list[bytes] = []
        visited: list[int] = []
        for at in range(0, count, part):
            here = slice(at, at + part)
            given: Any = {**options, "vector": vectors and vectors[here]}
            found: Any = served.index.search(queries and queries[here], k, **given)
            answers += [as_json(search_answer(hits, concepts=asked.concepts, text=asked.text)) for hits in found]
            visited += [hits.visited for hits in found]
            limits.check_answer(sum(map(len, answers)))
        return answers, visited, time.perf_counter() - start

    answers, visited, seconds = await service.workers.read(work)
    for each in visited:
        service.metrics.search_seconds.labels(served.name).observe(seconds / count)
        service.metrics.visited.labels(served.name).observe(each)
    return Response(
        b'{"answers":[%b],"seconds":%b}' % (b",".join(answers), as_json(seconds)), media_type="application/json"
    )


def _checked(asked: schemas.SearchOptions, service: Service) -> tuple[int, dict[str, Any]]:
    """The k of a search and the other arguments of `Index.search`, within the limits."""
    k = service.limits.check_k(asked.k, given=asked.has("k"), explain=asked.explain)
    service.limits.check_where(asked.where)
    boost = None if asked.boost is None else asked.boost.model_dump()
    return k, {**{name: getattr(asked, name) for name in _OPTIONS}, "boost": boost}


async def _answer(asked: schemas.SearchOptions, served: Served, service: Service, find: Callable[[], Hits]) -> Response:
    """Find hits in a thread, and answer with them."""

    def work() -> tuple[Hits, float]:
        start = time.perf_counter()
        hits = find()
        service.limits.check_answer(sum(characters_of(hit, text=asked.text) for hit in hits))
        return hits, time.perf_counter() - start

    # Explanations, the confidence of a query, many candidates and other methods take longer than a plain search.
    workers = service.workers
    hits, seconds = await (workers.read if _takes_long(asked) else workers.search)(work)
    service.metrics.search_seconds.labels(served.name).observe(seconds)
    service.metrics.visited.labels(served.name).observe(hits.visited)
    return JsonResponse({**search_answer(hits, concepts=asked.concepts, text=asked.text), "seconds": seconds})


def _takes_long(asked: schemas.SearchOptions) -> bool:
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


@router.get("/near-duplicates", response_model=schemas.Groups)
async def near_duplicates(
    served: TheIndex,
    service: TheService,
    chance: Annotated[
        float, Query(gt=0, lt=1, description="Documents that may be expected as near by chance: fewer is stricter.")
    ] = 1e-3,
) -> Response:
    """Groups of documents that are nearer to each other than chance would have it where they lie, copies first."""

    def work() -> list[NearDuplicates]:
        found = served.index.near_duplicates(chance)
        service.limits.check_answer(sum(len(id) for group in found for id in group.ids))
        return found

    return JsonResponse({"groups": await service.workers.read(work)})
