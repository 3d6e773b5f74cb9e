"""`Cluster.add_dataset`: what Ray reads and encodes is what `add` would have added."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bag import encode
from cluster.themes import corpus
from gossamer.cluster import Cluster
from gossamer.cluster.dataset import Columns, work_for
from gossamer.encoders import load_encoder
from gossamer.errors import DtypeError, InputError, MissingExtraError, ModelUnavailableError, ParameterError

ray = pytest.importorskip("ray")
data = pytest.importorskip("ray.data", reason="needs pyarrow and pandas (extra ray)")
pytestmark = pytest.mark.filterwarnings("ignore:The minimum number of concurrent actors:UserWarning")

COUNT = 120
QUERIES = ["bread in the oven", "guitar and piano", "the moon", "compost"]
LONG = "The committee discussed the budget and the schedule at length, then bread, then the moon. " * 12


def rows(count: int = COUNT) -> list[dict[str, Any]]:
    texts, ids, metadata = corpus(count)
    texts[5] = texts[5] + " " + LONG  # several passages
    made = zip(ids, texts, metadata, strict=True)
    return [{"id": id, "text": text, **fields} for id, text, fields in made]


def dataset(some: list[dict[str, Any]]) -> Any:
    return data.from_items(some, override_num_blocks=2)


def answers(cluster: Cluster) -> list[list[tuple[str, float]]]:
    found = cluster.search([*QUERIES, LONG], 20, recall=1.0)
    return [[(hit.id, hit.score) for hit in hits] for hits in found]


def add(cluster: Cluster, some: list[dict[str, Any]]) -> None:
    fields = [{"theme": row["theme"], "number": row["number"]} for row in some]
    cluster.add([row["text"] for row in some], [row["id"] for row in some], fields)


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose encoder has learnt from its first documents. Tests leave it with these alone."""
    path = tmp_path_factory.mktemp("learnt") / "c"
    with Cluster.create(path, "lsa", shards=2, max_tokens=60) as cluster:
        add(cluster, rows())
        yield cluster


def test_it_is_what_add_would_have_added(learnt: Cluster) -> None:
    more = [{**row, "id": f"more-{row['id']}"} for row in rows()]
    add(learnt, more)
    ids, expected, passages = learnt.ids(), answers(learnt), learnt.info().passages
    assert passages > 2 * COUNT
    learnt.delete([row["id"] for row in more])
    seen: list[tuple[int, int]] = []
    done = learnt.add_dataset(
        dataset(more), encoders=2, num_cpus=0.5, batch_size=50, progress=lambda *each: seen.append(each)
    )
    assert done == COUNT
    assert seen == [(50, COUNT), (100, COUNT), (120, COUNT)]
    assert (learnt.ids(), learnt.info().passages) == (ids, passages)
    assert answers(learnt) == expected
    assert learnt.get("more-" + rows()[7]["id"]).metadata == {"theme": rows()[7]["theme"], "number": 7}
    # Again: nothing is there twice, and metadata can be chosen.
    assert learnt.add_dataset(dataset(more), metadata=["number"]) == COUNT
    assert (learnt.ids(), answers(learnt)) == (ids, expected)
    assert learnt.get("more-" + rows()[7]["id"]).metadata == {"number": 7}
    learnt.delete([row["id"] for row in more])


def test_the_last_of_an_id_counts(learnt: Cluster) -> None:
    twice = [{"id": id, "text": f"a text of {at}"} for at, id in enumerate(["x", "y", "x", "z", "y", "x"])]
    for size in (2, 10):
        learnt.add_dataset(dataset(twice), batch_size=size)
        assert [each.text for each in learnt.get(["x", "y", "z"])] == ["a text of 5", "a text of 4", "a text of 3"]
        assert len(learnt) == COUNT + 3
    assert learnt.delete(["x", "y", "z"]) == 3


def test_files_are_read_by_ray(learnt: Cluster, tmp_path: Path) -> None:
    table = import_module("pyarrow").Table.from_pylist(
        [{"key": at, "title": f"Title {at}", "body": None if at else "A body.", "year": 2020 + at} for at in range(3)]
    )
    import_module("pyarrow.parquet").write_table(table, tmp_path / "rows.parquet")
    read = data.read_parquet(str(tmp_path / "rows.parquet"))
    assert learnt.add_dataset(read, text=["title", "body"], id="key") == 3
    found = learnt.get(["0", "2"])
    assert [each.text for each in found] == ["Title 0\nA body.", "Title 2"]
    assert [each.metadata for each in found] == [{"year": 2020}, {"year": 2022}]
    assert learnt.delete(["0", "1", "2"]) == 3


def test_a_stop_keeps_what_was_added(learnt: Cluster) -> None:
    more = [{"id": f"more-{row['id']}", "text": row["text"]} for row in rows()]

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learnt.add_dataset(dataset(more), batch_size=40, progress=stop)
    assert len(learnt) == COUNT + 40
    until = time.monotonic() + 30
    while ray.available_resources().get("CPU") != ray.cluster_resources()["CPU"]:
        assert time.monotonic() < until, "the encoder was not ended"
        time.sleep(0.2)
    assert learnt.add_dataset(dataset(more), batch_size=40) == COUNT
    assert len(learnt) == 2 * COUNT
    learnt.delete([row["id"] for row in more])
    learnt.check()


def test_nothing_is_added_of_nothing(learnt: Cluster) -> None:
    assert learnt.add_dataset(data.from_items([])) == 0
    assert len(learnt) == COUNT


def test_what_rows_lack_is_told(learnt: Cluster) -> None:
    some = [{"id": "a", "text": "a text", "year": 2020}, {"id": "b", "text": None, "year": 2021}]
    with pytest.raises(ParameterError, match="no column 'texts': did you mean 'text'"):
        learnt.add_dataset(data.from_items(some), text="texts")
    with pytest.raises(InputError, match="begins with the id 'a': row 1 has no text in 'text'"):
        learnt.add_dataset(data.from_items(some, override_num_blocks=1))
    assert len(learnt) == COUNT


def test_what_cannot_be_encoded_by_actors_is_refused(learnt: Cluster, tmp_path: Path) -> None:
    one = data.from_items([{"id": "a", "text": "a text"}])
    with pytest.raises(DtypeError, match=r"got list: read files by ray\.data"):
        learnt.add_dataset([{"id": "a", "text": "a text"}])
    with pytest.raises(ParameterError, match="encoders=500 with num_cpus=1 each, and one CPU to read with"):
        learnt.add_dataset(one, encoders=500)
    with pytest.raises(ParameterError, match="encoders=1 with num_gpus=9 each"):
        learnt.add_dataset(one, num_gpus=9)
    wrong: list[dict[str, Any]] = [{"encoders": 0}, {"batch_size": 0}, {"num_cpus": -1}]
    for options in wrong:
        with pytest.raises(ParameterError, match="must be"):
            learnt.add_dataset(one, **options)
    with Cluster.create(tmp_path / "function", encode, shards=1) as cluster:
        with pytest.raises(ParameterError, match="cannot be loaded by its name"):
            cluster.add_dataset(one)
        known, columns = cluster._connection.known, Columns("text", "id", None)
        with pytest.raises(ParameterError, match="learns from the first documents"):
            work_for(known, load_encoder("lsa"), "lsa", columns)
        assert work_for(known, load_encoder("minilm"), None, columns).encoder == "minilm"


def test_ray_without_its_data_names_the_extra(learnt: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    one = data.from_items([{"id": "a", "text": "a text"}])
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(MissingExtraError, match=r"gossamer\[ray\]"):
        learnt.add_dataset(one)


@pytest.mark.model
def test_a_new_cluster_is_the_same(tmp_path: Path) -> None:
    """With minilm, which gives a text the same vector wherever it is encoded, to the last bit."""
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    try:
        load_encoder("minilm").encode(["Is the model there?"])
    except ModelUnavailableError as error:
        pytest.skip(f"the model cannot be had here: {error}")
    some = rows(60)
    with Cluster.create(tmp_path / "one", "minilm", shards=2, max_tokens=100) as one:
        add(one, some)
        with Cluster.create(tmp_path / "two", "minilm", shards=2, max_tokens=100) as two:
            assert two.add_dataset(dataset(some), encoders=2, num_cpus=0.5, batch_size=20) == len(some)
            assert (two.ids(), two.info().passages) == (one.ids(), one.info().passages)
            assert two.info().passages > len(some)
            assert answers(two) == answers(one)
            assert [each.metadata for each in two.documents()] == [each.metadata for each in one.documents()]
