"""What a cluster promises beyond what an index does: which shards are asked, moves, growth, copies."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from bag import encode
from cluster.themes import corpus
from gossamer import Index
from gossamer.cluster import Cluster
from gossamer.errors import EncoderMismatchError, NotAnIndexError, ParameterError, UntrustedEncoderError

COUNT = 1200
QUERIES = corpus(80, seed=5)[0]


@pytest.fixture(scope="module")
def one() -> Index:
    index = Index(encode)
    index.add(*corpus(COUNT))
    return index


def test_all_shards_together_answer_as_one_index(large: Cluster, one: Index) -> None:
    for query in QUERIES[:20]:
        for hybrid in (True, False):
            expected, found = (
                one.search(query, recall=1.0, hybrid=hybrid),
                large.search(query, recall=1.0, hybrid=hybrid),
            )
            assert [hit.id for hit in found] == [hit.id for hit in expected]
            np.testing.assert_allclose([hit.score for hit in found], [hit.score for hit in expected], atol=1e-5)
            assert (found.partial, found.shards) == (False, 4)


def test_meaning_alone_asks_few_shards_and_says_which(large: Cluster, one: Index) -> None:
    asked, same = [], []
    for query in QUERIES:
        found = large.search(query, hybrid=False)
        expected = {hit.id for hit in one.search(query, recall=1.0, hybrid=False)}
        same.append(len(expected & {hit.id for hit in found}) / 10)
        asked.append(len(found.asked))
        assert set(found.asked) <= {0, 1, 2, 3}
    assert np.mean(same) >= 0.97
    assert np.mean(asked) < 3.0
    assert large.search(QUERIES[0], hybrid=False, recall=1.0).asked == (0, 1, 2, 3)
    assert large.search(QUERIES[0], hybrid=False, where={"theme": "sky"}).asked == (0, 1, 2, 3)


def test_a_rare_word_is_found_wherever_it_is(large: Cluster) -> None:
    large.add(["xylograph"], ids=["rare"])
    for query in ("bread dough xylograph", "moon comet xylograph", "guitar piano xylograph"):
        assert "rare" in [hit.id for hit in large.search(query)]
    large.delete("rare")


def test_what_a_cluster_cannot_do_is_refused(large: Cluster) -> None:
    for options in ({"diversity": 0.2}, {"method": "path-sum"}):
        with pytest.raises(ParameterError, match="yet"):
            large.search("bread", **options)


def test_a_moved_document_is_on_one_shard(large: Cluster) -> None:
    before = {shard.shard: shard.documents for shard in large.status().shards}
    for text in ("bread dough flour oven", "moon comet planet orbit", "violin concert melody rhythm"):
        large.add([text], ids=["wanderer"])
        assert sum(shard.documents for shard in large.status().shards) == COUNT + 1
        assert [hit.id for hit in large.search(text, COUNT, recall=1.0)].count("wanderer") == 1
        assert large.get("wanderer").text == text
        assert large.ids().count("wanderer") == 1
    large.delete("wanderer")
    assert {shard.shard: shard.documents for shard in large.status().shards} == before
    large.check()


def test_a_cluster_grows_and_is_balanced_and_copied(tmp_path: Path) -> None:
    texts, ids, metadata = corpus(COUNT)
    with Cluster.create(tmp_path / "c", encode, shards=2) as cluster:
        cluster.add(texts[:800], ids[:800], metadata[:800])
        operation = cluster.backup(tmp_path / "copy")
        cluster.add(texts[800:], ids[800:], metadata[800:])
        before = [[hit.id for hit in cluster.search(query, recall=1.0)] for query in QUERIES[:10]]
        cluster.grow(4)
        assert [shard.documents for shard in cluster.status().shards][2:] == [0, 0]
        done = cluster.rebalance()
        assert sum(done.sizes) == COUNT
        assert max(done.sizes) <= 1.2 * COUNT / 4 + 1
        assert done.documents > 0
        assert cluster.ids() == ids
        assert [[hit.id for hit in cluster.search(query, recall=1.0)] for query in QUERIES[:10]] == before
        assert cluster.rebalance().documents == 0
        cluster.check()
        found = {hit.id for hit in cluster.search(texts[3], hybrid=False)}
        assert ids[3] in found
        # The copy is a cluster of its own, as of its operation.
        with Cluster.open(tmp_path / "copy", encode) as copy:
            assert copy.ids() == ids[:800]
            assert copy.status().operation == operation
            assert copy.search(texts[3], 1)[0].id == ids[3]
            copy.delete(ids[3])
        assert ids[3] in cluster
        with pytest.raises(NotAnIndexError):
            cluster.backup(tmp_path / "copy")


def test_a_cluster_is_opened_again_and_by_several(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts, ids, _ = corpus(50)
    with Cluster.create(tmp_path / "c", "lsa", shards=2, replicas=1) as cluster:
        cluster.add(texts, ids)
        best = [hit.id for hit in cluster.search(texts[0], 5)]
        with Cluster.open(tmp_path / "c") as other:
            other.add("one more text", "more")
            assert [hit.id for hit in other.search(texts[0], 5)] == best
        assert len(cluster) == 51  # closing the second one ended nothing
        for _ in range(4):  # replicas follow what was written
            assert cluster.search("one more text", 1)[0].id == "more"
    with caplog.at_level(logging.ERROR), Cluster.open(tmp_path / "c") as again:
        assert [hit.id for hit in again.search(texts[0], 5)] == best
        assert again.get("more").text == "one more text"
    with pytest.raises(EncoderMismatchError), Cluster.open(tmp_path / "c", "minilm") as wrong:
        wrong.search("x")
    with pytest.raises(NotAnIndexError):
        Cluster.open(tmp_path)
    with pytest.raises(NotAnIndexError):
        Cluster.create(tmp_path / "c", encode)


def test_the_first_documents_are_encoded_once(tmp_path: Path) -> None:
    texts, seen = corpus(30)[0], []

    def counting(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return encode(texts)

    with Cluster.create(tmp_path / "c", counting, shards=2) as cluster:
        cluster.add(texts)
    assert seen == texts


def test_an_encoder_that_brings_code_is_not_loaded_because_a_folder_names_it(tmp_path: Path) -> None:
    with Cluster.create(tmp_path / "c", encode, shards=1) as cluster:
        assert cluster.search("anything") == []
        cluster.add("a text", vectors=encode(["a text"]))
        with Cluster.open(tmp_path / "c") as other, pytest.raises((UntrustedEncoderError, Exception), match="callable"):
            other.search("a text")
