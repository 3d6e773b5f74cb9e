"""From above: which concepts a query fits, topics, and whether a query is at home at all."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bag import encode
from explain.corpus import THEMES, Corpus, document, documents
from gossamer import Index
from gossamer.errors import ParameterError
from gossamer.explain.basic_level import basic_level, weights
from gossamer.explain.concepts import Concepts
from gossamer.explain.matching import matching
from gossamer.explain.novelty import Baseline, verdict
from gossamer.tree.browsing import shown_children, shown_path
from kernel_wrappers import log_p


@pytest.fixture(scope="module")
def grown() -> Iterator[Index]:
    with Index(encode) as index:
        texts, themes = documents(1200)
        index.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
        yield index


@pytest.fixture
def small() -> Iterator[Index]:
    with Index(encode) as index:
        texts, themes = documents(50)
        index.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
        yield index


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """The tree of `grown`."""
    return Corpus(documents(1200)[0])


def nearest_by_hand(texts: list[str]) -> np.ndarray:
    """The cosine of each text to the nearest other one, ascending."""
    E = encode(texts).astype(float)
    cosines = E @ E.T
    np.fill_diagonal(cosines, -1)
    return np.sort(cosines.max(axis=1))


# -- concepts for a query ----------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
def test_a_query_finds_the_concepts_of_its_theme(grown: Index, theme: str) -> None:
    found = grown.find_concepts(" ".join(THEMES[theme].split()[:4]), k=5)
    assert 1 <= len(found) <= 5
    assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)
    members = Counter(id.split("-")[0] for id in grown.ids(within=found[0].concept.id))
    assert members.most_common(1)[0][0] == theme
    for match in found:
        assert match.path[0].depth == 0
        assert match.path[-1].id == match.concept.id
        assert tuple(step.id for step in match.path) == match.concept.path
        assert sum(step.basic for step in match.path) == (1 if len(match.path) > 1 else 0)


def test_matches_are_the_peaks_of_their_paths(grown: Index, corpus: Corpus) -> None:
    vectors = corpus.vectors
    t, x = vectors.tree.arrays, vectors.project(encode(["bread oven"]))[0]

    def fit(node: int) -> float:
        return float((t.size[node] / 1200) ** (1 / 3) * (log_p(t, node, x) - log_p(t, vectors.tree.root, x)))

    found = matching(t, x, 1000)
    for node, score in found:
        path, children = shown_path(t, node), shown_children(t, node).tolist()
        assert score == pytest.approx(fit(node))
        assert score > 0
        assert fit(path[-2]) < fit(node)
        assert all(fit(child) <= fit(node) for child in children if t.n_children[child])
    assert len({node for node, _ in found}) == len(found)
    shown = grown.find_concepts("bread oven", k=1000)
    assert [(match.concept.id, match.score) for match in shown] == found


def test_where_nothing_fits_the_root_is_left() -> None:
    with Index(encode) as index:
        index.add(["moon", "bread"])
        (match,) = index.find_concepts("violin")
        assert (match.concept.depth, match.score) == (0, 0.0)
        assert not match.path[0].basic


def test_few_documents_and_none() -> None:
    with Index(encode) as index:
        assert index.find_concepts("moon") == []
        index.add("moon", "m")
        (match,) = index.find_concepts("moon")
        assert (match.concept.size, match.score) == (1, 0.0)
        with pytest.raises(ParameterError, match="k"):
            index.find_concepts("moon", k=0)


def test_the_basic_level_is_neither_root_nor_leaf(grown: Index, corpus: Corpus) -> None:
    t, tree = corpus.vectors.tree.arrays, corpus.vectors.tree
    for hit in grown.search("bread oven", k=20):
        (basic,) = (step for step in hit.path if step.basic)
        assert basic.children
        assert basic.parent is not None
        at = basic_level(weights(t, [step.id for step in hit.path], hit.path[0].id))
        assert at is not None
        assert hit.path[at].id == basic.id
        assert 4 <= basic.size <= 600
    assert basic_level(weights(t, [tree.root, tree.leaf(0)], tree.root)) is None


def test_utility_and_spread(corpus: Corpus) -> None:
    tree = corpus.vectors.tree
    concepts = [concept for concept in corpus.all_of(Concepts()) if concept.depth <= 3]
    assert concepts[0].utility == 0.0
    for concept in concepts:
        members = np.array([tree.node(tree.leaf(d)).mean for d in tree.documents_below(concept.id)])
        away = np.square(members - members.mean(axis=0)).sum(axis=1).mean()
        assert concept.spread == pytest.approx(np.sqrt(away), abs=1e-4)
    # The utilities of a partition add up to what it tells: H(p) − Σ P(c|p)·H(c), which is never below 0.
    root = concepts[0]
    shown = list(root.children)
    told = tree.arrays.h[root.id] - (tree.arrays.size[shown] * tree.arrays.h[shown]).sum() / root.size
    assert sum(c.utility for c in concepts if c.parent == root.id) == pytest.approx(told)


# -- topics ------------------------------------------------------------------------------------------


def test_topics_cover_every_document_once(grown: Index) -> None:
    topics = grown.topics(8)
    assert len(topics.concepts) == 8
    assert sorted(topics.assignments) == sorted(grown.ids())
    assert [concept.size for concept in topics.concepts] == sorted((c.size for c in topics.concepts), reverse=True)
    assert Counter(topics.assignments.values()) == {concept.id: concept.size for concept in topics.concepts}
    for concept in topics.concepts:
        assert {id for id, group in topics.assignments.items() if group == concept.id} == set(
            grown.ids(within=concept.id)
        )


def test_topics_find_the_themes(grown: Index) -> None:
    groups: dict[int, Counter[str]] = {}
    for id, group in grown.topics(12).assignments.items():
        groups.setdefault(group, Counter())[id.split("-")[0]] += 1
    assert sum(max(found.values()) for found in groups.values()) > 0.8 * len(grown)


def test_levels_are_nested(grown: Index) -> None:
    coarse, middle, fine = grown.topics(levels=[4, 12, 40])
    assert [len(topics.concepts) for topics in (coarse, middle, fine)] == [4, 12, 40]
    assert coarse.utility < middle.utility < fine.utility
    for outer, inner in ((coarse, middle), (middle, fine)):
        pairs = {(group, outer.assignments[id]) for id, group in inner.assignments.items()}
        assert len(pairs) == len(inner.concepts)


def test_every_number_of_groups() -> None:
    """Also where a concept has to be divided in part."""
    with Index(encode) as index:
        index.add(documents(150)[0])
        different = len(index.topics(1000).concepts)
        assert different >= 120
        partly = 0
        for n in (*range(1, 20), *range(different - 8, different + 2)):
            topics = index.topics(n)
            assert len(topics.concepts) == min(n, different)
            assert Counter(topics.assignments.values()) == {concept.id: concept.size for concept in topics.concepts}
            for concept in topics.concepts:
                whole = index.concept(concept.id)
                assert set(concept.children) <= set(whole.children)
                partly += concept.size < whole.size
                if concept.size == whole.size:
                    assert concept == whole
        assert partly


def test_a_long_document_goes_where_most_of_its_passages_are() -> None:
    with Index(encode, max_tokens=8, overlap=0) as index:
        index.add(documents(60)[0])
        index.add("bread oven yeast dough. " * 8 + "moon comet planet orbit. " * 2, "long")
        topics = index.topics(8)
        group = topics.assignments["long"]
        below = [hit for hit in index.search("bread", k=61, within=group) if hit.id == "long"]
        assert below
        assert len(topics.assignments) == 61


def test_topics_of_few_documents_and_none() -> None:
    with Index(encode) as index:
        assert index.topics(3).concepts == ()
        assert [topics.assignments for topics in index.topics(levels=[2, 3])] == [{}, {}]
        index.add("moon", "m")
        assert index.topics(3).assignments == {"m": index.topics(3).concepts[0].id}


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {}, {"n": 3, "levels": [3]}, {"levels": []}, {"levels": [5, 3]}, {"n": 2.5}]
)
def test_topics_that_cannot_be(small: Index, wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        small.topics(**wrong)  # type: ignore[call-overload]


# -- novelty -----------------------------------------------------------------------------------------


@given(st.lists(st.floats(-1, 1), max_size=50), st.floats(-1, 1))
def test_percentile_and_confidence(values: list[float], score: float) -> None:
    baseline = Baseline(np.sort(np.array(values)), len(values))
    assert baseline.confidence(score) == (1 + sum(value <= score for value in values)) / (1 + len(values))
    expected = 100 * sum(value > score for value in values) / len(values) if values else 0.0
    assert baseline.percentile(score) == pytest.approx(expected)


QUERIES = ["bread oven today", "moon bread", "violin piano concert melody", "tyre orchard eclipse", "people"]


def test_novelty_by_hand(small: Index) -> None:
    texts = [small.get(id).text for id in small.ids()]
    usual = nearest_by_hand(texts)
    for query in QUERIES:
        novelty = small.novelty(query)
        assert novelty.score == pytest.approx(float((encode(texts) @ encode([query])[0]).max()), abs=1e-6)
        assert novelty.percentile == 100 * np.mean(usual > novelty.score + 1e-6)
        assert novelty.confidence == (1 + np.sum(usual <= novelty.score + 1e-6)) / 51


def test_what_belongs_here_and_what_does_not(grown: Index) -> None:
    rng = random.Random(3)
    own = [grown.novelty(document(theme, rng)) for theme in THEMES for _ in range(10)]
    # Theme words together that never stood together.
    mixed = [" ".join(rng.choice(words.split()) for words in THEMES.values()) for _ in range(50)]
    strange = [grown.novelty(text) for text in mixed]
    assert np.median([novelty.percentile for novelty in own]) < 85
    assert np.mean([novelty.confidence < 0.05 for novelty in own]) < 0.2
    better = np.mean([[there.score < here.score for here in own] for there in strange])
    assert better > 0.9
    assert all(0 <= novelty.percentile <= 100 and 0 < novelty.confidence <= 1 for novelty in own + strange)


def test_a_document_of_the_index_is_familiar(grown: Index) -> None:
    novelty = grown.novelty(grown.get("sky-2").text)
    assert novelty.score == pytest.approx(1.0, abs=1e-6)
    assert novelty.percentile < 2.0  # others have a twin, too
    assert novelty.confidence > 0.98
    assert novelty.nearest is not None
    assert novelty.nearest.label in novelty.verdict
    assert "familiar" in novelty.verdict


def test_a_verdict_quotes_a_label_once() -> None:
    for label in ("“cats and dogs” and 7 like it", "“cats and dogs”"):
        assert verdict(50.0, 0.5, 100, label).endswith(f"; the nearest concept is {label}")
    assert verdict(50.0, 0.5, 100, "cats, dogs").endswith("; the nearest concept is “cats, dogs”")


def test_no_answers_to_a_query_that_is_not_at_home(grown: Index) -> None:
    strange = "zebra zeppelin xylophone"
    novelty = grown.novelty(strange)
    assert grown.search(strange, min_confidence=min(1.0, novelty.confidence + 0.001)) == []
    assert len(grown.search(strange, min_confidence=novelty.confidence)) == 10
    own = grown.get("sky-2").text
    assert grown.search(own, min_confidence=0.9) == grown.search(own)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, "high", True, float("nan")])
def test_confidence_is_a_share(small: Index, wrong: object) -> None:
    with pytest.raises(ParameterError, match="min_confidence"):
        small.search("moon", min_confidence=wrong)  # type: ignore[call-overload]


def test_an_empty_index_knows_nothing() -> None:
    with Index(encode) as index:
        novelty = index.novelty("moon")
        assert (novelty.percentile, novelty.confidence, novelty.nearest) == (100.0, 0.0, None)
        assert "empty" in novelty.verdict


def test_a_few_documents_are_too_few_to_say() -> None:
    with Index(encode) as index:
        index.add("moon", "m")
        for text in ("moon", "bread"):
            novelty = index.novelty(text)
            assert (novelty.percentile, novelty.confidence) == (0.0, 1.0)
            assert "nothing can be said" in novelty.verdict
        index.add(["comet", "bread", "violin"])
        assert index.novelty("tulip").confidence >= 1 / 5


def test_the_baseline_is_made_again_when_the_index_has_grown(small: Index) -> None:
    before = small.novelty("moon bread")
    small.add("moon bread oven", "one more")
    assert small.novelty("violin tyre").confidence in np.arange(1, 52) / 51  # still of 50 documents
    small.add(documents(30, seed=5)[0])
    after = small.novelty("violin tyre")
    assert before.confidence in np.arange(1, 52) / 51
    assert after.confidence in np.arange(1, 83) / 82


def test_passages_of_one_document_do_not_make_each_other_usual() -> None:
    """Each passage has a twin in its document; a query that is nearly one of them is no less usual for it."""
    with Index(encode, max_tokens=4, overlap=0) as index:
        index.add(["bread oven yeast dough. " * 10, "moon comet planet orbit. " * 10, "violin piano. " * 10])
        novelty = index.novelty("bread oven yeast dough today")
        assert 0.7 < novelty.score < 0.999
        assert (novelty.percentile, novelty.confidence) == (0.0, 1.0)


def test_a_search_finds_nearly_what_comparing_all_finds(grown: Index) -> None:
    exact = nearest_by_hand([grown.get(id).text for id in grown.ids()])
    rng = random.Random(7)
    texts = [document(rng.choice(list(THEMES)), rng) for _ in range(30)]
    found = [grown.novelty(text) for text in texts]
    assert {novelty.percentile > 50 for novelty in found} == {True, False}
    for novelty in found:
        assert novelty.percentile == pytest.approx(100 * np.mean(exact > novelty.score), abs=15)


def test_a_text_far_from_everything_has_a_group() -> None:
    rng = np.random.default_rng(0)
    vectors = {f"text {at}": row for at, row in enumerate(rng.normal(size=(400, 8)).astype(np.float32))}
    vectors["far"] = np.full(8, -300.0, np.float32)
    with Index(encoder=lambda texts: np.array([vectors[text] for text in texts])) as index:
        index.add([text for text in vectors if text != "far"])
        for n in (2, 8, 50):
            topics = index.topics(n)
            assert set(topics.assign(["far"])) <= {concept.id for concept in topics.concepts}
