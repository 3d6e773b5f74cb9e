"""The application: routes, and the middleware around them.

A request passes `RequestMiddleware` (id, headers, log), CORS if origins are named, `AccessMiddleware` (keys, limits),
and then its route. Every route exists twice: under /v1 for the first index, and under /v1/indexes/{name} for each.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, FastAPI, Path, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from gossamer import __version__
from gossamer.errors import GossamerError
from gossamer.server import static_files
from gossamer.server.access import AccessMiddleware
from gossamer.server.catalog import Catalog
from gossamer.server.keys import KeyRing
from gossamer.server.limits import Limits
from gossamer.server.metrics import Metrics
from gossamer.server.middleware import RequestMiddleware, answer_problem
from gossamer.server.openapi import describe
from gossamer.server.planes import Planes
from gossamer.server.responses import JsonResponse
from gossamer.server.routes import about, browsing, documents, plane, searching
from gossamer.server.service import Readiness, Service
from gossamer.server.workers import Workers

_log = logging.getLogger("gossamer.server")

_OPENAPI: Final = "/v1/openapi.json"
_PUBLIC: Final = frozenset(("/healthz", "/readyz", _OPENAPI))
"""Addresses that need no key, beside the files of the explorer."""


def create_app(
    catalog: Catalog,
    *,
    keys: KeyRing | None = None,
    limits: Limits | None = None,
    origins: Sequence[str] = (),
    files: Sequence[static_files.File] | None = None,
) -> FastAPI:
    """The application that serves `catalog`, and closes it at its end.

    keys      API keys; None allows everything to everyone, which is for this machine alone
    origins   origins of web pages that may use it, as in "https://example.org"
    files     the files of the explorer; None takes those of the package
    """
    limits = limits or Limits()
    workers = Workers(limits.seconds, limits.waiting)
    service = Service(catalog, limits, workers, Metrics(catalog), Readiness(catalog, workers), Planes(workers))
    shown = list(static_files.read_files() if files is None else files)
    public = _PUBLIC | {file.address for file in shown}
    app = FastAPI(
        title="Gossamer",
        version=__version__,
        summary="Semantic search with explained answers.",
        description="Errors are problem details (RFC 9457); `detail` is a sentence with the cure.",
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_lifespan(service),
    )
    app.state.service = service
    _add_routes(app, public)
    app.router.routes.extend(static_files.routes(shown))
    for error in (GossamerError, RequestValidationError, HTTPException):
        app.add_exception_handler(error, answer_problem)
    app.add_middleware(AccessMiddleware, limits=limits, keys=keys, public=public, origins=origins)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID"],
            expose_headers=["X-Request-ID", "Retry-After"],
        )
    app.add_middleware(RequestMiddleware, metrics=service.metrics)
    return app


def _add_routes(app: FastAPI, public: frozenset[str]) -> None:
    each = APIRouter()
    for router in (searching.router, browsing.router, browsing.writing, plane.router, about.of_index, about.admin):
        each.include_router(router)
    for router in (documents.streaming, documents.reading, documents.writing):
        each.include_router(router)
    app.include_router(about.public)
    app.include_router(about.metrics)
    app.include_router(about.of_server, prefix="/v1")
    app.include_router(each, prefix="/v1")
    app.include_router(each, prefix="/v1/indexes/{name}", dependencies=[Depends(_named)])

    described: dict[str, Any] = {}

    @app.get(_OPENAPI, include_in_schema=False)
    async def openapi() -> Response:
        """The description of this API."""
        if not described:
            described.update(describe(app, public))
        return JsonResponse(described)


async def _named(name: Annotated[str, Path(description="The name of an index, see /v1/indexes.")]) -> None:
    """Declares the name that `TheIndex` looks up."""


def _lifespan(service: Service) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            service.workers.draining = True
            # In another thread: work that still runs has to tell this one, the event loop, that it is done.
            await asyncio.to_thread(service.workers.close)
            await asyncio.to_thread(service.catalog.close)

    return lifespan
