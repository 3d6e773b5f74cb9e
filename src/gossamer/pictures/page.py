"""A branch of the tree as one HTML file: the explorer's map over data inside the page. Nothing is fetched.

The script is `page.js` with the modules of `gossamer/web` that it imports. Texts reach the page as JSON and are shown
as text, never as markup; the content security policy allows no script but this one, known by its hash.
"""

import base64
import hashlib
import html
import json
import posixpath
import re
from importlib.resources import files
from typing import Any, Final

from gossamer.pictures.branch import Branch
from gossamer.plain_text import one_line, shortened

_LABEL_LENGTH: Final = 90
"""Longest label in characters: that of a document is its text."""

_STYLES: Final = ("web/base.css", "web/list.css", "web/map/map.css")
_IMPORT: Final = re.compile(r'^import (.+?) from "(.+?)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?(?:function|class|const|let) (\w+))", re.MULTILINE)


def to_html(branch: Branch, *, title: str, subtitle: str = "", query: str | None = None, passages: bool = False) -> str:
    """The page as one text; `passages` says that concepts are counted in these, since long texts are split."""
    script = _bundle("pictures/page.js")
    parts = {
        "title": html.escape(title),
        "subtitle": html.escape(subtitle),
        "css": "".join(map(_read, _STYLES)),
        "data": _json(
            {"concepts": _concepts(branch), "query": query or "", "answers": _answers(branch), "passages": passages}
        ),
        "script": script,
        "hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    # One pass, so that a text that is filled in is not searched for placeholders itself.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _read("pictures/page.html"))


def _read(path: str) -> str:
    return files("gossamer").joinpath(path).read_text(encoding="utf-8")


def _bundle(entry: str) -> str:
    """One classic script from an ES module and those it imports: each is a function that returns its exports.

    It understands the forms our modules use: `import {…} from "…";` on one line, and `export` before a declaration.
    """
    modules: dict[str, str] = {}

    def name(path: str) -> str:
        return "_" + re.sub(r"\W", "_", path)

    def add(path: str) -> None:
        if path in modules:
            return
        modules[path] = ""  # a cycle would be an error in our modules
        text = _read(path)
        inside = {given: posixpath.normpath(posixpath.join(path, "..", given)) for _, given in _IMPORT.findall(text)}
        for other in inside.values():
            add(other)
        body = _IMPORT.sub(lambda found: f"const {found[1]} = {name(inside[found[2]])};\n", text)
        exports = ", ".join(exported for _, exported in _EXPORT.findall(text))
        body = _EXPORT.sub(r"\1", body)
        del modules[path]  # to the end: after those it imports
        modules[path] = f'const {name(path)} = (() => {{\n"use strict";\n{body}\nreturn {{ {exports} }};\n}})();\n'

    add(entry)
    return "".join(modules.values())


def _json(value: Any) -> str:
    """JSON without the characters that could end the element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _concepts(branch: Branch) -> list[dict[str, Any]]:
    return [
        {
            **{name: getattr(each.concept, name) for name in ("id", "parent", "size", "depth")},
            "children": len(each.concept.children),
            "label": shortened(one_line(each.name), _LABEL_LENGTH),
            "terms": [one_line(term) for term in each.concept.terms],
            "exemplars": [{"id": one_line(one.id), "text": one_line(one.text)} for one in each.concept.exemplars],
            "spread": float(f"{each.concept.spread:.3g}"),
            "utility": float(f"{each.concept.utility:.3g}"),
        }
        for each in branch.walk()
    ]


def _answers(branch: Branch) -> list[dict[str, Any]]:
    """Each answer with the deepest concept shown that holds it."""
    found: dict[int, dict[str, Any]] = {}
    for each in branch.walk():
        for answer in each.answers:
            text = shortened(one_line(answer.text), 120)
            found[answer.rank] = {"rank": answer.rank, "id": answer.id, "text": text, "concept": each.concept.id}
    return [found[rank] for rank in sorted(found)]
