"""The HTTP service: indexes by name, under /v1.

app           the application: routes and middleware     run           listening, and stopping without losing a write
catalog       the indexes that are served, by name       service       what routes share: `TheIndex`, `TheKey` …
routes/       one module a group of routes               schemas       requests and answers, as pydantic models
middleware    request ids, headers, logs, last errors    access        keys, hosts, limits: checked before any route
workers       threads for reads and for writes           limits        what one request may ask for
responses     values as JSON                             problems      errors as problem details (RFC 9457)
request_bodies  JSON bodies, checked in one pass         http_protocol  limits on request heads and on slow readers
keys          API keys in a file                         metrics       figures for Prometheus
static_files  the explorer's files                       openapi       the description of the API

The service knows an index by its public methods: it imports `index`, `results` and `errors`.
"""

from importlib.util import find_spec

from gossamer.errors import MissingExtraError

_NEEDED = ("fastapi", "uvicorn", "httptools", "prometheus_client", "orjson")


def check_available() -> None:
    """Raise `MissingExtraError` if a library of the extra `serve` is missing."""
    if any(find_spec(name) is None for name in _NEEDED):
        raise MissingExtraError("The server", "serve")
