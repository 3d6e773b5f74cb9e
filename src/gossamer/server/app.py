"""The application: layers around routes.

A request passes the envelope (id, headers, log), CORS where origins are named, the guard (keys, limits), and then its
route. Every route is there twice: under /v1 for the first index, and under /v1/indexes/{name} for each by its name.
"""

from __future__ import annotations

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
from gossamer.server import page
from gossamer.server.access import Guard
from gossamer.server.answers import Answer
from gossamer.server.catalog import Catalog
from gossamer.server.envelope import Envelope, answer_problem
from gossamer.server.keys import KeyRing
from gossamer.server.limits import Limits
from gossamer.server.metrics import Metrics
from gossamer.server.openapi import describe
from gossamer.server.readiness import Readiness
from gossamer.server.routes import about, browsing, documents, health, searching, stream
from gossamer.server.service import Service
from gossamer.server.workers import Workers

_log = logging.getLogger("gossamer.server")

_OPENAPI: Final = "/v1/openapi.json"
_PUBLIC: Final = frozenset(("/healthz", "/readyz", _OPENAPI))
"""What strangers may see beside the page: everything else needs a key where there are keys."""


def create_app(
    catalog: Catalog,
    *,
    keys: KeyRing | None = None,
    limits: Limits | None = None,
    origins: Sequence[str] = (),
    files: Sequence[page.File] | None = None,
) -> FastAPI:
    """The service over `catalog`, which it closes at its end.

    keys      who may do what; without, everyone may do everything, which is for this machine alone
    origins   pages from elsewhere that may use it, as in "https://example.org"
    files     the explorer page; without, the package's own
    """
    limits = limits or Limits()
    workers = Workers(limits.seconds, limits.waiting)
    service = Service(catalog, limits, workers, Metrics(catalog), Readiness(catalog, workers))
    shown = list(page.read_files() if files is None else files)
    public = _PUBLIC | {file.address for file in shown}
    app = FastAPI(
        title="Gossamer",
        version=__version__,
        summary="Semantic search that shows its reasons.",
        description="Errors are problem details (RFC 9457); `detail` is a sentence with the cure.",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_lifespan(service),
    )
    app.state.service = service
    _add_routes(app, public)
    app.router.routes.extend(page.routes(shown))
    for error in (GossamerError, RequestValidationError, HTTPException):
        app.add_exception_handler(error, answer_problem)
    app.add_middleware(Guard, limits=limits, keys=keys, public=public, origins=origins)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID"],
            expose_headers=["X-Request-ID", "Retry-After"],
        )
    app.add_middleware(Envelope, metrics=service.metrics)
    return app


def _add_routes(app: FastAPI, public: frozenset[str]) -> None:
    each = APIRouter()
    for router in (searching.router, browsing.router, about.router, about.admin):
        each.include_router(router)
    for router in (stream.router, documents.reading, documents.writing):
        each.include_router(router)
    app.include_router(health.public)
    app.include_router(health.watched)
    app.include_router(about.whole, prefix="/v1")
    app.include_router(each, prefix="/v1")
    app.include_router(each, prefix="/v1/indexes/{name}", dependencies=[Depends(_named)])

    described: dict[str, Any] = {}

    @app.get(_OPENAPI, include_in_schema=False)
    async def openapi() -> Response:
        """This API, described."""
        if not described:
            described.update(describe(app, public))
        return Answer(described)


async def _named(name: Annotated[str, Path(description="The name of an index, see /v1/indexes.")]) -> None:
    """Declares the name that `TheIndex` looks up."""


def _lifespan(service: Service) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            service.workers.draining = True
            # Not in this thread: what still runs may want to tell the loop that it is done.
            await asyncio.to_thread(service.workers.close)
            await asyncio.to_thread(service.catalog.close)

    return lifespan
