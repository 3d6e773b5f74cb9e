"""An index as tools and resources of the Model Context Protocol, by the official SDK (`mcp`, version 2).

Answers are text made for the context of a language model: short, with ids to ask further. Concepts serve as a table of
contents. Searches say when the index has no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Final

from gossamer.errors import GossamerError, MissingExtraError, ParameterError
from gossamer.index import Index
from gossamer.plain_text import one_line, shortened
from gossamer.results import Concept, Hit, Hits, Novelty
from gossamer.version import __version__

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import MCPServerError, ResourceNotFoundError, ToolError
    from mcp.server.mcpserver.resources import ResourceSecurity
    from mcp.types import ToolAnnotations
except ModuleNotFoundError as error:
    raise MissingExtraError("The MCP server", "mcp") from error

_PASSAGE: Final = 400
"""Characters that an answer shows of a document."""

_PAGE: Final = 8_000
"""Characters of a document that are read at once."""

_UNUSUAL: Final = 0.05
"""The confidence below which a query is unlike most documents, as questions in words of their own often are."""

_NOTHING: Final = 99.5
"""The percentile above which an index probably has no answer, see `Index.novelty`. See docs/mcp.md for figures."""

_MOST: Final = 50
"""Answers, topics and parts of a concept that one call shows."""

_READ: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_INSTRUCTIONS: Final = """\
Documents that can be searched by meaning and words, sorted into a tree of concepts.
Start with `contents` to see what is there, or `search` for a question. Every answer names ids: `read` takes the id of a
document, `contents` and `search` (as `within`) that of a concept. If no answer fits, search once more in the words of
the documents. If `search` says that probably nothing here answers the question, believe it; if perhaps, look first."""


def create_server(index: Index, *, name: str = "gossamer", writable: bool = False) -> MCPServer[Any]:
    """A server over an open index. With `writable` documents can be added and deleted, if the index is open for it."""
    server: MCPServer[Any] = MCPServer(name, instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    tools = _Tools(index)
    reading = (tools.search, tools.contents, tools.topics, tools.read, tools.explain, tools.more_like, tools.novelty)
    offered: dict[Callable[..., str], ToolAnnotations] = dict.fromkeys(reading, _READ)
    if writable:
        offered[tools.add] = ToolAnnotations(destructive_hint=True)  # it replaces; without ids each call adds anew
        offered[tools.delete] = ToolAnnotations(destructive_hint=True, idempotent_hint=True)
    for tool, hints in offered.items():
        # Not structured: that would send the same text twice.
        server.tool(annotations=hints, structured_output=False)(_told(tool, ToolError))
    _add_resources(server, index, tools)
    return server


def _told(call: Callable[..., str], kind: type[MCPServerError]) -> Callable[..., str]:
    """The same call, with the message of an error of the index sent to the client; of others the SDK hides it."""

    @wraps(call)
    def told(*args: Any, **kwargs: Any) -> str:
        try:
            return call(*args, **kwargs)
        except GossamerError as error:
            raise kind(str(error)) from error

    return told


def _add_resources(server: MCPServer[Any], index: Index, tools: _Tools) -> None:
    def contents() -> str:
        """The first levels of concepts."""
        return tools.contents()

    def concept(id: int) -> str:
        """A concept and its parts."""
        return tools.contents(id)

    def document(id: str) -> str:
        """The text of a document."""
        return index.get(id).text

    anything = ResourceSecurity(exempt_params={"id"})  # an id may look like a path; no file is opened by it
    for uri, read in (("contents", contents), ("concept/{id}", concept), ("document/{+id}", document)):
        resource = server.resource(f"gossamer://{uri}", mime_type="text/plain", security=anything)
        resource(_told(read, ResourceNotFoundError))


class _Tools:
    """The tools of a server. Their docstrings are what a model reads."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def search(self, query: str, k: int = 5, where: dict[str, Any] | None = None, within: int | None = None) -> str:
        """Find documents by meaning and words, best first, each with its id, score, concepts and a passage.

        where: a metadata filter, as {"year": {"$gte": 2020}}. within: the id of a concept, to look only there.
        """
        search, doubt = partial(self._index.search, query, _count(k, "k"), where=where, within=within), ""
        hits = search(min_confidence=_UNUSUAL)
        if not hits:
            hits = search()
            if not hits:
                return "Nothing was found: the index, or what the filter leaves of it, is empty."
            doubt = _doubt(self._index.novelty(query))
        return doubt + _answers(hits) + "".join(f"\nNote: {warning}" for warning in hits.warnings)

    def contents(self, concept: int | None = None) -> str:
        """A table of contents: what the documents are about, or what a concept (by its id) is about and made of."""
        if not len(self._index):
            return "The index is empty."
        if concept is None:
            listed = self._index.concepts(depth=2)
            return "\n".join("  " * each.depth + _line(each) for each in listed[: 2 * _MOST])
        found = self._index.concept(concept)
        parts = [self._index.concept(id) for id in found.children[:_MOST]]
        parts.sort(key=lambda part: -part.size)
        typical = [f"  - [{each.id}] {_brief(each.text)}" for each in found.exemplars]
        lines = [_line(found), "Typical documents:", *typical, "Parts:", *("  " + _line(part) for part in parts)]
        return "\n".join(lines if parts else lines[:-1])

    def topics(self, n: int = 8) -> str:
        """The documents in n groups, largest first: label, share, id of the concept and typical documents."""
        found = self._index.topics(_count(n, "n"), assignments=False).concepts if len(self._index) else ()
        total = sum(each.size for each in found)
        lines = []
        for each in found:
            lines.append(f"{each.size / total:.0%} {_line(each)}")
            lines += [f"  - [{typical.id}] {_brief(typical.text)}" for typical in each.exemplars]
        return "\n".join(lines) or "The index is empty."

    def read(self, id: str, start: int = 0) -> str:
        """The text and metadata of a document, from a character on; long ones in pages."""
        document = self._index.get(id)
        page = document.text[start : start + _PAGE]
        rest = len(document.text) - start - len(page)
        more = f"\n[{rest:,} more characters: read again with start={start + len(page)}]" if rest > 0 else ""
        return (f"metadata: {document.metadata}\n" if document.metadata and not start else "") + page + more

    def explain(self, query: str, id: str) -> str:
        """Why a document, any document, scores as it does for a query, concept by concept."""
        return " ".join(self._index.explain(query, id).sentences)

    def more_like(self, id: str, k: int = 5) -> str:
        """The documents most like a document."""
        return _answers(self._index.more_like(id, _count(k, "k"))) or "There is no other document."

    def novelty(self, query: str) -> str:
        """Whether the documents have anything to say about a query, compared with how alike they are themselves."""
        found = self._index.novelty(query)
        return f"{found.verdict} (confidence {found.confidence:.2f}, nearest cosine {found.score:.2f})"

    def add(self, texts: list[str], ids: list[str] | None = None, metadata: list[dict[str, Any]] | None = None) -> str:
        """Add documents; an id that is there already is replaced."""
        return f"Added: {', '.join(self._index.add(texts, ids, metadata))}"

    def delete(self, ids: list[str]) -> str:
        """Delete documents by their ids."""
        return f"Deleted: {self._index.delete(ids)}"


def _count(value: int, name: str) -> int:
    if not 1 <= value <= _MOST:
        raise ParameterError(f"{name} must be from 1 to {_MOST}, got {value}")
    return value


def _answers(hits: Hits | Sequence[Hit]) -> str:
    return "\n".join(
        f"{rank}. [{hit.id}] {hit.score:.2f} {_path(hit.path)}".rstrip() + f"\n   {_brief(hit.passage)}"
        for rank, hit in enumerate(hits, 1)
    )


def _doubt(found: Novelty) -> str:
    """What stands before the answers to a query that is unlike most documents."""
    if found.percentile > _NOTHING:
        return f"Probably nothing here answers this ({found.verdict}). The nearest documents:\n"
    return f"Perhaps nothing here answers this, or not in these words ({found.verdict}). The nearest documents:\n"


def _path(path: Sequence[Concept]) -> str:
    """The steps below the root and above the leaf, with the ids to ask further."""
    return " › ".join(f"{one_line(step.label)} (#{step.id})" for step in path[1:-1][:3])


def _line(concept: Concept) -> str:
    return f"#{concept.id} {one_line(concept.label)} ({concept.size:,})"


def _brief(text: str) -> str:
    return shortened(one_line(text), _PASSAGE)
