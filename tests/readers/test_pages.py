"""HTML, reStructuredText, Word, PDF, notebooks and man pages: what becomes text, and what hostile files do."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import InputError
from gossamer.readers import Record, read
from gossamer.readers.formats.html import text_of
from gossamer.readers.formats.man_pages import formatted, from_roff
from gossamer.readers.hyphenation import without_hyphens_at_line_ends

WORD = '<w:document xmlns:w="w"><w:body>{}</w:body></w:document>'


def one(path: Path, content: str | bytes) -> Record:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (record,) = read(path)
    return record


def docx(body: str, **files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", body)
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def pdf(*pages: str, title: str = "") -> bytes:
    """A PDF with a line of text on each page, or several lines divided by \\n."""
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        f"<</Title({title})>>",
    ]
    kids = []
    for page in pages:
        shown = " T* ".join(f"({line}) Tj" for line in page.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 72 700 Td {shown} ET"
        objects.append(f"<</Length {len(stream)}>>\nstream\n{stream}\nendstream")
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {len(objects)} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>"
    out, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer<</Size {len(objects) + 1}/Root 1 0 R/Info 4 0 R>>"
    return (
        f"{out}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}\nstartxref\n{len(out)}\n%%EOF".encode()
    )


def test_html(tmp_path: Path) -> None:
    page = """<!doctype html><html><head><title>Trees &amp; leaves</title><style>p {color: red}</style>
        <script>alert("<p>not this</p>")</script></head><body><nav><a href="/">Home</a></nav>
        <!-- nor <p>this --><h1>How trees
        grow</h1><p>From the <b>root</b> up.<br>Slowly. 1 < 2</p><table><tr><td>oak</td><td>100 m</td></tr></table>
        <pre>a
          b</pre><div class="sphinxsidebar"><div>menu</div> more</div><footer>Copyright</footer></body></html>"""
    record = one(tmp_path / "a.html", page)
    assert record.own_metadata == {"title": "Trees & leaves"}
    lines = [line for line in record.text.splitlines() if line]
    assert lines == ["Trees & leaves. How trees grow", "From the root up.", "Slowly. 1 < 2", "oak 100 m", "a", "b"]


def test_html_in_another_encoding(tmp_path: Path) -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><p>Bäume'.encode("latin-1")
    assert one(tmp_path / "a.htm", page).text == "Bäume"


@pytest.mark.parametrize(
    "page",
    ["<a " * 100_000, '<a "' * 100_000, "<!--" * 100_000, "<script>" * 100_000, "<div>" * 100_000, "</" * 100_000,
     '<a x="" ' * 100_000, "<nav>" * 100_000, "&#" + "9" * 10_000 + ";", "<title>" * 100_000, "<p " + "'" * 100_001],
    ids=lambda page: page[:8],
)  # fmt: skip
def test_malformed_html_takes_no_longer(page: str) -> None:
    text_of(page)  # html.parser takes minutes for some of these


def test_rst(tmp_path: Path) -> None:
    record = one(
        tmp_path / "a.rst",
        ".. _top:\n\n=====\nTrees\n=====\n\nSee :class:`~forest.Tree` and `the site <https://x.org>`_, *really*.\n\n"
        ".. a comment\n   over lines\n\n.. note::\n   :name: n\n\n   They **grow**.\n\n.. include:: /etc/passwd\n\n"
        ".. code-block:: python\n\n   plant(tree)\n\nFor example::\n\n   water(tree)\n",
    )
    assert record.own_metadata == {"title": "Trees"}
    lines = [line.strip() for line in record.text.splitlines() if line.strip()]
    assert lines == [
        "Trees", "See forest.Tree and the site, really.", "They grow.", "python", "plant(tree)", "For example:",
        "water(tree)",
    ]  # fmt: skip


def test_word(tmp_path: Path) -> None:
    body = WORD.format(
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Trees</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>They </w:t></w:r><w:r><w:t>grow.</w:t><w:br/><w:delText>gone</w:delText></w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>oak</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>ash</w:t></w:r></w:p></w:tc>"
        "</w:tr></w:tbl>"
    )
    record = one(tmp_path / "a.docx", docx(body))
    assert record.own_metadata == {"title": "Trees"}
    assert [line.strip() for line in record.text.splitlines() if line.strip()] == ["Trees", "They grow.", "oak ash"]
    core = '<p xmlns:d="d"><d:title>From the properties</d:title></p>'
    assert (
        one(tmp_path / "a.docx", docx(body, **{"docProps/core.xml": core})).metadata["title"] == "From the properties"
    )


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('<!DOCTYPE a [<!ENTITY b "lol">]><a>&b;</a>', "document type definition"),
        ("<a>" * 10, "not a Word document"),
        (WORD.format("<w:p><w:r><w:t>" + "a" * (2**24 + 1) + "</w:t></w:r></w:p>"), "more than 16,777,216 characters"),
        (WORD.format(" " * 2**26), "more than 67,108,864 bytes"),
    ],
)
def test_hostile_word_documents(tmp_path: Path, body: str, says: str) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(docx(body))
    with pytest.raises(InputError, match=says):
        list(read(path))


def test_a_deep_word_document_is_read(tmp_path: Path) -> None:
    deep = "<w:x>" * 100_000 + "<w:r><w:t>deep</w:t></w:r>" + "</w:x>" * 100_000
    assert one(tmp_path / "a.docx", docx(WORD.format(deep))).text == "deep"


def test_what_is_no_word_document(tmp_path: Path) -> None:
    for content in (b"PK\3\4 not really", b"", docx("")[:40]):
        (tmp_path / "a.docx").write_bytes(content)
        with pytest.raises(InputError, match=r"a\.docx: "):
            list(read(tmp_path))


def test_pdf(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    record = one(tmp_path / "a.pdf", pdf("Trees have compli-\ncated roots.", "Page two.", title="On trees"))
    assert record.own_metadata == {"title": "On trees", "pages": 2}
    assert record.text.split() == ["Trees", "have", "complicated", "roots.", "Page", "two."]
    (tmp_path / "a.pdf").write_bytes(pdf(""))
    reading = read(tmp_path, on_error="auto")
    assert list(reading) == []
    assert reading.unread == {(".pdf", "no text in it, maybe scanned"): 1}
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 and nothing")
    with pytest.raises(InputError, match=r"a\.pdf: not valid PDF"):
        list(read(tmp_path))


def notebook(*cells: tuple[str, Any]) -> str:
    made = [{"cell_type": kind, "source": source, "outputs": [{"data": "x" * 100}]} for kind, source in cells]
    return json.dumps({"cells": made, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4})


def test_notebooks(tmp_path: Path) -> None:
    cells = [("markdown", ["# Trees\n", "They grow."]), ("code", "plant(tree)"), ("code", "")]
    record = one(tmp_path / "a.ipynb", notebook(*cells))
    assert record.text == "# Trees\nThey grow.\n\nplant(tree)"
    assert record.own_metadata == {"title": "Trees", "language": "python"}
    for content in ("[]", "{}broken", '{"cells": 3}', "[" * 100_000):
        (tmp_path / "a.ipynb").write_text(content)
        with pytest.raises(InputError, match="not a notebook"):
            list(read(tmp_path))


MAN = r""".\" A comment
.ie \n(.g .ds Aq \(aq
.de XX
not this
..
.TH GROW 1 "May 2024" "Trees 1.0" "User Commands"
.SH NAME
grow \- make a \fItree\fR grow
.SH SYNOPSIS
.B grow
[\fB\-\-fast\fR]
.if t \{\
not this either
.\}
.SH OPTIONS
.TP
.BR \-f ", " \-\-fast
Do it \*(lqfast\*(rq.
.SH COPYRIGHT
Free Software Foundation
.SH SEE ALSO
.BR prune (1)
"""


def test_man_pages(tmp_path: Path) -> None:
    record = one(tmp_path / "grow.1", MAN)
    assert record.own_metadata == {"title": "grow(1)"}
    assert record.text.split() == [
        "NAME",
        "grow",
        "-",
        "make",
        "a",
        "tree",
        "grow",
        "SYNOPSIS",
        "grow",
        "[--fast]",
        "OPTIONS",
        "-f,",
        "--fast",
        "Do",
        "it",
        "“fast”.",
        "SEE",
        "ALSO",
        "prune(1)",
    ]
    (tmp_path / "grow.1").unlink()
    (tmp_path / "server.log.1").write_text("started\nstopped\n")
    reading = read(tmp_path, on_error="auto")
    assert list(reading) == []
    assert reading.unread == {(".1", "not a man page"): 1}


def test_the_macros_of_mdoc() -> None:
    page = from_roff(
        ".Dd May 1\n.Dt GROW 8\n.Sh NAME\n.Nm grow\n.Nd grow a tree\n.Bl -tag\n.It Fl f Ar file\nRead it.\n.El"
    )
    assert page.title == "grow(8)"
    assert page.text.split() == ["NAME", "grow", "grow", "a", "tree", "-f", "file", "Read", "it."]


def test_formatted_man_pages(tmp_path: Path) -> None:
    gap = " " * 20
    page = f"""GROW(1){gap}User Commands{gap}GROW(1)

N\bNA\bAM\bME\bE
       grow - make a docu-
       ment of a well-
       known and well-known tree

COPYRIGHT
       Free Software

SEE ALSO
       prune(1)

Trees 1.0{gap}May 2024{gap}GROW(1)
"""
    record = one(tmp_path / "grow.txt", page)
    assert record.own_metadata == {"title": "grow(1)"}
    words = "NAME grow - make a document of a well-known and well-known tree SEE ALSO prune(1)"
    assert record.text.split() == words.split()
    assert formatted("a(1)" + " " * 100_000 + "\n" + " " * 100_000) is None


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("a docu\u2010\n   ment", "a document"),
        ("soft\u00ad\nware", "software"),
        ("a docu-\nment", "a docu-\nment"),  # nothing tells
        ("a docu-\nment, documents and a document", "a document, documents and a document"),
        ("range 1-\n2, -\nlist", "range 1-\n2, -\nlist"),
    ],
)
def test_hyphens(text: str, whole: str) -> None:
    assert without_hyphens_at_line_ends(text) == whole
