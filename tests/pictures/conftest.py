"""A small index with hostile texts, and the branch that pictures are made of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import bag
from gossamer.index import Index
from gossamer.pictures.branch import Branch, read_branch

HOSTILE = {
    "script": "<script>alert('pwned')</script> & \"quotes\" in the sea of stone",
    "close": "</script></title><img src=x onerror=alert(1)> ]]> sun moon star",
    "comment": "salt --> <script>alert(2)</script> --!> -- gold <!-- silk",
    "dot": 'wolf "] ; c0 -> c1 [label="bear \\" \\n \\\\ %',
    "newick": "it's (bread, milk); salt: 'iron' [gold]",
    "mermaid": 'fish["bird"] --> tree; click c1 callback; #quot; `leaf`',
    "maths": "$\\frac{1}{0}$ costs $5 and $6 in silk^2_x",
    "control": "king\x1b[31m queen\x00 \x07 river\x85\u2028 end",
    "braces": "{{data}} {{script}} %(title)s ${x}",
    "東京": "東京都の天気は晴れ。" * 8,
    "long": "sea" * 300,
}


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    words = [" ".join(bag.WORDS[i : i + 5]) for i in range(0, len(bag.WORDS) - 5, 2)]
    return {**{f"d{i}": text for i, text in enumerate(words)}, **HOSTILE}


@pytest.fixture(scope="session")
def index(texts: dict[str, str]) -> Iterator[Index]:
    with Index(encoder=bag.encode) as ix:
        ix.add(list(texts.values()), list(texts))
        yield ix


@pytest.fixture(scope="session")
def branch(index: Index) -> Branch:
    found = read_branch(index)
    assert found is not None
    return found
