"""One page to explore a tree in a browser: everything is in the file, and nothing is fetched.

Texts reach the page as JSON and are shown as text, never as markup; and the page allows no script but its own,
known by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import Any

from gossamer.pictures.branch import Branch
from gossamer.pictures.words import one_line
from gossamer.rendering import shortened

_LEAF = 90
"""Characters of the name of a single document."""


def to_html(branch: Branch, *, title: str, subtitle: str = "", query: str | None = None) -> str:
    """The page as one text."""
    script = _part("page.js")
    parts = {
        "title": html.escape(title),
        "subtitle": html.escape(subtitle),
        "css": _part("page.css"),
        "data": _json(_data(branch, query)),
        "script": script,
        "hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    # One pass, so that no text which goes in is looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _part("page.html"))


def _part(name: str) -> str:
    return files("gossamer.pictures").joinpath(name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """JSON that holds nothing a browser could take for the end of the element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _data(branch: Branch, query: str | None) -> dict[str, Any]:
    """Columns, one entry a concept, parents before children."""
    walked = list(branch.walk())
    place = {each.concept.id: at for at, each in enumerate(walked)}
    concepts = {
        "ids": [each.concept.id for each in walked],
        "parent": [-1, *(place[parent] for each in walked[1:] if (parent := each.concept.parent) is not None)],
        "size": [each.concept.size for each in walked],
        "depth": [each.concept.depth for each in walked],
        "label": [shortened(one_line(each.name), _LEAF) for each in walked],
        "terms": [[one_line(term) for term in each.concept.terms] for each in walked],
        "exemplars": [[[one_line(one.id), one_line(one.text)] for one in each.concept.exemplars] for each in walked],
        "spread": [float(f"{each.concept.spread:.3g}") for each in walked],
        "utility": [float(f"{each.concept.utility:.3g}") for each in walked],
        "hidden": [each.hidden for each in walked],
    }
    return {"concepts": concepts, "query": query or "", "answers": _answers(walked)}


def _answers(walked: list[Branch]) -> list[dict[str, Any]]:
    """Each answer with the places it is found at, from the root on."""
    found: dict[int, dict[str, Any]] = {}
    for at, each in enumerate(walked):
        for answer in each.answers:
            text = shortened(one_line(answer.text), 120)
            found.setdefault(answer.rank, {"rank": answer.rank, "id": answer.id, "text": text, "places": []})
            found[answer.rank]["places"].append(at)
    return [found[rank] for rank in sorted(found)]
