"""A branch of the tree for other programs: nested JSON or Graphviz DOT."""

import json
from dataclasses import asdict
from typing import Any, Final, Literal, TypeAlias

from gossamer.pictures.branch import Branch
from gossamer.plain_text import one_line, shortened

Format: TypeAlias = Literal["json", "dot"]

_NAME_LENGTH: Final = 60
"""Longest name in a drawing, in characters."""


def export(branch: Branch, format: Format) -> str:
    """The branch as text in that format, ending with a line break."""
    if format == "json":
        return json.dumps(as_dict(branch), ensure_ascii=False, indent=1) + "\n"
    return _dot(branch) + "\n"


def as_dict(branch: Branch) -> dict[str, Any]:
    """Nested objects: the fields of the concept, `answers`, and the concepts below it as `children`."""
    made: dict[int, dict[str, Any]] = {}
    for each in reversed(list(branch.walk())):
        fields = asdict(each.concept)
        fields["child_ids"] = fields.pop("children")
        answers = [asdict(answer) for answer in each.answers]
        below = [made.pop(child.concept.id) for child in each.below]
        made[each.concept.id] = {**fields, "answers": answers, "children": below}
    return made[branch.concept.id]


def _dot(branch: Branch) -> str:
    lines = [
        "digraph concepts {",
        '  rankdir=LR; node [shape=box, style="rounded,filled", fillcolor="#f4f1ea", fontname="Helvetica"];',
    ]
    for each in branch.walk():
        name = f"{shortened(one_line(each.name), _NAME_LENGTH)}\n{each.concept.size:,}"
        colour = ', fillcolor="#ffd977"' if each.answers else ""
        lines.append(f"  c{each.concept.id} [label={_quoted(name)}{colour}];")
    for each in branch.walk():
        lines += [f"  c{each.concept.id} -> c{child.concept.id};" for child in each.below]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    """A DOT string, in which only the quote and the backslash have a meaning."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
