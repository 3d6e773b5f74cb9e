"""Why, and why not: explanations add up, agree with search, and say where a document lost."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bag import encode
from explain.corpus import Corpus, documents
from gossamer import Explanation, Index, VectorIndex
from gossamer.errors import ParameterError, UnknownIdError
from gossamer.tree.browsing import shown_children
from kernel_wrappers import log_p

QUERIES = ["bread in the oven", "a comet and a planet", "people today", "piano tyre compost"]


@pytest.fixture(scope="module")
def whitened() -> Iterator[Index]:
    with Index(encode) as index:
        texts, themes = documents(1200)
        index.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
        assert index.info().whitened
        yield index


@pytest.fixture(scope="module")
def small() -> Iterator[Index]:
    with Index(encode) as index:
        texts, themes = documents(40)
        index.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
        yield index


def adds_up(why: Explanation) -> None:
    steps = sum(step.contribution for step in why.path)
    assert why.base + steps + why.opening == pytest.approx(why.dense, abs=1e-9)
    assert why.base + steps + why.opening + why.lexical == pytest.approx(why.score, abs=1e-9)
    assert sum(step.gain for step in why.path) == pytest.approx(why.path[-1].log_p - why.path[0].log_p, abs=1e-6)


@pytest.fixture(scope="module")
def trees() -> dict[int, VectorIndex]:
    """The trees of both indexes, by the number of documents."""
    return {n: Corpus(documents(n)[0]).vectors for n in (40, 1200)}


def base_by_hand(vectors: VectorIndex, query: str, why: Explanation) -> float:
    """(|x|² + |l|²)/(2|x||l|) + a/(|x||l|)·[log p(x|root) + ½·D·log 2πa], from the tree alone."""
    x = vectors.project(encode([query]))[0].astype(float)
    if vectors.whitener is None:  # as long as the documents, which this encoder makes of length 1
        x /= np.linalg.norm(x)
    leaf = vectors.tree.node(why.path[-1].concept.id).mean
    a, product = vectors.tree.acuity, float(np.linalg.norm(x) * np.linalg.norm(leaf))
    constant = 0.5 * len(x) * math.log(2 * math.pi * a)
    return float(x @ x + leaf @ leaf) / (2 * product) + a / product * (why.path[0].log_p + constant)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("hybrid", [True, False, 0.7])
def test_contributions_add_up_to_the_score(
    whitened: Index, small: Index, trees: dict[int, VectorIndex], query: str, hybrid: bool | float
) -> None:
    for index in (whitened, small):
        for id in (*[hit.id for hit in index.search(query, k=3, hybrid=hybrid)], "baking-0", "sky-17", "garden-39"):
            why = index.explain(query, id, hybrid=hybrid)
            adds_up(why)
            assert why.base == pytest.approx(base_by_hand(trees[why.of], query, why), abs=1e-6)


def test_on_the_sphere_the_root_gives_every_document_the_same(whitened: Index) -> None:
    shares = [whitened.explain("bread oven", id).base for id in ("baking-0", "sky-17", "music-3", "garden-1199")]
    assert max(shares) - min(shares) < 1e-5


VALUES = st.floats(-100, 100, allow_nan=False, width=32)


@settings(max_examples=40)
@given(
    arrays(np.float32, st.tuples(st.integers(1, 12), st.just(4)), elements=VALUES),
    arrays(np.float32, 4, elements=VALUES),
)
def test_it_adds_up_for_vectors_of_any_length(E: np.ndarray, q: np.ndarray) -> None:
    with Index(lambda texts: np.zeros((len(texts), 4))) as index:
        index.add([f"text {at}" for at in range(len(E))], [str(at) for at in range(len(E))], vectors=E)
        hits = index.search(vector=q, k=len(E), explain=True)
        ranks = []
        for hit in hits:
            why = index.explain(None, hit.id, vector=q)
            adds_up(why)
            assert why.score == hit.score
            ranks.append(why.rank)
        assert ranks == list(range(1, len(E) + 1))


# -- ranks, rivals, margins --------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES)
def test_the_rank_is_the_place_in_an_exhaustive_search(whitened: Index, query: str) -> None:
    hits = whitened.search(query, k=1200, recall=1.0)
    everything, tenth = [hit.id for hit in hits], hits[9].score
    for at in (0, 1, 9, 10, 500, 1199):
        why = whitened.explain(query, everything[at])
        assert (why.rank, why.of) == (at + 1, 1200)
        assert why.rival is not None
        assert why.rival.id == everything[0 if at else 1]
        assert why.rival.rank == (1 if at else 2)
        assert why.missing == pytest.approx(max(0.0, tenth - why.score))


def test_equal_scores_rank_by_id() -> None:
    with Index(encode) as index:
        index.add(["moon comet"] * 5 + ["bread"], list("edcbaz"))
        assert [index.explain("moon", id).rank for id in "abcdez"] == [1, 2, 3, 4, 5, 6]
        why = index.explain("moon", "a")
        assert why.rival is not None
        assert (why.rival.id, why.decided_at, why.gap) == ("b", None, 0.0)
        assert "same leaf" in str(why)


def test_it_says_where_the_branch_lost(whitened: Index) -> None:
    why = whitened.explain("bread oven yeast", "sky-17")
    assert why.decided_at is not None
    assert why.rival is not None
    here, parted = why.path[why.decided_at], why.rival.concept
    assert here.concept.parent == parted.parent
    assert here.concept.id != parted.id
    best = whitened.search("bread oven yeast", k=1)[0]
    assert parted.id in [concept.id for concept in best.path]
    assert why.gap is not None
    assert why.gap == pytest.approx(why.score - best.score)
    assert why.gap < 0
    tenth = whitened.search("bread oven yeast", k=10, recall=1.0)[-1]
    assert why.missing == pytest.approx(tenth.score - why.score)
    assert whitened.explain("bread oven yeast", "sky-17", k=1200).missing == 0.0


def test_margins_are_over_the_best_sibling(whitened: Index, trees: dict[int, VectorIndex]) -> None:
    vectors = trees[1200]
    x = vectors.project(encode(["bread oven yeast"]))[0]
    why = whitened.explain("bread oven yeast", "baking-5")
    whole = {step.node: step for step in vectors.explain(encode(["bread oven yeast"]), 5).path}
    assert why.path[0].margin is None
    assert why.path[0].rival is None
    assert len(why.path) < len(whole)  # levels are left out, and the gains of those that are shown tell of them too
    assert sum(step.gain for step in why.path) == pytest.approx(sum(step.gain for step in whole.values()))
    for step in why.path:
        assert step.log_p == whole[step.concept.id].log_p
        if step.rival is not None:
            assert step.rival.parent is not None
            assert step.rival.parent == step.concept.parent
            siblings = set(shown_children(vectors.tree.arrays, step.rival.parent).tolist()) - {step.concept.id}
            best = max(log_p(vectors.tree.arrays, node, x) for node in siblings)
            assert step.rival.id in siblings
            assert step.margin == pytest.approx(step.log_p - best)


def test_terms_that_the_deciding_concept_shares(whitened: Index) -> None:
    best = whitened.search("bread oven", k=1, explain=True)[0]
    why = best.explanation
    assert why is not None
    held = set(best.text.split())
    for term in why.document_terms:
        assert held & set(term.split())
    assert set(why.query_terms) <= {"bread", "oven", "bread oven"} | {
        t for t in why.query_terms if "bread" in t or "oven" in t
    }


# -- beside a search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES)
def test_explaining_changes_no_answer(whitened: Index, small: Index, query: str) -> None:
    for index in (whitened, small):
        plain, explained = index.search(query, k=5), index.search(query, k=5, explain=True)
        assert all(hit.explanation is None for hit in plain)
        for rank, (one, other) in enumerate(zip(plain, explained, strict=True), 1):
            why = other.explanation
            assert why is not None
            assert (one.id, one.score, one.path) == (other.id, other.score, other.path)
            assert (why.id, why.rank, why.score, why.dense, why.lexical) == (
                one.id, rank, one.score, one.dense, one.lexical
            )  # fmt: skip
            assert tuple(step.concept for step in why.path) == one.path
            assert (why.passage, why.start, why.missing) == (one.passage, one.start, 0.0)
            adds_up(why)


def test_explaining_within_a_filter_and_a_concept(whitened: Index) -> None:
    concept = whitened.search("bread oven", k=1)[0].path[1]
    for hit in whitened.search("bread oven", k=4, within=concept.id, explain=True):
        assert hit.explanation is not None
        assert hit.explanation.path[1].concept.id == concept.id


def test_long_documents_are_explained_by_their_best_passage() -> None:
    with Index(encode, max_tokens=8, overlap=0) as index:
        moon, bread = "moon comet planet oven yeast. " * 6, "bread oven yeast dough. " * 6
        index.add([moon + bread, "violin piano"], ["long", "short"])
        assert index.info().passages > 2
        why = index.explain("bread oven", "long")
        assert "bread" in why.passage
        assert why.passage == index.get("long").text[why.start : why.start + len(why.passage)]
        assert (why.rank, why.of) == (1, 2)
        adds_up(why)
        assert why.opening < 0.0
        assert f" − {-why.opening:.3f} for how the text begins = {why.dense:.3f} by meaning" in str(why)


def test_it_says_when_words_decided() -> None:
    places = {"horses run": (1.0, 0.1), "a zebra sleeps": (1.0, 0.4), "bread": (0.0, 1.0), "zebra": (1.0, 0.0)}
    with Index(lambda texts: np.array([places[text] for text in texts]), language="none") as index:
        index.add(["horses run", "a zebra sleeps", "bread"], ["horse", "zebra", "bread"])
        first = index.explain("zebra", "zebra", hybrid=0.5)
        assert first.rival is not None
        assert (first.rank, first.rival.id, first.rival.lexical) == (1, "horse", 0.0)
        apart = index.explain("zebra", "horse", hybrid=0.0).dense - first.dense
        assert f", by words: by meaning alone it would be {apart:.3f} behind." in str(first)
        assert f", by words: by meaning alone it would be {apart:.3f} ahead." in str(
            index.explain("zebra", "horse", hybrid=0.5)
        )
        assert ", mostly by words." in str(index.explain("zebra", "bread", hybrid=5.0)), (
            "which is the case where meaning alone has the same order"
        )
        assert "by words:" not in str(index.explain("zebra", "horse", hybrid=False))


def test_one_document(small: Index) -> None:
    with Index(encode) as index:
        index.add("moon", "m")
        why = index.explain("bread", "m")
        assert (why.rank, why.of, why.rival, why.decided_at, why.gap) == (1, 1, None, None, None)
        adds_up(why)
        assert str(why)


def test_what_cannot_be_explained(small: Index) -> None:
    with pytest.raises(UnknownIdError, match="nowhere"):
        small.explain("moon", "nowhere")
    with pytest.raises(ParameterError, match="k"):
        small.explain("moon", "sky-2", k=0)


def test_a_text_without_direction() -> None:
    """Its vector is zero: every cosine is 0, and so is every share."""
    with Index(encode) as index:
        index.add(["!!!", "moon", "bread"], ["nothing", "m", "b"])
        why = index.explain("moon", "nothing")
        assert [step.contribution for step in why.path] == [0.0] * len(why.path)
        adds_up(why)


# -- as text, JSON and HTML --------------------------------------------------------------------------


def test_the_text_is_a_paragraph_and_a_table(whitened: Index) -> None:
    why = whitened.explain("bread oven", "sky-17")
    paragraph, table, total = str(why).split("\n\n")
    assert paragraph.startswith(f"“sky-17” is number {why.rank:,} of 1,200 for “bread oven”")
    assert "behind" in paragraph
    assert len(table.splitlines()) == 1 + len(why.path)
    assert table.splitlines()[0].split() == ["concept", "size", "log", "p", "gain", "adds", "margin", "best", "sibling"]
    assert total.endswith(f"= {why.score:.3f}")


def test_a_dictionary_for_json(whitened: Index) -> None:
    why = whitened.explain("bread oven", "sky-17")
    plain = json.loads(json.dumps(why.to_dict(), allow_nan=False))
    assert plain["id"] == "sky-17"
    assert [step["id"] for step in plain["path"]] == [step.concept.id for step in why.path]
    assert plain["rival"]["concept"]["label"]
    assert plain["gap"] == why.gap
    assert plain["path"][1]["rival"]["id"] == why.path[1].rival.id  # type: ignore[union-attr]


def test_markup_is_escaped() -> None:
    bad = "<script>alert('x')</script>"
    with Index(encode) as index:
        index.add([f"moon {bad}", f"moon comet {bad}", f"bread {bad}", f"bread oven {bad}"], [bad, "b", "c", "d"])
        for query in ("moon", bad):
            page = index.explain(query, bad).to_html()
            assert "<script" not in page
            assert "&lt;script&gt;" in page
            assert page.count("<table") == page.count("</table>") == 1


def test_terminal_commands_are_taken_out() -> None:
    with Index(encode) as index:
        index.add(["moon \x1b[2J", "bread \x07"], ["\x1b[31mred", "b"])
        why = index.explain("moon", "\x1b[31mred")
        for shown in (str(why), why.to_html()):
            assert "\x1b" not in shown
            assert "\x07" not in shown
