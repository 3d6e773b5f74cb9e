"""The plane of an index: documents as points that stay where they are while others come and go."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bag import encode
from explain.corpus import THEMES, document, documents
from gossamer import Index, Plane

N = 1200


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plane") / "filled.gsm"
    with Index.create(path, encode) as index:
        texts, themes = documents(N)
        index.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
        index.plane(labels=False)
    return path


@pytest.fixture
def own(filled: Path, tmp_path: Path) -> Iterator[Index]:
    shutil.copytree(filled, tmp_path / "own.gsm")
    with Index.open(tmp_path / "own.gsm", encode) as index:
        yield index


def places_of(plane: Plane) -> dict[str, tuple[float, float]]:
    return {id: (float(x), float(y)) for id, (x, y) in zip(plane.ids, plane.positions, strict=True)}


def test_themes_are_regions(own: Index) -> None:
    plane = own.plane()
    assert plane.positions.shape == (N, 2)
    assert plane.positions.dtype == np.float32
    assert list(plane.ids) == own.ids()
    middles = {
        theme: np.median(plane.positions[[id.startswith(theme) for id in plane.ids]], axis=0) for theme in THEMES
    }
    for id, place in places_of(plane).items():
        theme = id.partition("-")[0]
        assert np.linalg.norm(middles[theme] - place) < 0.6
    nearest = [
        min(THEMES, key=lambda theme: float(np.linalg.norm(middles[theme] - place))) == id.partition("-")[0]
        for id, place in places_of(plane).items()
    ]
    assert np.mean(nearest) > 0.75  # by chance 0.2


def test_regions_are_the_shown_concepts(own: Index) -> None:
    plane = own.plane()
    first = {concept.id: concept for concept in own.concepts(1)[1:] if concept.children}
    assert {region.concept for region in plane.regions[0]} == set(first)
    for region in plane.regions[0]:
        members = plane.concepts[:, 0] == region.concept
        assert region.size == members.sum() == len(own.ids(within=region.concept))
        assert region.label == first[region.concept].label
        assert [region.x, region.y] == pytest.approx(np.median(plane.positions[members], axis=0))
    for level, regions in enumerate(plane.regions):
        assert [region.size for region in regions] == sorted((region.size for region in regions), reverse=True)
        assert sum(region.size for region in regions) == (plane.concepts[:, level] >= 0).sum()
    assert {region.label for region in own.plane(labels=False).regions[0]} == {""}


def test_a_new_document_lies_near_its_neighbours_and_no_other_moves(own: Index) -> None:
    before = places_of(own.plane(labels=False))
    texts = own.get(["baking-0"])
    own.add([texts[0].text + " again"], ["new"])
    after = places_of(own.plane(labels=False))
    new = after.pop("new")
    assert after == before
    assert np.linalg.norm(np.subtract(new, before[texts[0].id])) < 0.1
    own.delete("new")
    assert places_of(own.plane(labels=False)) == before


def test_a_rebuilt_tree_moves_little(own: Index) -> None:
    before = own.plane(labels=False)
    own.rebuild()
    after = own.plane(labels=False)
    assert after.operation > before.operation
    assert np.median(np.linalg.norm(after.positions - before.positions, axis=1)) < 0.1
    assert {region.concept for region in after.regions[0]} == {
        concept.id for concept in own.concepts(1)[1:] if concept.children
    }


def test_many_new_documents_move_the_others_a_little(own: Index) -> None:
    before = places_of(own.plane(labels=False))
    texts, _ = documents(500, seed=7)
    own.add(texts, [f"new-{at}" for at in range(len(texts))])
    after = places_of(own.plane(labels=False))
    moved = [float(np.linalg.norm(np.subtract(after[id], place))) for id, place in before.items()]
    assert 0.0 < np.median(moved) < 0.06


def test_places_are_the_same_after_opening_again(own: Index, tmp_path: Path) -> None:
    before = own.plane(labels=False)
    own.close()
    with Index.open(tmp_path / "own.gsm", encode, mode="r") as again:
        assert np.array_equal(again.plane(labels=False).positions, before.positions)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_places_of_few_documents_are_read_again(tmp_path: Path, n: int, caplog: pytest.LogCaptureFixture) -> None:
    with Index.create(tmp_path / "few.gsm", encode) as index:
        index.add([f"{'moon ' * (at + 1)}{'bread ' * (n - at)}" for at in range(n)])
        before = index.plane(labels=False).positions
    with Index.open(tmp_path / "few.gsm", encode) as again:
        assert np.array_equal(again.plane(labels=False).positions, before)
    assert not caplog.records


@pytest.mark.parametrize("damage", ["missing", "cut", "other"])
def test_damaged_places_are_made_again(own: Index, tmp_path: Path, damage: str) -> None:
    before = own.plane(labels=False)
    own.close()
    folder = tmp_path / "own.gsm" / "plane"
    (file,) = folder.glob("arrays-*")
    if damage == "missing":
        shutil.rmtree(folder)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:100])
    else:
        manifest = folder / "manifest.json"
        manifest.write_text(manifest.read_text().replace('"identity": "', '"identity": "x'))
    with Index.open(tmp_path / "own.gsm", encode) as again:
        after = again.plane(labels=False)
        again.check()
    assert np.array_equal(after.positions, before.positions)  # the layout has no randomness


def test_an_index_of_nothing_one_and_copies() -> None:
    with Index(encode) as index:
        assert len(index.plane()) == 0
        assert index.plane().regions == ()
        index.add(["the sun"], ["one"])
        assert index.plane().positions.tolist() == [[0.5, 0.5]]
        index.add(["the sun"] * 5, [f"copy-{at}" for at in range(5)])
        plane = index.plane()
        assert len(plane) == 6
        assert len(np.unique(plane.positions, axis=0)) == 6
        assert np.abs(plane.positions - 0.5).max() <= 0.5


def test_a_document_of_several_passages_is_one_point() -> None:
    with Index(encode, max_tokens=8) as index:
        rng = random.Random(0)
        index.add([" ".join(document(theme, rng) for _ in range(6)) for theme in list(THEMES) * 4])
        assert index.info().passages > len(index)
        plane = index.plane()
        assert len(plane) == len(plane.positions) == len(index)


def test_bytes_hold_the_plane(own: Index) -> None:
    plane = own.plane()
    again = Plane.from_bytes(plane.to_bytes())
    assert np.abs(again.positions - plane.positions).max() <= 0.5 / 65_535 + 1e-7
    assert np.array_equal(again.concepts, plane.concepts)
    assert (again.ids, again.regions, again.operation) == (plane.ids, plane.regions, plane.operation)
    assert Plane.from_bytes(plane.to_bytes(ids=False)).ids == ()


def test_searches_and_changes_go_on_while_it_is_laid_out(own: Index) -> None:
    """Several threads ask for it while others search and add; each gets the plane of some state."""
    errors: list[BaseException] = []

    def guard(work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except BaseException as error:
            errors.append(error)

    def change() -> None:
        for at in range(5):
            own.add([f"sun {at}"], [f"while-{at}"])

    def look() -> None:
        for _ in range(5):
            plane = own.plane(labels=False)
            assert len(plane.ids) == len(plane.positions) >= N

    threads = [threading.Thread(target=guard, args=(work,)) for work in (change, look, look, lambda: own.search("sun"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(own.plane(labels=False)) == N + 5
