"""What a picture shows: whole families, the largest first, within its limits."""

from __future__ import annotations

import pytest

import bag
from gossamer.errors import ParameterError, UnknownIdError
from gossamer.index import Index
from gossamer.pictures.branch import Branch, branch_of_topics, mark, read_branch


def ids(branch: Branch | None) -> list[int]:
    assert branch is not None
    return [each.concept.id for each in branch.walk()]


def test_all_of_a_small_tree(index: Index, branch: Branch, texts: dict[str, str]) -> None:
    walked = list(branch.walk())
    assert len(walked) == len(branch) == len(index.concepts(None)) == len(set(ids(branch)))
    assert sum(each.concept.size for each in walked if not each.below) == len(texts)
    for each in walked:
        assert {child.concept.id for child in each.below} == set(each.concept.children)
        sizes = [child.concept.size for child in each.below]
        assert sizes == sorted(sizes, reverse=True)
        assert not each.hidden
    assert branch.name == "everything"


@pytest.mark.parametrize("most", [1, 2, 7, 20, 40])
def test_never_more_than_asked_for_and_never_half_a_family(index: Index, most: int) -> None:
    found = read_branch(index, most=most)
    assert found is not None
    assert len(found) <= most
    for each in found.walk():
        assert len(each.below) in (0, len(each.concept.children))
        assert each.hidden == (0 if each.below else len(each.concept.children))


def test_depth_and_beginning(index: Index, branch: Branch) -> None:
    two = read_branch(index, depth=2)
    assert two is not None
    assert max(each.concept.depth for each in two.walk()) == 2
    inner = next(each for each in branch.below if each.below)
    part = read_branch(index, concept=inner.concept.id)
    assert ids(part) == [each.concept.id for each in inner.walk()]
    short = read_branch(index, concept=inner.concept.id, depth=1)
    assert ids(short) == [inner.concept.id, *(child.concept.id for child in inner.below)]


def test_groups_of_a_cut(index: Index, texts: dict[str, str]) -> None:
    hits = index.search("wolf bear bread", k=4)
    for n in (2, 5, len(texts) - 3):
        topics = index.topics(n)
        found = branch_of_topics(index, topics)
        assert found is not None
        assert found.name == "everything"
        assert [each.concept.id for each in found.below] == [group.id for group in topics.concepts]
        assert all(each.name == each.concept.label for each in found.below)
        marked = mark(found, hits, topics.assignments)
        assert [answer.id for answer in marked.answers] == [hit.id for hit in hits]
        for each in marked.below:
            here = [hit.id for hit in hits if topics.assignments[hit.id] == each.concept.id]
            assert [answer.id for answer in each.answers] == here
    group = next(group for group in index.topics(5).concepts if group.children)
    assert ids(branch_of_topics(index, index.topics(1))) == [group.path[0]]
    assert ids(branch_of_topics(index, index.topics(5), concept=group.id)) == [group.id]


def test_nothing_to_show_and_wrong_limits(index: Index) -> None:
    with Index(encoder=bag.encode) as empty:
        assert read_branch(empty) is None
        assert branch_of_topics(empty, empty.topics(3)) is None
    with pytest.raises(ParameterError, match="at least 1"):
        read_branch(index, most=0)
    with pytest.raises(UnknownIdError):
        read_branch(index, concept=10**6)


def test_answers_are_marked_on_their_whole_path(index: Index, branch: Branch) -> None:
    hits = index.search("wolf bear bread", k=4)
    marked = mark(branch, hits)
    assert [answer.id for answer in marked.answers] == [hit.id for hit in hits]
    assert [answer.rank for answer in marked.answers] == [1, 2, 3, 4]
    for each in marked.walk():
        here = {hit.id for hit in hits if each.concept.id in {step.id for step in hit.path}}
        assert {answer.id for answer in each.answers} == here
    assert not branch.answers
