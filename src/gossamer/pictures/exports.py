"""A branch for other programs: nested JSON, Graphviz DOT, Mermaid, Newick and GraphML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, Final, Literal, TypeAlias, get_args
from xml.sax.saxutils import escape, quoteattr

from gossamer.pictures.branch import Branch
from gossamer.pictures.words import one_line
from gossamer.rendering import shortened

Format: TypeAlias = Literal["json", "dot", "mermaid", "newick", "graphml"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)

_LONG: Final = 60
"""Characters of a name in a drawing."""


def export(branch: Branch, format: Format) -> str:
    """The branch as a text in that format, with a line break at its end."""
    return _WRITERS[format](branch) + "\n"


def as_dict(branch: Branch) -> dict[str, Any]:
    """Nested objects: the concept's own fields, `answers`, and the concepts below as `children`."""
    made: dict[int, dict[str, Any]] = {}
    for each in reversed(list(branch.walk())):
        fields = asdict(each.concept)
        fields["child_ids"] = fields.pop("children")
        answers = [asdict(answer) for answer in each.answers]
        below = [made.pop(child.concept.id) for child in each.below]
        made[each.concept.id] = {**fields, "answers": answers, "children": below}
    return made[branch.concept.id]


def _json(branch: Branch) -> str:
    return json.dumps(as_dict(branch), ensure_ascii=False, indent=1)


def _dot(branch: Branch) -> str:
    """Graphviz: `dot -Tsvg`. In a quoted string only the quote and the backslash mean something."""
    lines = [
        "digraph concepts {",
        '  rankdir=LR; node [shape=box, style="rounded,filled", fillcolor="#f4f1ea", fontname="Helvetica"];',
    ]
    for each in branch.walk():
        name = f"{_drawn(each)}\n{each.concept.size:,}"
        colour = ', fillcolor="#ffd977"' if each.answers else ""
        lines.append(f"  c{each.concept.id} [label={_dot_quoted(name)}{colour}];")
    lines += [f"  c{parent} -> c{child};" for parent, child in _edges(branch)]
    return "\n".join([*lines, "}"])


def _dot_quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _mermaid(branch: Branch) -> str:
    """Mermaid: labels are HTML in quotes, so what HTML or Mermaid would take for its own is written as a number."""
    lines = ["flowchart LR"]
    lines += [f'  c{each.concept.id}["{_numbered(_drawn(each))}<br/>{each.concept.size:,}"]' for each in branch.walk()]
    lines += [f"  c{parent} --> c{child}" for parent, child in _edges(branch)]
    if found := [f"c{each.concept.id}" for each in branch.walk() if each.answers]:
        lines += ["  classDef answer fill:#ffd977,stroke:#a67c00", f"  class {','.join(found)} answer"]
    return "\n".join(lines)


def _numbered(text: str) -> str:
    """Everything but letters, digits, spaces and the tamest signs as #code; Mermaid's way to write a character."""
    return re.sub(r"[^\w ,.…-]", lambda found: f"#{ord(found[0])};", text)


def _newick(branch: Branch) -> str:
    """Newick, on one line: names in quotes, and as length the steps from the concept above."""
    made: dict[int, str] = {}
    for each in reversed(list(branch.walk())):
        below = ",".join(made.pop(child.concept.id) for child in each.below)
        name = "'" + f"{_drawn(each)} #{each.concept.id} ({each.concept.size})".replace("'", "''") + "'"
        made[each.concept.id] = (f"({below})" if below else "") + f"{name}:1"
    return made[branch.concept.id].removesuffix(":1") + ";"


_ATTRIBUTES: Final[dict[str, tuple[str, Callable[[Branch], object]]]] = {
    "label": ("string", lambda branch: branch.name),
    "terms": ("string", lambda branch: ", ".join(branch.concept.terms)),
    "size": ("int", lambda branch: branch.concept.size),
    "depth": ("int", lambda branch: branch.concept.depth),
    "spread": ("double", lambda branch: branch.concept.spread),
    "utility": ("double", lambda branch: branch.concept.utility),
    "answers": ("int", lambda branch: len(branch.answers)),
    "exemplar": ("string", lambda branch: branch.concept.exemplars[0].text if branch.concept.exemplars else ""),
}


def _graphml(branch: Branch) -> str:
    """GraphML, as Gephi, yEd and NetworkX read it."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for name, (kind, _) in _ATTRIBUTES.items():
        lines.append(f'  <key id={quoteattr(name)} for="node" attr.name={quoteattr(name)} attr.type="{kind}"/>')
    lines.append('  <graph id="concepts" edgedefault="directed">')
    for each in branch.walk():
        data = "".join(f'<data key="{name}">{_xml(read(each))}</data>' for name, (_, read) in _ATTRIBUTES.items())
        lines.append(f'    <node id="c{each.concept.id}">{data}</node>')
    lines += [f'    <edge source="c{parent}" target="c{child}"/>' for parent, child in _edges(branch)]
    return "\n".join([*lines, "  </graph>", "</graphml>"])


def _xml(value: object) -> str:
    return escape(one_line(value) if isinstance(value, str) else str(value))


def _drawn(branch: Branch) -> str:
    return shortened(one_line(branch.name), _LONG)


def _edges(branch: Branch) -> Iterator[tuple[int, int]]:
    for each in branch.walk():
        for child in each.below:
            yield each.concept.id, child.concept.id


_WRITERS: Final[dict[str, Callable[[Branch], str]]] = {
    "json": _json,
    "dot": _dot,
    "mermaid": _mermaid,
    "newick": _newick,
    "graphml": _graphml,
}
