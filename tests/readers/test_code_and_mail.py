"""Source code by functions and classes, and e-mail by messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.errors import InputError
from gossamer.readers import read

MODULE = '''"""About trees."""
import os

@decorated
def grow(tree):
    """Make it grow."""
    return tree

if os.name == "nt":
    pass

class Small:
    def method(self): ...

class Large:
    """Has many methods."""
    size = 3

    def first(self):
        pass
{padding}
    @property
    def second(self):
        return 2

    @second.setter
    def second(self, value):
        pass
'''


def test_python_by_functions_and_classes(tmp_path: Path) -> None:
    (tmp_path / "trees.py").write_text(MODULE.format(padding="\n" * 30))
    found = {record.id: record for record in read(tmp_path)}
    assert list(found) == [
        "trees.py", "trees.py::grow", "trees.py::Small", "trees.py::Large", "trees.py::Large.first",
        "trees.py::Large.second", "trees.py::Large.second~2",
    ]  # fmt: skip
    assert '"""About trees."""' in found["trees.py"].text
    assert "def " not in found["trees.py"].text
    assert found["trees.py::grow"].text.startswith("@decorated\ndef grow")
    assert found["trees.py::grow"].own_metadata == {
        "language": "python",
        "kind": "function",
        "line": 4,
        "title": "grow",
    }
    assert "many methods" in found["trees.py::Large"].text
    assert "def first" not in found["trees.py::Large"].text
    assert found["trees.py::Large.first"].text.startswith("Large.first\n    def first")


@pytest.mark.parametrize("text", ["print 'two'", "(" * 100_000, "-" * 100_000 + "1", "a" + ".b" * 100_000, "x = '\0'"])
def test_python_that_cannot_be_parsed_is_one_document(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(f"{text}\n")
    named = [record.id for record in read(tmp_path / "a.py", on_error="skip")]
    assert named in (["a.py"], [])  # a NUL makes it binary


def test_other_languages(tmp_path: Path) -> None:
    (tmp_path / "a.rs").write_text("fn main() {}\n")
    (record,) = read(tmp_path)
    assert (record.id, record.text, record.own_metadata) == ("a.rs", "fn main() {}\n", {"language": "rust"})


MBOX = """From ann@x.org Mon Jan  1 00:00:00 2024
Message-ID: <one@x.org>
Subject: =?utf-8?q?B=C3=A4ume?=
From: Ann <ann@x.org>
Date: Mon, 1 Jan 2024 12:00:00 +0100

They grow.
>From the root up.

--\x20
Ann

From bob@x.org Mon Jan  1 00:00:00 2024
Message-ID: <two@x.org>
Subject: Re: trees
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/html

<p>Quite <b>slowly</b>.<script>alert(1)</script></p>
--b
Content-Type: text/plain
Content-Disposition: attachment; filename="secret.txt"

not this
--b--

From cyd@x.org Mon Jan  1 00:00:00 2024
Subject: quotes

On Monday Ann wrote:
> They grow.
I agree.
"""


def test_javascript_that_a_program_made_is_read_when_it_is_named(tmp_path: Path) -> None:
    """Sphinx's search index, or a minified library."""
    (tmp_path / "searchindex.js").write_text('Search.setIndex({"terms":[' + '"word",' * 1000 + "]})")
    (tmp_path / "own.js").write_text("// Counts.\n" + "count += 1;\n" * 1000)
    reading = read(tmp_path)
    assert [record.id for record in reading] == ["own.js"]
    assert reading.unread == {(".js", "made by a program"): 1}
    assert [record.id for record in read(tmp_path / "searchindex.js")] == ["searchindex.js"]


def test_a_mailbox(tmp_path: Path) -> None:
    (tmp_path / "list.mbox").write_text(MBOX)
    one, two, three = read(tmp_path)
    assert (one.id, one.text) == ("list.mbox:one@x.org", "Bäume. They grow.\nFrom the root up.")
    assert one.own_metadata == {"title": "Bäume", "from": "Ann <ann@x.org>", "date": "2024-01-01T11:00:00Z"}
    assert (two.id, two.text) == ("list.mbox:two@x.org", "Re: trees. Quite slowly.")
    assert (three.id, three.text) == ("list.mbox:3", "quotes. I agree.")


def test_one_message(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(MBOX.split("\n\nFrom bob")[0].partition("\n")[2])
    (record,) = read(tmp_path)
    assert record.id == "a.eml"
    assert record.text.startswith("Bäume. They grow.")


def test_hostile_mail(tmp_path: Path) -> None:
    nested = "".join(f'Content-Type: multipart/mixed; boundary="b{i}"\n\n--b{i}\n' for i in range(3_000))
    headers = (
        "Subject: =?no-such-charset?q?a?=\nDate: 99 Foo 99999\nContent-Type: text/plain; charset=no-such\n\ntext\n"
    )
    (tmp_path / "a.mbox").write_text(f"From a\n{nested}\n\nFrom b\n{headers}")
    reading = read(tmp_path, on_error="skip")
    assert [record.text.endswith("text") for record in reading][-1]
    (tmp_path / "a.mbox").write_text("no mailbox")
    with pytest.raises(InputError, match="not a mailbox"):
        list(read(tmp_path))
