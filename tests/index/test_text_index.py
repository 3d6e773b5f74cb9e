"""Index: what it promises to the people who use it."""

from __future__ import annotations

import json
import logging
import random
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from bag import DIM, encode, sentence
from gossamer import Index, VectorIndex
from gossamer.encoders import CallableEncoder
from gossamer.errors import (
    ClosedError,
    CorruptError,
    DimensionError,
    DtypeError,
    DuplicateIdError,
    EmptyTextError,
    EncoderMismatchError,
    FilterError,
    GossamerError,
    IndexExistsError,
    InputError,
    NotAnIndexError,
    OutOfMemoryError,
    ParameterError,
    ReadOnlyError,
    StateError,
    UnknownEncoderError,
    UnknownIdError,
    UntrustedEncoderError,
)
from gossamer.index.replay import StagedStep
from gossamer.results import Hit
from gossamer.store import Policy
from oracles.bm25 import auto_weight, bm25

TEXTS = ["the sun and the moon", "a river of milk", "the wolf in the tree", "gold and iron", "a queen of silk"]
IDS = ["sky", "river", "wolf", "metal", "queen"]
YEARS: list[dict[str, Any]] = [{"year": 2018 + at, "tags": ["even" if at % 2 == 0 else "odd"]} for at in range(5)]


@pytest.fixture(params=["memory", "disk"])
def ix(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    index = Index(encode) if request.param == "memory" else Index.create(tmp_path / "a.gsm", encode)
    with index:
        yield index


@pytest.fixture
def small(ix: Index) -> Index:
    ix.add(TEXTS, IDS, YEARS)
    return ix


def ids(hits: list[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def large(index: Index, n: int = 1300, seed: int = 0) -> list[str]:
    """Enough documents for the whitener to be fitted."""
    rng = random.Random(seed)
    texts = [sentence(rng, rng.randint(3, 9)) for _ in range(n)]
    index.add(texts, [f"d{at:04}" for at in range(n)], [{"at": at, "half": at % 2} for at in range(n)])
    return texts


# -- adding and finding -----------------------------------------------------------------------------


def test_what_is_added_is_found(small: Index) -> None:
    hits = small.search("milk in the river", k=3)
    assert len(hits) == 3
    assert hits[0].id == "river"
    assert (hits[0].text, hits[0].metadata, hits[0].passage) == ("a river of milk", YEARS[1], "a river of milk")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(small) == 5
    assert "sky" in small
    assert "sea" not in small
    assert 7 not in small


def test_k_is_at_most(small: Index) -> None:
    assert len(small.search("moon", k=50)) == 5
    assert len(small.search("moon", k=1)) == 1


def test_an_empty_index_answers_nothing(ix: Index) -> None:
    assert ix.search("anything") == []
    assert ix.concepts() == []
    assert ix.ids() == []
    assert ix.ids(where={"a": 1}) == []
    assert ix.add([]) == []
    assert ix.delete(["a"]) == 0
    assert len(ix) == 0
    ix.refit()
    ix.check()
    with pytest.raises(UnknownIdError):
        ix.explain("anything", "a")


def test_everything_can_be_deleted_and_added_again(small: Index) -> None:
    assert small.delete(IDS) == 5
    assert small.search("moon") == []
    assert small.concepts() == []
    small.refit()
    small.add("moon", "m")
    assert ids(small.search("moon")) == ["m"]
    small.check()


def test_an_index_that_was_emptied_keeps_its_whitener(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", encode) as index:
        large(index)
        index.delete(index.ids())
        index.add("moon river", "m")
        assert index.info().whitened
        before = index.search("river")
    with Index.open(tmp_path / "a.gsm", encode) as index:
        assert index.search("river") == before


def test_a_single_text_may_stand_alone(ix: Index) -> None:
    assert ix.add("the moon", "m", {"a": 1}) == ["m"]
    assert ix.get("m").metadata == {"a": 1}
    assert ix.add("the sun") == ["2"]


def test_ids_are_numbered_past_what_is_taken(ix: Index) -> None:
    assert ix.add(["a b", "c d"]) == ["1", "2"]
    ix.add(["e f"], ids=["4"])
    assert ix.add(["g h", "i j"]) == ["5", "6"]
    ix.add(["k l"], ids=["8"])
    assert ix.add(["m n", "o p"]) == ["9", "10"]
    ix.delete(["10"])
    assert ix.add(["q r"]) == ["11"]  # one that was used is not made up again


def test_the_same_id_again_replaces(small: Index) -> None:
    small.add(["a fish in the sea"], ["sky"], [{"new": True}])
    assert len(small) == 5
    assert small.get("sky").text == "a fish in the sea"
    assert small.get("sky").metadata == {"new": True}
    assert ids(small.search("fish sea", k=1)) == ["sky"]
    found = small.search("sun moon")
    assert sum(hit.id == "sky" for hit in found) == 1
    assert small.explain("sun moon", "sky").words == ()
    small.check()


def test_an_unchanged_text_is_not_encoded_again(tmp_path: Path) -> None:
    seen: list[str] = []

    def watched(texts: list[str]) -> Any:
        seen.extend(texts)
        return encode(texts)

    with Index.create(tmp_path / "a.gsm", watched) as index:
        index.add(TEXTS, IDS, YEARS)
        before = index.info().operation
        index.add(TEXTS, IDS, YEARS)
        assert index.info().operation == before, "nothing changed, so nothing was written"
        index.add([*TEXTS[:4], "new text"], IDS)
        assert seen == [*TEXTS, "new text"]
        assert index.get("sky").metadata == {}, "metadata is replaced"
        index.check()


def test_deleting_says_how_many_went(small: Index) -> None:
    assert small.delete(["sky", "nowhere", "wolf", "sky"]) == 2
    assert small.delete("sky") == 0
    assert small.ids() == ["river", "metal", "queen"]
    assert "sky" not in ids(small.search("sun moon"))
    small.check()


def test_get(small: Index) -> None:
    assert [document.id for document in small.get(["wolf", "sky"])] == ["wolf", "sky"]
    with pytest.raises(UnknownIdError, match="'nowhere' is not in the index, which holds 5"):
        small.get("nowhere")
    with pytest.raises(UnknownIdError, match="nowhere"):
        small.get(["sky", "nowhere"])
    assert small.get([]) == []


def test_prepared_vectors_are_not_encoded() -> None:
    def refuse(texts: list[str]) -> Any:
        raise AssertionError("nothing is to be encoded")

    with Index(refuse) as index:
        index.add(TEXTS, IDS, vectors=encode(TEXTS))
        assert ids(index.search(vector=encode(["wolf tree"])[0], k=1)) == ["wolf"]
        assert ids(index.search("gold", vector=encode(["wolf tree"])[0], hybrid=5.0, k=1)) == ["metal"]
        index.add(["the sun and the moon"], ["sky"], vectors=encode(["wolf tree"]))
        assert ids(index.search(vector=encode(["wolf tree"])[0], k=1)) == ["sky"], "the new vector counts"


def test_metadata_comes_back_as_json_has_it(ix: Index) -> None:
    given = {"when": date(2024, 5, 1), "list": (1, 2), "nested": {"a": None}, "n": np.int64(7), "text": "ü"}
    ix.add("moon", "m", given)
    assert ix.get("m").metadata == {
        "when": "2024-05-01", "list": [1, 2], "nested": {"a": None}, "n": 7, "text": "ü",
    }  # fmt: skip
    assert ids(ix.search("moon", where={"when": {"$gte": "2024-01-01"}, "n": 7})) == ["m"]


def test_strange_texts_and_ids(ix: Index) -> None:
    texts = ["naïve café", "月が綺麗ですね", "🦊 fox", "a\0b", "quote \" and ' and ; DROP", "  padded  ", "x" * 5000]
    ids_ = ["ü", "a/b", "🦊", "new\nline", '"', "it's", "long"]
    ix.add(texts, ids_)
    assert ix.ids() == ids_
    assert [document.text for document in ix.get(ids_)] == texts
    assert ids(ix.search("cafe", hybrid=100.0, k=1)) == ["ü"], "accents do not matter to the words"
    assert ix.delete(ids_[:4]) == 4
    ix.check()


def test_a_nul_in_a_text_cuts_nothing(ix: Index) -> None:
    ix.add(["the moon\0and a wolf", "gold"], ["a", "b"])
    (hit,) = ix.search("wolf", k=1, hybrid=5.0)
    assert (hit.text, hit.passage, hit.lexical > 0.0) == ("the moon\0and a wolf", "the moon\0and a wolf", True)
    assert hit.path[-1].exemplars[0].text == "the moon\0and a wolf"
    assert ids(ix.search("a\0wolf", k=1, hybrid=5.0)) == ["a"]
    ix.delete("a")
    assert ids(ix.search("wolf", hybrid=5.0)) == ["b"]
    ix.check()


# -- long texts -------------------------------------------------------------------------------------


def test_long_texts_are_found_by_their_passages(tmp_path: Path) -> None:
    long = "The sun and the moon. " * 30 + "A wolf ate the bread. " + "Gold and iron and salt. " * 30
    with Index.create(tmp_path / "a.gsm", encode, max_tokens=20) as index:
        index.add([long, "silk for the queen", "fish in the sea"], ["long", "silk", "fish"])
        assert index.info().passages > 10
        hits = index.search("wolf bread", k=3)
        assert sorted(ids(hits)) == ["fish", "long", "silk"], "each document once, and k documents"
        assert hits[0].id == "long"
        assert "wolf" in hits[0].passage
        assert long[hits[0].start :].startswith(hits[0].passage)
        assert len(hits[0].passage) < 200
        assert index.explain("wolf bread", "long").passage == hits[0].passage
        index.add("silk", "long")
        assert index.info().passages == 3, "all passages of the old text went"
        index.delete("long")
        assert index.info().passages == 2
        index.check()


@pytest.mark.parametrize("n", [60, 700])
def test_the_first_passage_of_a_long_text_counts_as_far_as_the_best_is_like_it(n: int) -> None:
    """score = best + (first − best) · c · min(c, ½) + words, by search, by explain, and under a filter."""
    rng, query = random.Random(0), "gold moon of the wolf"
    texts = [" ".join(sentence(rng, 8) + "." for _ in range(rng.choice([1, 1, 2, 3, 9]))) for _ in range(n)]
    with Index(encode, max_tokens=10, overlap=0) as index:
        index.add(texts, [f"d{at:04}" for at in range(n)], [{"half": at % 2} for at in range(n)])
        assert index.info().whitened == (n > 60)
        expected = {}
        names = [f"d{at:04}" for at in range(n)]
        for id, passages in zip(names, index.passages(names), strict=True):
            cosines = [cosine(index, query, passage.text) for passage in passages]
            best = max(cosines)
            alike = max(0.0, cosine(index, passages[cosines.index(best)].text, passages[0].text))
            expected[id] = best + (cosines[0] - best) * alike * min(alike, 0.5)
        for options in ({"hybrid": False}, {"hybrid": 0.3}, {}, {"where": {"half": 1}}):
            wanted = {id: dense for id, dense in expected.items() if "where" not in options or int(id[1:]) % 2}
            for hit in index.search(query, k=n, **options):
                assert hit.dense == pytest.approx(wanted.pop(hit.id), abs=1e-5)
            assert not wanted
            first = index.search(query, k=5, **options)
            assert [hit.score for hit in first] == [hit.score for hit in index.search(query, k=n, **options)][:5]
        opened = [index.explain(query, id) for id in names[:40]]
        for why in opened:
            assert why.dense == pytest.approx(expected[why.id], abs=1e-5)
            steps = sum(step.contribution for step in why.path)
            assert why.base + steps + why.opening + why.lexical == pytest.approx(why.score, abs=1e-9)
        assert min(why.opening for why in opened) < -0.01
        assert max(why.opening for why in opened) == 0.0


def test_k_documents_though_one_has_most_of_the_passages() -> None:
    with Index(encode, max_tokens=8, overlap=0) as index:
        rng = random.Random(0)
        index.add(" ".join(sentence(rng) + "." for _ in range(1200)), "long")
        index.add([sentence(rng) for _ in range(20)])
        assert index.info().whitened
        assert len(index.search("sun moon", k=21)) == 21
        assert len(index.search("sun moon", k=15, hybrid=False)) == 15


def test_no_splitting_on_demand() -> None:
    with Index(encode, max_tokens=None) as index:
        index.add("the sun. " * 1000)
        assert index.info().passages == 1


# -- filters and concepts ---------------------------------------------------------------------------


def test_where(small: Index) -> None:
    assert sorted(ids(small.search("moon", where={"year": {"$gte": 2020}}))) == ["metal", "queen", "wolf"]
    assert ids(small.search("moon", where={"tags": "odd", "year": {"$lt": 2020}})) == ["river"]
    assert small.search("moon", where={"year": 1900}) == []
    assert len(small.search("moon", where={})) == 5
    assert small.ids(where={"tags": "odd"}) == ["river", "metal"]


@pytest.mark.parametrize("hybrid", [True, False, 2.0])
def test_filtered_search_is_exact(hybrid: Any) -> None:
    """k matching documents if they exist, and the same ones in the same order as filtering everything."""
    with Index(encode) as index:
        large(index)
        everything = index.search("sun moon river", k=1300, hybrid=hybrid, recall=1.0)
        assert len(everything) == 1300
        filters: list[tuple[dict[str, Any], range | list[int]]] = [
            ({"half": 1}, range(1, 1300, 2)),
            ({"at": {"$lt": 7}}, range(7)),
            ({"at": {"$in": [3, 700, 1299]}}, [3, 700, 1299]),
        ]
        for where, matching in filters:
            expected = [(hit.id, hit.score) for hit in everything if hit.metadata["at"] in matching][:10]
            found = [(hit.id, hit.score) for hit in index.search("sun moon river", k=10, hybrid=hybrid, where=where)]
            assert found == expected


@pytest.mark.parametrize("n", [60, 1300])
def test_within_a_concept(n: int) -> None:
    with Index(encode) as index:
        large(index, n)
        everything = index.search("sun moon river", k=n)
        for concept in index.concepts(depth=2)[1:]:
            below = set(index.ids(within=concept.id))
            assert len(below) == concept.size
            expected = [(hit.id, hit.score) for hit in everything if hit.id in below]
            found = index.search("sun moon river", k=10, within=concept.id)
            assert [(hit.id, hit.score) for hit in found] == expected[:10]
            assert all(concept.id in [step.id for step in hit.path] for hit in found)
            both = index.search("sun moon river", k=10, within=concept.id, where={"half": 0})
            even = [pair for pair in expected if int(pair[0][1:]) % 2 == 0]
            assert [(hit.id, hit.score) for hit in both] == even[:10]


def test_concepts(small: Index) -> None:
    concepts = small.concepts(depth=20)
    root = concepts[0]
    assert (root.depth, root.size, root.parent) == (0, 5, None)
    by_id = {concept.id: concept for concept in concepts}
    for concept in concepts:
        assert concept.label in TEXTS or concept.children
        if concept.children:
            assert concept.size == sum(by_id[child].size for child in concept.children)
            assert all(by_id[child].depth == concept.depth + 1 for child in concept.children)
            assert all(by_id[child].parent == concept.id for child in concept.children)
        assert small.concept(concept.id) == concept
    assert [concept.depth for concept in small.concepts(depth=0)] == [0]
    hit = small.search("wolf", k=1)[0]
    assert hit.path[0] == root
    assert hit.path[-1].label == hit.text
    assert [step.parent for step in hit.path[1:]] == [step.id for step in hit.path[:-1]]


def test_long_labels_are_cut(ix: Index) -> None:
    ix.add("the moon is " * 40)
    leaf = ix.concepts()[0]
    assert leaf.label.endswith("…")
    assert len(leaf.label) <= 60
    assert len(leaf.exemplars[0].text) <= 200


# -- scores -----------------------------------------------------------------------------------------


def cosine(index: Index, query: str, text: str) -> float:
    """By hand, from the whitener alone."""
    vectors: VectorIndex | None = index.state.vectors
    assert vectors is not None
    pair = encode([query, text])
    if vectors.whitener is not None:
        pair = vectors.whitener.transform(pair)
    a, b = pair.astype(float)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@pytest.mark.parametrize("n", [200, 1300])
@pytest.mark.parametrize("weight", [0.0, 0.15, 3.0])
def test_search_equals_fusing_everything_by_hand(n: int, weight: float) -> None:
    with Index(encode) as index:
        texts = large(index, n)
        query = "gold moon of the wolf"
        scores = bm25({at: (text, "") for at, text in enumerate(texts)}, query.split())
        best = max(scores.values())
        by_hand = {
            f"d{at:04}": cosine(index, query, text) + weight * scores.get(at, 0.0) / best
            for at, text in enumerate(texts)
        }
        expected = sorted(by_hand, key=lambda id: (-round(by_hand[id], 6), id))
        found = index.search(query, k=25, hybrid=weight)
        assert [hit.score for hit in found] == pytest.approx([by_hand[id] for id in expected[:25]], abs=1e-5)
        for hit in found:
            assert hit.score == pytest.approx(by_hand[hit.id], abs=1e-5)
            assert hit.score == hit.dense + hit.lexical


def test_equal_scores_stand_in_order_of_ids(small: Index) -> None:
    small.add(["fish bread"] * 4, ["d", "b", "c", "a"])
    assert ids(small.search("fish bread", k=4)) == ["a", "b", "c", "d"]
    assert ids(small.search("fish bread", k=2)) == ["a", "b"]


def test_an_explanation_adds_up_and_agrees_with_search(small: Index) -> None:
    for hybrid in (True, False, 0.7):
        for hit in small.search("the sun in the tree", k=5, hybrid=hybrid):
            why = small.explain("the sun in the tree", hit.id, hybrid=hybrid)
            assert why.score == hit.score == why.dense + why.lexical
            assert (why.dense, why.lexical) == (hit.dense, hit.lexical)
            assert tuple(step.concept for step in why.path) == hit.path
            gained = why.path[-1].log_p - why.path[0].log_p
            assert sum(step.gain for step in why.path) == pytest.approx(gained, abs=1e-6)
    why = small.explain("the sun in the trees", "wolf")
    assert set(why.words) == {"the", "in", "trees"}, "words count in whatever form"
    found = bm25({at: (text, "") for at, text in enumerate(TEXTS)}, ["the", "sun", "in", "the", "trees"])
    assert why.weight == pytest.approx(auto_weight(found))
    assert small.explain("the sun in the trees", "wolf", hybrid=0.3).weight == 0.3
    assert small.explain("gold", "sky").lexical == 0.0


def test_a_filter_does_not_change_scores(small: Index) -> None:
    everything = {hit.id: hit.score for hit in small.search("sun wolf gold")}
    for hit in small.search("sun wolf gold", where={"year": {"$gt": 2019}}):
        assert hit.score == everything[hit.id]


@pytest.mark.parametrize(
    "query",
    [
        'moon"', "moon AND", "NEAR(moon sun)", "moon*", "text:moon", "^moon", "(moon", "moon - sun", "{moon} + sun",
        "moon;--", "mo\0on moon", "🌙 moon", "MOON", "m\u0301oon moon", "_moon_",
    ],
)  # fmt: skip
def test_any_text_is_a_query(small: Index, query: str) -> None:
    found = small.search(query, k=5, hybrid=10.0)
    assert found[0].id == "sky", "its word was found among whatever else stood there"


@pytest.mark.parametrize("query", ["🦊🦊", "!!! ...", "zzzz", "—", "AND OR NOT"])
def test_without_known_words_the_ranking_is_dense(small: Index, query: str) -> None:
    found = small.search(query, k=5, hybrid=10.0)
    assert len(found) == 5
    assert all(hit.lexical == 0.0 for hit in found) or "and" in query.lower()


def test_a_query_of_very_many_words(small: Index) -> None:
    assert len(small.search(" ".join(f"word{at}" for at in range(20_000)) + " moon")) == 5


# -- an index from a stranger ------------------------------------------------------------------------


def rewrite(path: Path, **changed: Any) -> None:
    """Change the settings of an index as someone who knows the format would."""
    with closing(sqlite3.connect(path / "documents.sqlite")) as db:
        settings = json.loads(db.execute("SELECT value FROM settings").fetchone()[0])
        value = json.dumps(settings | changed)
        db.execute("UPDATE settings SET value = ?, crc = ?", (value, zlib.crc32(value.encode())))
        db.commit()


@pytest.mark.parametrize(
    "name", ["st:/tmp/evil", "hf:someone/model", "minilm?path=/tmp/evil", "lsa?x=1", "lsa?x=", "new:kind"]
)
def test_an_encoder_that_can_bring_code_is_not_loaded_by_the_word_of_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "a.gsm"
    Index.create(path, encode).close()
    rewrite(path, encoder=name)
    loaded: list[Any] = []

    def load(spec: Any) -> Any:
        loaded.append(spec)
        return CallableEncoder(encode)

    monkeypatch.setattr("gossamer.index.encoding.load_encoder", load)
    with pytest.raises(UntrustedEncoderError) as caught:
        Index.open(path)
    assert f"Index.open(path, encoder={name!r})" in str(caught.value)
    assert (caught.value.encoder, loaded) == (name, [])
    Index.open(path, name).close()
    assert loaded == [name], "to name it is to allow it"


WRONG_SETTINGS = [
    {"encoder": 7}, {"dim": "x"}, {"overlap": None}, {"max_tokens": [1]}, {"dim": -5}, {"dim": 0}, {"dim": 10**12},
    {"dim": True}, {"max_tokens": -1}, {"overlap": False}, {"fitted_on": 1.0}, {"forgotten": 10**30},
]  # fmt: skip


@pytest.mark.parametrize("changed", WRONG_SETTINGS, ids=str)
def test_settings_of_the_wrong_kind_are_damage(tmp_path: Path, changed: dict[str, Any]) -> None:
    Index.create(tmp_path / "a.gsm", encode).close()
    rewrite(tmp_path / "a.gsm", **changed)
    with pytest.raises(CorruptError, match="settings"):
        Index.open(tmp_path / "a.gsm", encode)


def test_settings_that_could_not_be_read_again_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="max_tokens must be a whole number from 0 to 9,007,199,254,740,991"):
        Index.create(tmp_path / "a.gsm", encode, max_tokens=2**60)
    with Index(lambda texts: np.ones((len(texts), 2**16 + 1))) as index:
        with pytest.raises(ParameterError, match="dim must be a whole number from 1 to 65,536, got 65537"):
            index.add(["a text"])
        assert len(index) == 0


@pytest.mark.parametrize(("params", "arrays"), [("{", b""), ("{}", b"\xff" * 20), ("[]", None), ("{}", None)])
def test_what_was_learnt_may_be_anything(tmp_path: Path, params: str, arrays: bytes | None) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, "lsa") as index:
        index.add(TEXTS)
    with closing(sqlite3.connect(path / "documents.sqlite")) as db:
        arrays = arrays or save({})
        crc = zlib.crc32(arrays, zlib.crc32(params.encode()))
        db.execute("UPDATE encoder SET params = ?, arrays = ?, crc = ?", (params, arrays, crc))
        db.commit()
    with pytest.raises(CorruptError, match="restore"):
        Index.open(path)


# -- encoders ---------------------------------------------------------------------------------------


def test_an_index_is_opened_with_its_encoder(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    Index.create(path, CallableEncoder(encode, name="bag-1")).close()
    with Index.open(path, CallableEncoder(encode, name="bag-1")) as index:
        index.add(TEXTS)
    with pytest.raises(UnknownEncoderError, match="pass it again"):
        Index.open(path)
    with pytest.raises(EncoderMismatchError, match="callable:bag-1"):
        Index.open(path, CallableEncoder(encode, name="bag-2"))
    with pytest.raises(EncoderMismatchError, match="callable:bag-1"):
        Index.open(path, "lsa")
    Index.open(path, CallableEncoder(encode, name="bag-1")).close()  # none of them kept the lock


def test_a_function_of_another_dimension_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        index.add(TEXTS)
    with pytest.raises(EncoderMismatchError, match=f"vectors of {DIM} dimensions.*gives 3"):
        Index.open(path, lambda texts: np.ones((len(texts), 3)))


def test_lsa_learns_from_the_corpus_and_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    texts = ["the moon shines at night", "stars shine at night", "bread and butter", "butter on fresh bread"]
    with Index.create(path, "lsa") as index:
        index.add(texts[0], "0")
        first = index.info().dim
        index.add(texts[1:], ["1", "2", "3"])
        assert index.info().dim != first, "four times the texts: it learnt again by itself"
        before = index.search("butter bread", k=4, hybrid=False)
        assert sorted(ids(before[:2])) == ["2", "3"]
        index.check()
    with Index.open(path) as index:
        assert index.search("butter bread", k=4, hybrid=False) == before
        index.add(["moonlight over bread"], ["4"])
        index.refit()
        assert ids(index.search("moonlight", k=1)) == ["4"]
        index.check()
        after = index.search("moonlight night")
        with Index.open(path, mode="r") as reader:
            assert reader.search("moonlight night") == after


def test_lsa_takes_no_prepared_vectors() -> None:
    with Index("lsa") as index, pytest.raises(ParameterError, match="learns from the corpus"):
        index.add("moon", vectors=[[1.0, 2.0]])


def test_a_reader_follows_an_encoder_that_learns_again(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", "lsa") as index:
        index.add(["the moon", "the sun"])
        with Index.open(tmp_path / "a.gsm", mode="r") as reader:
            index.add(["bread and butter", "salt and milk", "milk and bread"])
            assert reader.search("milk") == index.search("milk")
            assert reader.refresh() == 0


def test_a_reader_that_could_not_load_the_encoder_tries_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree is then that of the new vectors, so the old encoder must not be used with it."""
    with Index.create(tmp_path / "a.gsm", "lsa") as index:
        index.add(["the moon", "the sun"])
        with Index.open(tmp_path / "a.gsm", mode="r") as reader:
            index.add(["bread and butter", "salt and milk", "milk and bread"])
            with monkeypatch.context() as patch:
                patch.setattr("gossamer.index.state.reload_encoder", out_of_memory)
                with pytest.raises(MemoryError):
                    reader.search("milk")
            assert reader.search("milk") == index.search("milk")


def test_an_encoder_that_fails_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    def picky(texts: list[str]) -> Any:
        if any("bad" in text for text in texts):
            raise RuntimeError("no")
        return encode(texts)

    with Index.create(tmp_path / "a.gsm", picky) as index:
        index.add(TEXTS, IDS)
        before = index.search("moon")
        with pytest.raises(RuntimeError, match="no"):
            index.add(["fine", "bad"])
        assert (len(index), index.search("moon")) == (5, before)
        index.check()


def test_refit_grows_the_tree_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        texts = large(index, 1100)
        index.delete([f"d{at:04}" for at in range(0, 1100, 3)])
        index.refit()
        index.check()
        kept = [at for at in range(1100) if at % 3]
        with Index(encode) as fresh:
            fresh.add([texts[at] for at in kept], [f"d{at:04}" for at in kept])
            expected = [(hit.id, hit.score) for hit in fresh.search("moon wolf", k=50)]
        assert [(hit.id, hit.score) for hit in index.search("moon wolf", k=50)] == expected
        index.settle()
        before = index.search("moon wolf", k=50)
    with Index.open(path, encode) as index:
        assert index.search("moon wolf", k=50) == before


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    with Index(encode) as index:
        index.add(TEXTS, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (5, 5)


def nested(levels: int) -> dict[str, Any]:
    """Metadata of so many levels."""
    inner: list[Any] = []
    for _ in range(levels - 2):
        inner = [inner]
    return {"a": inner}


def test_the_largest_documents_are_taken(ix: Index) -> None:
    metadata = {"deep": nested(63), "k" * 1000: [2**63 - 1, -(2**63)], "long": "x" * 998_000, r"\u0000": r"\u0000"}
    ix.add("the moon", "x" * 1000, metadata)
    assert ix.get("x" * 1000).metadata == metadata
    assert ix.ids(where={"k" * 1000: 2**63 - 1, r"\u0000": r"\u0000"}) == ["x" * 1000]
    assert not ix.ids(where={"k" * 1000: 2**63 - 2})


# -- bad input --------------------------------------------------------------------------------------

BAD_ADDS: list[tuple[type[GossamerError], str, tuple[Any, ...], dict[str, Any]]] = [
    (EmptyTextError, "row 1 is empty", (["a", " "],), {}),
    (EmptyTextError, "row 0 is empty", ("",), {}),
    (DtypeError, "row 1 is int", (["a", 3],), {}),
    (DtypeError, "row 1 is NoneType", (["a", None],), {}),
    (InputError, "surrogate", (["a \ud800"],), {}),
    (DtypeError, "got a single bytes", (b"abc",), {}),
    (DuplicateIdError, "'x' is given twice", (["a", "b"], ["x", "x"]), {}),
    (InputError, "1 ids for 2 texts", (["a", "b"], ["x"]), {}),
    (DtypeError, "convert it with str", (["a"], [7]), {}),
    (DtypeError, "one id, 'x', for a list", (["a", "b"], "x"), {}),
    (InputError, "an id is empty", (["a"], [""]), {}),
    (InputError, "surrogate", (["a"], ["\ud800"]), {}),
    (InputError, "NUL", (["a"], ["x\0y"]), {}),
    (InputError, "1 metadata for 2 texts", (["a", "b"], None, [{}]), {}),
    (DtypeError, "one dict for each text", (["a", "b"], None, {"a": 1}), {}),
    (DtypeError, "row 0 is str", (["a"], None, ["m"]), {}),
    (DtypeError, "row 0 cannot be written as JSON", (["a"], None, [{"x": {1, 2}}]), {}),
    (DtypeError, "row 0 cannot be written as JSON", (["a"], None, [{"x": float("nan")}]), {}),
    (DtypeError, "keys must be strings", (["a"], None, [{"x": {1: 2}}]), {}),
    (DtypeError, "surrogate", (["a"], None, [{"x": "\ud800"}]), {}),
    (InputError, r"row 1 has an id of 1,001 characters \(at most 1,000\): give", (["a", "b"], ["x", "x" * 1001]), {}),
    (InputError, "row 0 has a text of 16,777,217 characters.*: split it", (["a" * (2**24 + 1)],), {}),
    (InputError, "row 1 has metadata nested more than 64 levels deep", (["a", "b"], None, [{}, nested(65)]), {}),
    (InputError, "row 0 has metadata nested more than 64 levels", (["a"], None, [nested(480)]), {}),
    (InputError, "row 0 has metadata nested more than 64 levels", (["a"], None, [nested(100_000)]), {}),
    (InputError, "row 0 has metadata of 1,000,009 characters of JSON", (["a"], None, [{"x": "a" * 1_000_000}]), {}),
    (InputError, "row 0 has a metadata key of 1,001 char.*: shorten", (["a"], None, [{"b": [{"a" * 1001: 1}]}]), {}),
    (InputError, r"NUL character in the metadata key 'x\\x00y'", (["a"], None, [{"x\0y": 1}]), {}),
    (InputError, r"NUL character in the metadata value 'x\\x00y'", (["a"], None, [{"a": [{"b": "x\0y"}]}]), {}),
    (InputError, r"row 0 has the number 9223372036854775808 .*: write it as text", (["a"], None, [{"n": 2**63}]), {}),
    (InputError, r"beyond -2\*\*63 to 2\*\*63 - 1", (["a"], None, [{"n": [-(2**63) - 1]}]), {}),
    (InputError, "the number 18446744073709551615", (["a"], None, [{"n": np.uint64(2**64 - 1)}]), {}),
    (InputError, "1 vectors for 2 texts", (["a", "b"],), {"vectors": [[0.0] * DIM]}),
    (DimensionError, f"but {DIM} are expected", (["a"],), {"vectors": [[0.0]]}),
    (InputError, "NaN", (["a"],), {"vectors": [[float("nan")] * DIM]}),
]


@pytest.mark.parametrize(("error", "message", "args", "kwargs"), BAD_ADDS)
def test_bad_input_changes_nothing(
    small: Index, error: type[GossamerError], message: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    before = (small.info().operation, small.ids(), small.search("moon"))
    with pytest.raises(error, match=message):
        small.add(*args, **kwargs)
    assert (small.info().operation, small.ids(), small.search("moon")) == before
    small.check()


def test_bad_queries(small: Index) -> None:
    for k in (0, -1, 1.5, True, "3"):
        with pytest.raises(ParameterError, match="k must be"):
            small.search("moon", k=k)  # type: ignore[arg-type]
    with pytest.raises(EmptyTextError):
        small.search("  ")
    with pytest.raises(DtypeError, match="query must be a string"):
        small.search([b"moon"])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="nothing to search for"):
        small.search()
    with pytest.raises(DimensionError):
        small.search(vector=[1.0, 2.0])
    with pytest.raises(ParameterError, match="vectors: 2, queries: 1"):
        small.search("moon", vector=np.ones((2, DIM)))
    with pytest.raises(ParameterError, match="vectors: 1, queries: 2"):
        small.search(["moon", "sun"], vector=np.ones(DIM))
    with pytest.raises(InputError, match="differ in length"):
        small.search(vector=[[1.0, 2.0], [1.0]])
    with pytest.raises(ParameterError, match="hybrid must be"):
        small.search("moon", hybrid=-1)
    with pytest.raises(ParameterError, match="hybrid must be"):
        small.search("moon", hybrid="yes")  # type: ignore[call-overload]
    large(small)
    with pytest.raises(ParameterError, match="recall"):
        small.search("moon", recall=2.0)
    with pytest.raises(FilterError):
        small.search("moon", where={"a": {"$near": 1}})
    with pytest.raises(UnknownIdError, match="there is no concept 12345"):
        small.search("moon", within=12345)
    with pytest.raises(UnknownIdError):
        small.concept(12345)
    with pytest.raises(DtypeError, match="whole number"):
        small.concept("a")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="depth"):
        small.concepts(depth=-1)
    with pytest.raises(UnknownIdError):
        small.explain("moon", "nowhere")
    with pytest.raises(DtypeError):
        small.delete([3])  # type: ignore[list-item]
    with pytest.raises(DtypeError):
        small.get({"sky": 1}.values())  # type: ignore[arg-type]


def test_bad_settings(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="max_tokens"):
        Index(encode, max_tokens=0)
    with pytest.raises(ParameterError, match="overlap"):
        Index(encode, max_tokens=10, overlap=10)
    with pytest.raises(UnknownEncoderError, match="known are"):
        Index.create(tmp_path / "a.gsm", "nonsense")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ParameterError, match="mode"):
        Index.open(tmp_path / "a.gsm", mode="a")  # type: ignore[arg-type]


# -- life on disk -----------------------------------------------------------------------------------


def test_create_and_open_mind_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.gsm"
    with pytest.raises(NotAnIndexError, match=r"make one with Index\.create"):
        Index.open(path, encode)
    Index.create(path, encode).close()
    with pytest.raises(IndexExistsError, match=r"there is an index at .*a\.gsm already: open it with Index\.open"):
        Index.create(path, encode)
    assert issubclass(IndexExistsError, NotAnIndexError), "which it was before"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NotAnIndexError):
        Index.create(tmp_path / "file", encode)
    with pytest.raises(NotAnIndexError):
        Index.open(tmp_path / "file", encode)
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotAnIndexError, match=r"no documents\.sqlite"):
        Index.open(tmp_path / "folder", encode)
    Index.create(tmp_path / "folder", encode).close()  # an empty folder may become one
    assert sorted(file.name for file in tmp_path.iterdir()) == ["deep", "file", "folder"]


@pytest.mark.parametrize("n", [5, 1300])
def test_closing_and_opening_changes_nothing(tmp_path: Path, n: int) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        large(index, n)
        index.delete(["d0003"])
        index.settle()
        before = (index.search("moon river", k=40), index.concepts(4), index.ids(), index.info().operation)
    with Index.open(path, encode) as index:
        assert (index.search("moon river", k=40), index.concepts(4), index.ids(), index.info().operation) == before
        index.check()


def test_a_closed_index_says_so(small: Index) -> None:
    small.close()
    small.close()
    for call in (
        lambda: small.search("moon"),
        lambda: small.add("moon"),
        lambda: small.get("sky"),
        lambda: len(small),
        lambda: small.refresh(),
        lambda: small.check(),
        lambda: small.concepts(),
    ):
        with pytest.raises(ClosedError, match=r"open it again"):
            call()
    assert "closed" in repr(small)


def test_a_reader_sees_what_was_written_at_its_next_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        large(index, 1300)
        with Index.open(path, encode, mode="r") as reader:
            assert reader.labels() == index.labels()
            before = reader.search("moon river", k=30)
            assert before == index.search("moon river", k=30)
            index.delete([hit.id for hit in before[:10]])
            index.add(["moon river moon river"] * 3, ["n1", "n2", "d0001"])
            assert reader.labels() == index.labels()
            assert reader.search("moon river", k=30) == index.search("moon river", k=30)
            with pytest.raises(UnknownIdError):
                reader.get(before[0].id)
            index.add("moon again", "n3")
            assert "n3" in reader
            index.add("moon once more", "n4")
            assert reader.refresh() == 1
            assert reader.concepts(3) == index.concepts(3)
            assert reader.refresh() == 0
            reader.check()
            for change in (lambda: reader.add("x"), lambda: reader.delete("d0002"), lambda: reader.refit()):
                with pytest.raises(ReadOnlyError, match='mode="w"'):
                    change()
        assert index.refresh() == 0


def test_a_reader_comes_back_after_much_was_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        index.state.store.policy = Policy(snapshot_after=0)  # a snapshot after every other change
        index.add(TEXTS, IDS)
        with Index.open(path, encode, mode="r") as reader:
            for at in range(8):
                index.add([f"moon {at}"], ["sky"])
            assert index.state.store.settings.forgotten > 1, "the reader can no longer replay from where it is"
            assert reader.refresh() == 8
            assert reader.search("moon") == index.search("moon")
            reader.check()


def test_info(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", encode) as index:
        assert (index.info().dim, index.info().documents) == (None, 0)
        large(index, 1300)
        info = index.info()
    assert (info.documents, info.passages, info.dim, info.operation) == (1300, 1300, DIM, 1)
    assert info.whitened
    assert 1300 / 12 < info.concepts < 1300
    assert info.encoder == "callable:encode"
    assert info.bytes > 1300 * DIM * 4
    assert info.path == str(tmp_path / "a.gsm")
    with Index(encode) as index:
        assert (index.info().path, index.info().bytes) == (None, 0)


def out_of_memory(*args: Any, **kwargs: Any) -> Any:
    raise MemoryError("out of memory")


def test_what_cannot_be_staged_is_not_committed(small: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that can fail comes before the commit: after an error, nothing was changed."""
    before = (small.ids(), small.search("moon"), small.info().operation)
    monkeypatch.setattr(VectorIndex, "stage", out_of_memory)
    for change in (lambda: small.add("fish and salt", "fish"), lambda: small.delete("sky"), lambda: small.refit()):
        with pytest.raises(OutOfMemoryError, match="nothing was changed"):
            change()
    assert (small.ids(), small.search("moon"), small.info().operation) == before
    monkeypatch.undo()
    small.add("fish and salt", "fish")
    small.check()


def test_an_error_while_applying_is_healed_from_disk(
    small: Index, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """It cannot happen; should it all the same, the index reads itself back, and the change is there."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        raise MemoryError("out of memory")

    monkeypatch.setattr(StagedStep, "apply", fail)
    with caplog.at_level(logging.WARNING):
        small.add("fish and salt", "fish")
    assert "reading" in caplog.text
    assert ids(small.search("fish salt", k=1)) == ["fish"]
    small.check()
    small.add("bear and bread", "bear")
    small.check()


def test_an_error_that_cannot_be_healed_is_remembered(small: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StagedStep, "apply", out_of_memory)
    monkeypatch.setattr(VectorIndex, "flat", out_of_memory)
    with pytest.raises(MemoryError):
        small.add("fish and salt", "fish")
    monkeypatch.undo()
    with pytest.raises(GossamerError, match="open it again"):
        small.search("moon")


def test_an_index_of_format_version_1_can_be_read(tmp_path: Path) -> None:
    """Made once by tests/fixtures/make.py; every version ever shipped stays readable."""
    path = tmp_path / "a.gsm"
    shutil.copytree(Path(__file__).parent.parent / "fixtures" / "index-v1.gsm", path)
    with Index.open(path, encode) as index:
        assert index.ids() == ["sky", "queen", "river"]
        assert index.get("river").text == "gold and iron"
        assert index.get("queen").metadata == {"n": 2, "tags": ["long"]}
        assert index.info().snapshots == (2,)
        assert index.info().passages > 3
        assert ids(index.search("gold", k=1)) == ["river"]
        assert ids(index.search("moon", where={"n": {"$lt": 2}})) == ["sky"]
        assert "silk" in index.search("queen of silk", k=1)[0].passage
        index.check()
        index.add("and it grows on", "new")
        index.check()


def test_an_index_of_format_version_2_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    shutil.copytree(Path(__file__).parent.parent / "fixtures" / "index-v2.gsm", path)
    with Index.open(path, encode) as index:
        assert len(index) == 149
        assert index.get("d3").text == "gold and iron"
        assert index.info().snapshots == (151,)
        assert index.info().operation == 153
        assert "d3" in ids(index.search("gold and iron", k=3))
        assert all(change.size_after for change in index.changes(since=150) if change.kind == "grown")
        index.check()
        index.add("and it grows on", "new")
        index.check()


def test_an_index_of_format_version_3_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    shutil.copytree(Path(__file__).parent.parent / "fixtures" / "index-v3.gsm", path)
    for mode in ("r", "w"):
        with Index.open(path, encode, mode=mode) as index:
            assert len(index) == 80
            assert index.info().snapshots == (1,)
            assert index.state.labelling.current.operation == index.info().operation == 5
            assert index.concepts(1)[1].label == "Named"
            index.check()
    with Index.open(path, encode) as index:
        index.add("and it grows on", "new")
        index.check()
        assert "Named" in index.labels().values()


def test_an_index_of_format_version_4_can_be_read(tmp_path: Path) -> None:
    """Its checksums hold whatever characters the Python that reads it knows."""
    path = tmp_path / "a.gsm"
    shutil.copytree(Path(__file__).parent.parent / "fixtures" / "index-v4.gsm", path)
    for mode in ("r", "w"):
        with Index.open(path, encode, mode=mode) as index:
            assert index.get("moose").metadata == {"face": "\U0001face"}
            assert len(index.search("a pink heart")) == 3
            assert index.concepts(0)[0].label == "all \U0001fae8"
            index.check()
    with sqlite3.connect(path / "documents.sqlite") as db:
        db.execute("UPDATE documents SET text = text || '!' WHERE id = 'moose'")
    db.close()
    with pytest.raises(CorruptError, match="'moose' was altered"), Index.open(path, encode) as index:
        index.get("moose")


class Season(str, Enum):  # noqa: UP042 — that a StrEnum is plain already
    WINTER = "winter and snow"


def test_strings_of_numpy_and_enumerations_are_plain_ones(tmp_path: Path) -> None:
    texts = np.array(["a river runs", "the queen of silk", "winter and snow"])
    with Index.create(tmp_path / "a.gsm", encode) as index:
        assert index.add(texts, ids=np.array(["r", "q", "w"])) == ["r", "q", "w"]
        assert index.add(texts[0], texts[0]) == ["a river runs"]
        assert index.add([Season.WINTER], [Season.WINTER], [{"season": Season.WINTER}]) == ["winter and snow"]
        assert type(index.get("q").text) is str
        assert index.get("winter and snow").text == "winter and snow"
        index.check()
    with Index.open(tmp_path / "a.gsm", encode) as index:
        assert [hit.id for hit in index.search("a river", k=2)] == ["a river runs", "r"]
        assert index.delete(["r", "q", "w"]) == 3


# -- encoding ahead, and links that wait ------------------------------------------------------------


def test_texts_encoded_ahead_are_not_encoded_again(tmp_path: Path) -> None:
    encoded: list[str] = []

    def noticing(texts: list[str]) -> Any:
        encoded.extend(texts)
        return encode(texts)

    with Index.create(tmp_path / "a.gsm", noticing, max_tokens=8) as index, Index(encode, max_tokens=8) as plain:
        long = "A river of milk. " * 5
        ahead = index.encode([*TEXTS, long])
        assert len(encoded) > len(TEXTS) + 1, "a long text has passages"
        encoded.clear()
        index.add([*TEXTS, long, "another one"], [*IDS, "long", "new"], encoded=ahead)
        assert encoded == ["another one"]
        plain.add([*TEXTS, long, "another one"], [*IDS, "long", "new"])
        assert list(index.search("milk and gold")) == list(plain.search("milk and gold"))
        index.check()


def test_what_another_encoder_made_ahead_is_not_used() -> None:
    def other(texts: list[str]) -> Any:
        return np.ones((len(texts), DIM), np.float32)

    with Index(other) as foreign, Index(encode) as index:
        index.add(TEXTS, IDS, encoded=foreign.encode(TEXTS))
        assert ids(index.search("a river of milk", k=1)) == ["river"]
    with pytest.raises(ClosedError):
        index.encode(TEXTS)


def test_an_encoder_that_learns_makes_nothing_ahead() -> None:
    with Index("lsa") as index:
        ahead = index.encode(TEXTS)
        assert not ahead.vectors
        index.add(TEXTS, IDS, encoded=ahead)
        assert ids(index.search("milk", k=1)) == ["river"]


def test_vectors_of_another_length_made_ahead_are_refused() -> None:
    with Index(encode) as index:
        index.add("first")
        ahead = replace(index.encode(["later"]), vectors={"later": np.ones(DIM + 1, np.float32)})
        with pytest.raises(EncoderMismatchError, match=f"{DIM} dimensions"):
            index.add("later", encoded=ahead)
        assert len(index) == 1


def test_an_index_is_closed_ready_to_be_searched(tmp_path: Path) -> None:
    """Closing ends a renewal and saves its tree; what a crash leaves is replayed to the tree that was there."""
    E = np.random.default_rng(0).normal(size=(1450, DIM)).astype(np.float32)
    crashed = tmp_path / "b.gsm"
    with Index.create(tmp_path / "a.gsm", encode) as index:
        index.add([f"text {i}" for i in range(1300)], [str(i) for i in range(1300)], vectors=E[:1300])
        for at in range(1300, 1450, 10):
            rows = range(at, at + 10)
            index.add([f"text {i}" for i in rows], [str(i) for i in rows], vectors=E[at : at + 10])
            assert index.state.vectors is not None
            if index.state.vectors.renewing:
                break
        assert index.state.vectors is not None
        assert index.state.vectors.renewing
        live, size = index.search(vector=E[0]), len(index)
        shutil.copytree(tmp_path / "a.gsm", crashed)
        index.state.store.policy = Policy(closing_share=0.0)
    with Index.open(tmp_path / "a.gsm", encode, mode="r") as index:
        assert index.state.vectors is not None
        assert index.state.vectors.settled
        assert index.info().snapshots[0] == index.info().operation
    with Index.open(crashed, encode, mode="r") as reader:
        assert len(reader) == size
        assert reader.search(vector=E[0]) == live
        assert [ids(reader.search(vector=E[i], k=1)) for i in range(50)] == [[str(i)] for i in range(50)]
        reader.check()


def test_a_progress_callback_may_search_and_change(small: Index) -> None:
    found: list[list[str]] = []

    def search(done: int, total: int) -> None:
        found.append(ids(small.search("a river of milk", k=1)))

    def change(done: int, total: int) -> None:
        small.delete("river")

    small.add("fish and salt", "fish", progress=search)
    assert found == [["river"]]
    small.add("bread and salt", "bread", progress=change)  # texts are encoded before the index is held
    assert len(small) == 6
    assert "river" not in small


def test_while_an_encoder_learns_a_progress_callback_may_not_change_the_index() -> None:
    with Index(encoder="lsa") as index:

        def change(done: int, total: int) -> None:
            index.delete("river")

        index.add(TEXTS, IDS)
        with pytest.raises(StateError, match="once that call is done"):
            index.rebuild(progress=change)
        assert len(index) == len(IDS)
        index.delete("river")
        assert len(index) == len(IDS) - 1


def test_answers_carry_their_cost() -> None:
    with Index(encoder=encode) as ix:
        assert ix.search("anything").visited == 0
        ix.add(["a red apple", "a green pear", "the blue sky"])
        found = ix.search("red apple", k=2)
        assert found.visited >= 3
        assert isinstance(found, list)


def test_a_close_that_was_stopped_lets_go_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    index = Index.create(tmp_path / "a.gsm", lambda texts: np.array([[len(text), 1.0] for text in texts]))
    index.add(["one", "three"], ids=["a", "b"])
    with monkeypatch.context() as patch:
        patch.setattr(VectorIndex, "build_links", stop)
        with pytest.raises(KeyboardInterrupt):
            index.close()
    with Index.open(tmp_path / "a.gsm", lambda texts: np.array([[len(text), 1.0] for text in texts])) as again:
        assert again.ids() == ["a", "b"]


def test_lsa_of_a_few_documents_takes_little_disk(tmp_path: Path) -> None:
    """57 documents took 36 MB once."""
    rng = random.Random(0)
    words = [f"{a}{b}{c}" for a in ("ba", "do", "fi", "ku") for b in "lmnrst" for c in ("ber", "den", "gal", "pis")]
    texts = [" ".join(rng.choices(words, k=400)) for _ in range(57)]
    with Index.create(tmp_path / "x.gsm", encoder="lsa") as index:
        index.add(texts)
    held = sum(path.stat().st_size for path in (tmp_path / "x.gsm").rglob("*") if path.is_file())
    assert held < 2_500_000
