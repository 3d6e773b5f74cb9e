"""Names that people give to concepts: shown everywhere, durable, and found again after the tree was rebuilt."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from bag import encode
from explain.corpus import THEMES, document, documents
from gossamer import Index
from gossamer.errors import CorruptError, DtypeError, ParameterError, ReadOnlyError, UnknownIdError
from gossamer.results import Concept, Topics


def filled(index: Index, n: int = 300) -> Concept:
    """Documents in it, and one of its concepts: of one theme, and not the whole of it."""
    texts, themes = documents(n)
    index.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
    return next(each for each in index.concepts() if 12 < each.size < n / 5 and each.children)


def themes_of(index: Index, id: int) -> set[str]:
    return {name.split("-")[0] for name in index.ids(within=id)}


def named(index: Index) -> dict[str, int]:
    """The concepts whose label begins with a capital: no label of these texts does."""
    return {label: id for id, label in index.labels().items() if label[:1].isupper()}


def test_a_name_is_shown_everywhere_and_taken_away_again(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        concept = filled(index)
        index.rename_concept(concept.id, "  The\nnews ")
        assert index.concept(concept.id).label == "The news"
        member = index.ids(within=concept.id)[0]
        hit = next(hit for hit in index.search(index.get(member).text, k=50) if hit.id == member)
        assert "The news" in [step.label for step in hit.path]
        index.check()
    with Index.open(path, encode, mode="r") as index:
        assert named(index) == {"The news": concept.id}
        with pytest.raises(ReadOnlyError):
            index.rename_concept(concept.id, "Other")
    with Index.open(path, encode) as index:
        index.rename_concept(concept.id, "Another")
        assert named(index) == {"Another": concept.id}
        index.rename_concept(concept.id, None)
        assert index.concept(concept.id).label == concept.label


def test_a_name_outlives_growth(tmp_path: Path) -> None:
    """The tree is renewed several times, and the concept grows."""
    rng = random.Random(3)
    with Index.create(tmp_path / "a.gsm", encode) as index:
        concept = filled(index)
        index.rename_concept(concept.id, "Named")
        (theme,) = themes_of(index, concept.id)
        for at in range(200):
            index.add(document(rng.choice(list(THEMES)), rng), f"new-{at}")
        index.settle()
        assert named(index) == {"Named": concept.id}
        assert theme in themes_of(index, concept.id)


@pytest.mark.parametrize("encoder", [encode, "lsa"])
def test_a_name_outlives_a_rebuild(tmp_path: Path, encoder: Any) -> None:
    """All ids are new then, and with an encoder that learns all passages are."""
    path = tmp_path / "a.gsm"
    with Index.create(path, encoder) as index:
        concept = filled(index)
        if encoder == "lsa":  # it learns again, and only whole themes stay what they are
            pure = [each for each in index.concepts() if len(themes_of(index, each.id)) == 1]
            concept = max(pure, key=lambda each: each.size)
        before = set(index.ids(within=concept.id))
        index.rename_concept(concept.id, "Named")
        index.add([document("music", random.Random(at)) for at in range(20)])
        for _ in range(2):
            index.rebuild()
        after = set(index.ids(within=named(index)["Named"]))
        assert len(before & after) > 0.5 * len(before | after)
    with Index.open(path, None if encoder == "lsa" else encoder) as index:
        assert set(index.ids(within=named(index)["Named"])) == after


def test_the_name_of_what_is_gone_is_shown_nowhere() -> None:
    with Index(encode) as index:
        concept = filled(index)
        index.rename_concept(concept.id, "Named")
        index.delete(index.ids(within=concept.id))
        assert named(index) == {}


def test_a_log_with_names_is_replayed(tmp_path: Path) -> None:
    """What is killed before a snapshot is taken: another process opens a copy of the folder."""
    with Index.create(tmp_path / "a.gsm", encode) as index:
        concept = filled(index)
        index.rename_concept(concept.id, "Named")
        index.add("bread oven flour dough")
        with Index.open(tmp_path / "a.gsm", encode, mode="r") as reader:
            assert named(reader) == {"Named": concept.id}
            index.rename_concept(concept.id, "Renamed")
            assert named(reader) == {"Renamed": concept.id}
        index.backup(tmp_path / "b.gsm")
    with Index.open(tmp_path / "b.gsm", encode) as copy:
        assert named(copy) == {"Renamed": concept.id}


def test_an_altered_name_is_found(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", encode) as index:
        index.rename_concept(filled(index).id, "Named")
        index.state.store.database.begin().execute("UPDATE names SET name = 'Altered'")
        index.state.store.database.commit()
        with pytest.raises(CorruptError, match="name of a concept"):
            index.check()


@pytest.mark.parametrize(
    ("id", "name", "error", "match"),
    [
        (None, "", ParameterError, "1 to 120 characters"),
        (None, "x" * 121, ParameterError, "1 to 120 characters"),
        (None, 7, DtypeError, "a name is a text"),
        (None, "\ud800x", ParameterError, "half of a surrogate pair"),
        (999_999, "Name", UnknownIdError, "999999"),
        ("root", "Name", DtypeError, "whole number"),
    ],
)
def test_bad_names(id: Any, name: Any, error: type[Exception], match: str) -> None:
    with Index(encode) as index:
        concept = filled(index)
        with pytest.raises(error, match=match):
            index.rename_concept(concept.id if id is None else id, name)
        with pytest.raises(ParameterError, match="single document"):
            index.rename_concept(next(each.id for each in index.concepts(None) if not each.children), "Name")
        with Index(encode) as empty, pytest.raises(UnknownIdError, match="empty"):
            empty.rename_concept(1, "Name")


# -- topics ------------------------------------------------------------------------------------------


def test_topics_are_renamed_and_merged_as_values() -> None:
    with Index(encode) as index:
        filled(index)
        topics = index.topics(5)
        first, second, *_ = topics.concepts
        renamed = topics.rename(first.id, "First")
        assert renamed.concepts[0].label == "First"
        assert topics.concepts[0].label == first.label == index.concept(first.id).label
        merged = topics.merge([second.id, first.id], "Both")
        assert merged.concepts[0].label == "Both"
        assert merged.concepts[0].id == first.id
        assert merged.concepts[0].size == first.size + second.size
        assert len(merged.concepts) == 4
        assert sum(row["size"] for row in merged.rows()) == 300
        assert set(merged.assignments.values()) == {each.id for each in merged.concepts}
        texts = [exemplar.text for exemplar in second.exemplars]
        assert topics.assign(texts) == [second.id] * 3
        assert merged.assign(texts) == [first.id] * 3
        assert topics.merge([first.id, second.id]).concepts[0].label == f"{first.label} · {second.label}"
        with pytest.raises(UnknownIdError, match="none of these groups"):
            topics.rename(999_999, "Name")
        with pytest.raises(ParameterError, match="two groups or more"):
            topics.merge([first.id, first.id])
        assert Topics((), {}, 0.0).rows() == []
