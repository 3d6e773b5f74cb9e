"""How results show themselves: short in a terminal, as a table in a notebook, as a DataFrame."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from bag import encode
from gossamer import Concept, Hits, Index, NearDuplicates, Topics, VectorIndex
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


def test_reprs_of_vectors_and_groups_are_short() -> None:
    vectors = np.random.default_rng(0).normal(size=(60, 8))
    with VectorIndex(dim=8) as index:
        index.add(vectors)
        why = index.explain(vectors[3], 3)
        assert repr(why) == f"VectorExplanation(3, score {why.score:.3f}, {len(why.path)} steps)"
        assert len(str(why).splitlines()) == 2 + len(why.path)
        assert repr(index.cut(3)).startswith("Cut(3 groups: ")
    group = NearDuplicates(tuple("abcdefg"), 1.25e-7, 0.98765)
    assert repr(NearDuplicates(("a" * 900, "b"), 0.0, 1.0)).startswith("NearDuplicates('aaa")
    assert len(repr(NearDuplicates(("a" * 900, "b"), 0.0, 1.0))) < 100
    assert repr(group) == "NearDuplicates('a', 'b', 'c' and 4 more; similarity 0.988, chance 1.2e-07)"


def test_reprs_of_what_an_index_tells_of_itself_are_short() -> None:
    with Index(encode) as index:
        index.add(
            list(TEXTS.values()), list(TEXTS), [{"kind": id[:4], f"field {at}": 1} for at, id in enumerate(TEXTS)]
        )
        for told in (index.info(), index.facets(), index.outline(), index.plane(), index.novelty("moon")):
            assert repr(told).startswith(type(told).__name__)
            assert len(repr(told)) < 260
        assert repr(index.facets()).startswith("Facets(21 documents; kind: 3 values, field 0: 1 value, ")
        assert "<script" not in index.get("moon-0")._repr_html_() + index.novelty("moon")._repr_html_()
        assert "&lt;b&gt;bold" in index.get("moon-0")._repr_html_()


def test_a_slice_of_hits_is_hits(hits: Hits) -> None:
    first = hits[:2]
    assert isinstance(first, Hits)
    assert (len(first), first.visited) == (2, hits.visited)
    assert "gossamer-hits" in first._repr_html_()
    assert first.rows() == hits.rows()[:2]
    assert hits[-1] is list(hits)[-1]


def test_html_is_escaped_and_loads_nothing(hits: Hits) -> None:
    assert hits[0].explanation is not None
    for shown in (hits, hits[0], hits[0].path[0], hits[0].explanation):
        html = shown._repr_html_()
        assert "&lt;b&gt;bold" in html
        assert "<b>bold</b>" not in html
        assert "<script" not in html
        assert "http" not in html
    nothing = Hits(warnings=("no document has the field '<i>'",))._repr_html_()
    assert "no answers" in nothing
    assert "&#x27;&lt;i&gt;&#x27;" in nothing, "warnings are shown"


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
