"""What MkDocs asks while it builds the site: the pages that are made for it, and links out of docs/."""

import re
from pathlib import Path
from typing import Any

import api_page
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
_SHIM = "https://unpkg.com/iframe-worker/shim"
"""What Material loads so that the search works from file://; the site brings it instead."""

_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the API reference, and the README as the first page."""
    files.append(File.generated(config, "reference/api.md", content=api_page.page()))
    readme = (ROOT / "README.md").read_text()
    files.append(File.generated(config, "index.md", content=re.sub(r"\]\(docs/", "](", readme)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to files of the repository that are not part of the site become plain text; broken ones are reported."""
    here = ROOT if page.file.src_uri == "index.md" else (ROOT / "docs" / page.file.src_uri).parent

    def replaced(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        if "://" in target:
            return match[0]
        found = (here / target).resolve()
        outside = found.exists() and ROOT in found.parents and ROOT / "docs" not in found.parents
        return text if outside else match[0]

    return _LINK.sub(replaced, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Load nothing from elsewhere."""
    return output.replace(_SHIM, "../" * page.file.dest_uri.count("/") + "assets/iframe-worker.js")


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """The same for the page of errors."""
    return output_content.replace(_SHIM, "/assets/iframe-worker.js")
