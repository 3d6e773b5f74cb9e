"""The files of the explorer, read once at the start, each with a route of its own.

The path of a request never becomes a path on disk.
"""

import hashlib
import mimetypes
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES: Final = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html"}
"""Fixed, since the system's list may differ, and with nosniff a file of the wrong type is not used."""
_SERVED: Final = frozenset((".html", ".js", ".mjs", ".css", ".svg", ".png", ".ico", ".json", ".webmanifest", ".woff2"))


@dataclass(frozen=True)
class File:
    """A file, and the address it is served at."""

    address: str
    body: bytes
    media_type: str
    etag: str


_PAGES: Final = {"/index.html": "/", "/docs.html": "/docs"}
"""Pages that have a shorter address too."""


def read_files(folder: Traversable | None = None) -> list[File]:
    """The files of the explorer; none if there is no index.html. Pages are also served at their short addresses."""
    folder = files("gossamer") / "web" if folder is None else folder
    if not (folder / "index.html").is_file():
        return []
    found = list(_walk(folder, "/"))
    pages = [replace(file, address=_PAGES[file.address]) for file in found if file.address in _PAGES]
    return [*pages, *found]


def routes(files: list[File]) -> list[Route]:
    """One route a file."""
    return [Route(file.address, _endpoint(file), methods=["GET"], include_in_schema=False) for file in files]


def _walk(folder: Traversable, at: str) -> list[File]:
    found = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        suffix = "." + entry.name.rpartition(".")[2]
        if entry.is_dir():
            found += _walk(entry, f"{at}{entry.name}/")
        elif suffix in _SERVED:
            body = entry.read_bytes()
            kind = _TYPES.get(suffix) or mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
            found.append(File(at + entry.name, body, kind, f'"{hashlib.sha256(body).hexdigest()[:32]}"'))
    return found


def is_fresh(request: Request, etag: str) -> bool:
    """Whether the caller has the content with this ETag already."""
    seen = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    return etag in seen or "*" in seen


def _endpoint(file: File) -> Callable[[Request], Awaitable[Response]]:
    headers = {"ETag": file.etag, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}

    async def send(request: Request) -> Response:
        if is_fresh(request, file.etag):
            return Response(status_code=304, headers=headers)
        return Response(file.body, headers=headers, media_type=file.media_type)

    return send
