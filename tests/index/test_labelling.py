"""Labels are made in the background, kept on disk, and depend on the operations alone, not on when they are made."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import time
from pathlib import Path

import pytest

from bag import encode
from explain.corpus import THEMES, document, documents
from gossamer import Concept, Index, LabelRequest, VectorIndex
from gossamer.index.replay import StagedStep
from gossamer.store.label_file import read_labels, write_labels

N = 700


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("labelled") / "a.gsm"
    with Index.create(path, encode) as index:
        index.add(documents(N)[0], [f"d{at}" for at in range(N)])
    return path


@pytest.fixture
def path(saved: Path, tmp_path: Path) -> Path:
    shutil.copytree(saved, tmp_path / "a.gsm")
    return tmp_path / "a.gsm"


def workers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "gossamer-labels"]


def labels_of_path(index: Index) -> list[str]:
    return [step.label for step in index.search("bread oven", k=1)[0].path[:-1]]


def wait_for_labels(index: Index) -> None:
    while index.state.labelling.current.operation != index.info().operation:
        time.sleep(0.01)


def test_the_first_search_after_opening_shows_all_labels_and_makes_none(saved: Path) -> None:
    with Index.open(saved, encode, mode="r") as index:
        found, made = labels_of_path(index), index.state.labelling.current
        assert made.operation == index.info().operation
        assert not workers()
        assert index.labels().keys() == made.of.keys()
        assert index.state.labelling.current is made
        assert set(found) <= set(index.labels().values())
        assert not any(label.startswith("“") for label in found)


def paths_of(path: Path) -> list[tuple[Concept, ...]]:
    with Index.open(path, encode, mode="r") as index:
        return [hit.path for hit in index.search("bread oven", k=3)]


def test_a_search_of_an_index_just_opened_reads_no_text_but_those_of_its_hits(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = paths_of(saved)
    monkeypatch.setattr("gossamer.index.query.rows.passage_texts", None)
    assert paths_of(saved) == expected
    assert all(concept.exemplars for path in expected for concept in path)


def test_labels_saved_by_an_earlier_version_show_the_same_exemplars(path: Path) -> None:
    """It saved their numbers alone."""
    expected = paths_of(path)
    with Index.open(path, encode, mode="r") as index:
        layout, identity = index.state.store.layout, index.state.settings.identity
    assert layout is not None
    labels = read_labels(layout, identity)
    assert labels is not None
    *head, shown = labels.text.split("\n", 3)
    shorter = "\n".join(json.dumps(json.loads(line)[:3]) for line in shown.split("\n"))
    write_labels(layout, identity, labels._replace(text="\n".join([*head, shorter])))
    assert paths_of(path) == expected


def test_a_search_takes_what_is_there_and_the_rest_is_made_beside_it(path: Path) -> None:
    (path / "labels").unlink()
    with Index.open(path, encode, mode="r") as index:
        assert all(label.startswith("“") and label.endswith("like it") for label in labels_of_path(index))
        wait_for_labels(index)
        assert not any(label.startswith("“") for label in labels_of_path(index))
        assert not (path / "labels").exists(), "a reader writes nothing"
    with Index.open(path, encode) as index:
        wait_for_labels(index)
    assert (path / "labels").exists()


def test_what_is_looked_at_is_labelled_at_once_and_as_in_the_background(path: Path) -> None:
    with Index.open(path, encode, mode="r") as index:
        expected = index.labels()
    (path / "labels").unlink()
    with Index.open(path, encode, mode="r") as index:
        some = list(expected)[5::40]
        assert index.labels(some) == {id: expected[id] for id in some}
        assert {each.id: each.label for each in index.concepts(1) if each.children}.items() <= expected.items()
        assert index.labels() == expected


@pytest.mark.parametrize("harm", ["cut", "flip", "head", "empty", "other", "garbage", "folder"])
def test_a_damaged_file_is_made_again(path: Path, tmp_path: Path, harm: str) -> None:
    file = path / "labels"
    with Index.open(path, encode, mode="r") as index:
        expected = index.labels()
    whole = bytearray(file.read_bytes())
    if harm == "other":  # of another index
        with Index.create(tmp_path / "b.gsm", encode) as other:
            other.add(documents(50)[0])
        shutil.copy(tmp_path / "b.gsm" / "labels", file)
    elif harm == "folder":
        file.unlink()
        file.mkdir()
    else:
        whole[len(whole) // 2] ^= 16 * (harm == "flip")
        whole[20] ^= 16 * (harm == "head")
        file.write_bytes({"cut": bytes(whole[:-9]), "empty": b"", "garbage": os.urandom(5000)}.get(harm, bytes(whole)))
    for mode in ("r", "w"):
        with Index.open(path, encode, mode=mode) as index:
            assert index.state.labelling.current.operation == -1
            assert index.labels() == expected
            index.check()
    if harm != "folder":
        with Index.open(path, encode, mode="r") as index:
            assert index.state.labelling.current.operation == index.info().operation


def test_labels_that_are_behind_are_brought_up_to_date(path: Path) -> None:
    """As after a crash: the file is older than the documents."""
    old = (path / "labels").read_bytes()
    with Index.open(path, encode) as index:
        index.add([document("music", random.Random(at)) for at in range(40)])
        index.delete([f"d{at}" for at in range(30)])
        index.settle()
        expected = index.labels()
    (path / "labels").write_bytes(old)
    with Index.open(path, encode) as index:
        assert index.state.labelling.current.operation == -1
        assert index.labels() == expected


def test_labels_depend_on_the_operations_alone(tmp_path: Path) -> None:
    """One index is labelled after every few operations, one at the end; one lies in memory."""
    rng = random.Random(5)
    names = ["sometimes", "last"]
    indices = {name: Index.create(tmp_path / f"{name}.gsm", encode) for name in names} | {"memory": Index(encode)}
    texts = documents(260)[0]
    for index in indices.values():
        index.add(texts, [f"d{at}" for at in range(260)])
    for step in range(12):
        new = [document(rng.choice(list(THEMES)), rng) for _ in range(rng.randint(1, 12))]
        gone = [f"d{rng.randrange(260)}" for _ in range(3)]
        for name, index in indices.items():
            index.add(new, [f"{step}-{at}" for at in range(len(new))])
            index.delete(gone)
            if name == "sometimes" and step % 3 == 0:
                index.labels()
    first, *others = [index.labels() for index in indices.values()]
    assert all(labels == first for labels in others)
    for index in indices.values():
        index.close()


def test_nothing_runs_after_closing(path: Path) -> None:
    (path / "labels").unlink()
    index = Index.open(path, encode)
    assert workers()
    index.close()
    assert not workers()
    with Index(encode) as memory:
        memory.add(documents(300)[0])
        assert workers()
    assert not workers()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_labels_are_made(path: Path) -> None:
    (path / "labels").unlink()
    with Index.open(path, encode) as index:
        index.concepts(0)
        child = os.fork()
        if not child:
            with Index.open(path, encode, mode="r") as again:
                os._exit(0 if again.labels() else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert index.labels()


def test_a_backup_has_the_labels(path: Path, tmp_path: Path) -> None:
    with Index.open(path, encode) as index:
        index.backup(tmp_path / "copy.gsm")
        expected = index.labels()
    with Index.open(tmp_path / "copy.gsm", encode, mode="r") as copy:
        assert copy.state.labelling.current.operation == copy.info().operation
        assert copy.labels() == expected


def test_labels_after_a_change_that_could_not_be_applied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree is loaded again, and labels that are on disk are no reason to fail."""
    apply, failures = StagedStep.apply, [RuntimeError("once")]

    def failing(self: StagedStep) -> VectorIndex | None:
        if failures:
            raise failures.pop()
        return apply(self)

    with Index.open(path, encode) as index:
        monkeypatch.setattr(StagedStep, "apply", failing)
        index.add("bread oven flour dough", "new")
        assert not failures
        assert index.search("bread oven flour dough", k=1)[0].id == "new"
        found = index.labels()
    with Index.open(path, encode, mode="r") as index:
        assert index.labels() == found


def test_settling_beside_a_writer_with_a_labeller() -> None:
    """Documents that come while a labeller is at work are no error of `settle`."""

    def labeller(request: LabelRequest) -> str:
        come.set()
        return request.suggestion.upper()

    come = threading.Event()
    with Index(encode, labeller=labeller) as index:
        index.add(documents(300)[0])

        def write() -> None:
            come.wait()
            for at in range(5):
                index.add(document("music", random.Random(at)), f"new-{at}")

        writer = threading.Thread(target=write)
        writer.start()
        index.settle()
        writer.join()
        assert all(label == label.upper() for label in index.labels().values())
