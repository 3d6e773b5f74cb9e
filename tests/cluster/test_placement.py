"""The log of intents: what is under way when everything stops, and what is made of it. No Ray is needed."""

from __future__ import annotations

from pathlib import Path

from gossamer.cluster.placement import Placement


def test_a_move_is_under_way_until_the_old_copy_is_gone(tmp_path: Path) -> None:
    log = Placement(tmp_path / "p.sqlite")
    first = log.begin([("a", 0, 0), ("b", 1, 1)])
    assert log.intents() == first
    assert len(log) == 0
    log.settle(first)
    assert log.intents() == []
    assert {id: place.shard for id, place in log.places(["a", "b", "c"]).items()} == {"a": 0, "b": 1}

    moved = log.begin([("a", 1, 1), ("b", 1, 1)])  # b stays on its shard: it needs no intent
    assert [(each.id, each.source, each.target) for each in log.intents()] == [("a", 0, 1)]
    log.settle(moved)
    assert log.places(["a"])["a"].shard == 1
    assert [each.id for each in log.intents()] == ["a"]  # its copy on shard 0 is still to be deleted
    log.close()

    again = Placement(tmp_path / "p.sqlite")
    assert [each.id for each in again.intents()] == ["a"]
    again.forget(again.intents())
    assert again.intents() == []
    assert again.operation == 2
    again.close()


def test_a_deletion_is_known_until_it_is_done(tmp_path: Path) -> None:
    log = Placement(tmp_path / "p.sqlite")
    log.settle(log.begin([("a", 0, 0), ("b", 0, 0)]))
    intents = log.begin_deletion(["a", "none"])
    assert [each.id for each in intents] == ["a"]
    assert len(log) == 2
    log.settle(intents)
    assert len(log) == 1
    assert log.intents() == []
    log.close()


def test_ids_are_never_given_twice(tmp_path: Path) -> None:
    log = Placement(tmp_path / "p.sqlite")
    log.settle(log.begin([("2", 0, 0), ("4", 0, 0)]))
    given = log.new_ids(3)
    assert given == ["1", "3", "5"]
    assert log.new_ids(2) == ["6", "7"]
    log.close()


def test_documents_keep_the_order_in_which_they_came(tmp_path: Path) -> None:
    log = Placement(tmp_path / "p.sqlite")
    log.settle(log.begin([("z", 0, 0), ("y", 1, 1)]))
    log.settle(log.begin([("x", 0, 0), ("z", 1, 1)]))
    log.forget(log.intents())
    numbers = {id: place.number for id, place in log.places(["x", "y", "z"]).items()}
    assert sorted(numbers, key=lambda id: numbers[id]) == ["z", "y", "x"]
    assert log.counts(2, 2).tolist() == [[1, 0], [0, 2]]
    assert log.some_of(1, 1, 5) == ["y", "z"]
    copied = log.copy_to(tmp_path / "copy.sqlite")
    assert copied == log.operation == 2
    log.close()
