"""An index as tools and resources of the Model Context Protocol, by the official SDK (`mcp`, version 2).

Answers are text made for the context of a language model: short, with ids to ask further. Concepts serve as a table of
contents. Searches say when the index has no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from gossamer.errors import GossamerError, ParameterError
from gossamer.index import Index
from gossamer.plain_text import one_line, shortened
from gossamer.results import Concept, Hit, Hits
from gossamer.version import __version__

_PASSAGE: Final = 400
"""Characters that an answer shows of a document."""

_PAGE: Final = 8_000
"""Characters of a document that are read at once."""

_UNLIKELY: Final = 0.05
"""The confidence below which an index has no answer, see `Index.novelty`."""

_MOST: Final = 50
"""Answers, topics and parts of a concept that one call shows."""

_READ: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_INSTRUCTIONS: Final = """\
Documents that can be searched by meaning and words, sorted into a tree of concepts.
Start with `contents` to see what is there, or `search` for a question. Every answer names ids: `read` takes the id of a
document, `contents` and `search` (as `within`) that of a concept. If `search` says that nothing here answers the
question, believe it."""


def create_server(index: Index, *, name: str = "gossamer", writable: bool = False) -> MCPServer[Any]:
    """A server over an open index. With `writable` documents can be added and deleted, if the index is open for it."""
    server: MCPServer[Any] = MCPServer(name, instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    tools = _Tools(index)
    for tool in (tools.search, tools.contents, tools.topics, tools.read, tools.explain, tools.more_like, tools.novelty):
        server.tool(annotations=_READ)(_told(tool))
    if writable:
        server.tool(annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=True))(_told(tools.add))
        server.tool(annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=True))(_told(tools.delete))
    _add_resources(server, index, tools)
    return server


def _told(tool: Callable[..., str]) -> Callable[..., str]:
    """The tool, with errors of the index told to the model, which can mend its call; others are told as a failure."""

    @wraps(tool)
    def call(*args: Any, **kwargs: Any) -> str:
        try:
            return tool(*args, **kwargs)
        except GossamerError as error:
            raise ToolError(str(error)) from error

    return call


def _add_resources(server: MCPServer[Any], index: Index, tools: _Tools) -> None:
    @server.resource("gossamer://contents", mime_type="text/plain")
    def contents() -> str:
        """The first levels of concepts."""
        return tools.contents()

    @server.resource("gossamer://concept/{id}", mime_type="text/plain")
    def concept(id: int) -> str:
        """A concept and its parts."""
        return tools.contents(int(id))

    @server.resource("gossamer://document/{id}", mime_type="text/plain")
    def document(id: str) -> str:
        """The text of a document."""
        return index.get(id).text


class _Tools:
    """The tools of a server. Their docstrings are what a model reads."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def search(self, query: str, k: int = 5, where: dict[str, Any] | None = None, within: int | None = None) -> str:
        """Find documents by meaning and words, best first, each with its id, score, concepts and a passage.

        where: a metadata filter, as {"year": {"$gte": 2020}}. within: the id of a concept, to look only there.
        """
        search, doubt = partial(self._index.search, query, _count(k, "k"), where=where, within=within), ""
        hits = search(min_confidence=_UNLIKELY)
        if not hits:
            hits = search()
            if not hits:
                return "Nothing was found: the index, or what the filter leaves of it, is empty."
            verdict = self._index.novelty(query).verdict
            doubt = f"Probably nothing here answers this ({verdict}). The nearest documents:\n"
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
        f"{rank}. [{hit.id}] {hit.score:.2f} {_path(hit.path)}\n   {_brief(hit.passage)}"
        for rank, hit in enumerate(hits, 1)
    )


def _path(path: Sequence[Concept]) -> str:
    """The steps below the root and above the leaf, with the ids to ask further."""
    return " › ".join(f"{one_line(step.label)} (#{step.id})" for step in path[1:-1][:3])


def _line(concept: Concept) -> str:
    return f"#{concept.id} {one_line(concept.label)} ({concept.size:,})"


def _brief(text: str) -> str:
    return shortened(one_line(text), _PASSAGE)
