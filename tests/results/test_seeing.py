"""How results show themselves: short in a terminal, as a table in a notebook, as a DataFrame."""

from __future__ import annotations

import sys

import pytest

from bag import encode
from gossamer import Concept, Hits, Index, Topics
from gossamer.errors import MissingExtraError

TEXTS = {
    f"{kind}-{at}": f"{kind} {word} <b>bold</b> & more {'word ' * 200}"
    for kind in ("moon", "bread", "river")
    for at, word in enumerate(("gold", "wolf", "milk", "sun", "katu", "stone", "tree"))
}


@pytest.fixture(scope="module")
def hits() -> Hits:
    with Index(encode) as index:
        index.add(list(TEXTS.values()), list(TEXTS), [{"score": at, "kind": id[:4]} for at, id in enumerate(TEXTS)])
        return index.search("moon and wolf", k=5, explain=True)


def test_repr_is_short(hits: Hits) -> None:
    assert len(repr(hits)) < 600
    hit = hits[0]
    assert repr(hit).startswith(f"Hit({hit.id!r}, {hit.score:.3f}, 'moon")
    assert repr(hit.path[0]).startswith(f"Concept(#{hit.path[0].id} ")
    assert repr(hit.explanation) == f"Explanation({hit.id!r}, number 1 of 21, score {hit.score:.3f})"


def test_html_is_escaped_and_loads_nothing(hits: Hits) -> None:
    assert hits[0].explanation is not None
    for shown in (hits, hits[0], hits[0].path[0], hits[0].explanation):
        html = shown._repr_html_()
        assert "&lt;b&gt;bold" in html
        assert "<b>bold</b>" not in html
        assert "<script" not in html
        assert "http" not in html
    assert Hits()._repr_html_().count("no answers") == 1


def test_rows_have_the_metadata_beside_the_answer(hits: Hits) -> None:
    row = hits.rows()[0]
    assert list(row)[:2] == ["id", "score"]
    assert row["score"] == hits[0].score
    assert row["metadata.score"] == hits[0].metadata["score"]
    assert row["kind"] == hits[0].metadata["kind"]


def test_hits_as_a_dataframe(hits: Hits) -> None:
    pytest.importorskip("pandas")
    frame = hits.to_pandas()
    assert frame["id"].tolist() == [hit.id for hit in hits]
    assert frame.columns.tolist()[-2:] == ["metadata.score", "kind"]


def test_without_pandas_it_says_what_to_install(hits: Hits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"gossamer\[pandas\]"):
        hits.to_pandas()


def test_topics_show_themselves() -> None:
    with Index(encode) as index:
        index.add(list(TEXTS.values()), list(TEXTS))
        topics = index.topics(5)
    assert len(topics) == 5
    assert repr(topics).startswith("Topics(5 groups: '")
    assert repr(topics).endswith(", …)")
    assert "&lt;b&gt;bold" in topics._repr_html_()


def test_groups_are_listed_by_the_documents_they_show() -> None:
    def group(id: int, passages: int) -> Concept:
        return Concept(id, passages, 1, f"group {id}", 0, (), (), (), 0.0, 0.0, (0, id))

    topics = Topics((group(7, 90), group(8, 10)), {"a book": 7, "a note": 8, "another": 8}, 1.0)
    assert [(row["id"], row["size"]) for row in topics.rows()] == [(8, 2), (7, 1)]
