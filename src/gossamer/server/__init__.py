"""The HTTP service: indexes by name, behind one door.

limits      what one request may ask for               keys        who may do what: a file of hashed keys
catalog     the indexes that are served, by name       workers     reads side by side, writes one after the other
problems    errors as RFC 9457 problem details         answers     values as JSON, fast
schemas     what is sent and what comes back           guard       what is refused before any route is reached
envelope    request ids, headers, logs, last errors    metrics     figures for Prometheus
page        the explorer's files                       routes/     one module a group of routes
hitlist     the answer to a search, as JSON            bodies      requests, from bytes to a checked model
app         all of it put together                     wire        heads of requests, bounded
run         listening, and stopping without loss       warming     names, ahead of the first questions

Nothing here knows how a search is done: it imports `index`, `results` and `errors`.
"""

from __future__ import annotations

from importlib.util import find_spec

from gossamer.errors import MissingExtraError

_NEEDED = ("fastapi", "uvicorn", "httptools", "prometheus_client", "orjson")


def check_available() -> None:
    """Raise the error that names the extra where one of its libraries is missing."""
    if any(find_spec(name) is None for name in _NEEDED):
        raise MissingExtraError("The server", "serve")
