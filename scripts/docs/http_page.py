"""The reference of the HTTP API as Markdown, from the server's OpenAPI description."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gossamer import Index
from gossamer.server.app import create_app
from gossamer.server.catalog import Catalog

HEAD = """# HTTP

<!-- Made by `python scripts/docs/write.py` from the description that a server gives of itself. -->

What `gossamer serve` answers, route by route; [the server](../server.md) tells how to run it, about keys, limits and
errors. A running server has the same at `/docs`, to try it, and at `/v1/openapi.json`, for programs. Where several
indexes are served, each has the routes below under `/v1/indexes/{name}` too.
"""


def page() -> str:
    """The whole page."""
    described = _describe()
    shapes = described["components"]["schemas"]
    lines = [HEAD]
    for path, operations in described["paths"].items():
        if path.startswith("/v1/indexes/{name}"):
            continue
        for method, operation in operations.items():
            lines.extend(_operation(path, method, operation, shapes))
    return "\n".join(lines)


def _describe() -> dict[str, Any]:
    import asyncio

    import httpx

    async def ask() -> dict[str, Any]:
        with Index(encoder="lsa") as ix:
            transport = httpx.ASGITransport(create_app(Catalog({"notes": ix})))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                found: dict[str, Any] = (await client.get("/v1/openapi.json")).raise_for_status().json()
                return found

    return asyncio.run(ask())


def _operation(path: str, method: str, operation: Mapping[str, Any], shapes: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {method.upper()} {path}\n"
    yield f"{operation.get('description') or operation['summary']}\n"
    fields = [
        (each["name"], each, each["schema"], each.get("required", False)) for each in operation.get("parameters", ())
    ]
    for content, body in operation.get("requestBody", {}).get("content", {}).items():
        shape = _resolved(body.get("schema", {}), shapes)
        if "properties" in shape:
            needed = shape.get("required", ())
            fields += [(name, each, each, name in needed) for name, each in shape["properties"].items()]
        else:
            yield f"Takes `{content}`{_alternatives(body.get('schema', {}), shapes)}.\n"
    if fields:
        yield "| field | type | |\n|---|---|---|"
        for name, told, schema, needed in fields:
            yield f"| `{name}` | {_kind(schema, shapes)} | {_told(told, schema, needed)} |"
        yield ""
    answers = operation["responses"].get("200", {}).get("content", {})
    for content, answer in answers.items():
        names = [f"`{name}`" for name in _resolved(answer.get("schema", {}), shapes).get("properties", ())]
        yield f"Answers `{content}`{' with ' if names else ''}{', '.join(names)}.\n"


def _resolved(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    return shapes[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _alternatives(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> str:
    several = [_resolved(each, shapes) for each in schema.get("anyOf", ())]
    kinds = [", ".join(f"`{name}`" for name in each.get("properties", ())) for each in several]
    return f": {'; or '.join(kind for kind in kinds if kind)}" if any(kinds) else ""


def _kind(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        kinds = [_kind(each, shapes) for each in schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    schema = _resolved(schema, shapes)
    if schema.get("type") == "array":
        of = _kind(schema.get("items", {}), shapes)
        return f"list of {of.replace('list of', 'lists of') if of.startswith('list of') else of + 's'}"
    return str(schema.get("type", "any"))


def _told(told: Mapping[str, Any], schema: Mapping[str, Any], needed: bool) -> str:
    words = str(told.get("description", schema.get("description", ""))).replace("|", "\\|").replace("\n", " ")
    default = schema.get("default")
    if needed:
        words += " Required."
    elif default is not None and default is not False:
        words += f" Default: {json.dumps(default)}."
    return words.strip()
