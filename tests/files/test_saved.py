"""Saved indices with valid checksums that cannot be used: each part says so in a `CorruptError`."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer import VectorIndex
from gossamer.errors import CorruptError, DiskError, GossamerError, NotAnIndexError, ParameterError
from gossamer.files.bundle import MANIFEST, Bundle, checksum, read_bundle, verifying, write_bundle
from gossamer.store.layout import Layout
from gossamer.store.snapshots import is_snapshot_of, reading_snapshot


def vectors(n: int, dim: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


@pytest.fixture(scope="module")
def linked() -> Bundle:
    """Whitened, linked and measured."""
    index = VectorIndex(6)
    index.add(vectors(1300, 6))
    index.settle()
    return index.to_bundle()


@pytest.fixture(scope="module")
def young() -> Bundle:
    """Still to be whitened, with ids that are words."""
    index = VectorIndex(3)
    index.add(vectors(20, 3), [f"n° {at}" for at in range(20)])
    index.remove(["n° 3"])
    return index.to_bundle()


def own(bundle: Bundle) -> Bundle:
    return Bundle(copy.deepcopy(bundle.params), {name: array.copy() for name, array in bundle.arrays.items()})


def setting(*path: str, to: Any) -> Callable[[Bundle], None]:
    def change(bundle: Bundle) -> None:
        holder = bundle.params
        for name in path[:-1]:
            holder = holder[name]
        holder[path[-1]] = to

    change.__name__ = f"{'.'.join(path)}={str(to)[:20]}"
    return change


def entry(name: str, at: Any, to: Any) -> Callable[[Bundle], None]:
    def change(bundle: Bundle) -> None:
        bundle.arrays[name][at] = to

    change.__name__ = f"{name}[{at}]={to}"
    return change


def array(name: str, make: Callable[[Any], Any]) -> Callable[[Bundle], None]:
    def change(bundle: Bundle) -> None:
        bundle.arrays[name] = make(bundle.arrays[name])

    change.__name__ = name
    return change


def without(*names: str) -> Callable[[Bundle], None]:
    def change(bundle: Bundle) -> None:
        for name in names:
            del bundle.arrays[name]

    change.__name__ = f"without {names}"
    return change


LINKED: list[Callable[[Bundle], None]] = [
    entry("guide.to", (5, 0), -1), entry("guide.to", (5, 0), 1300), entry("guide.to", (5, 0), 2**31 - 1),
    entry("guide.degree", 5, 33), entry("guide.degree", 5, -2), entry("guide.unit", 0, 0.0),
    entry("guide.unit", 0, np.nan), entry("guide.step", 0, -1.0), entry("guide.step", 0, np.inf),
    entry("guide.centre", 0, np.nan), entry("guide.recalls", 0, np.nan), entry("guide.recalls", 0, 1.5),
    array("guide.to", lambda a: a[:-1]), array("guide.to", lambda a: a[:, :-1].copy()),
    array("guide.to", lambda a: a.astype(np.int64)), array("guide.length", lambda a: a[:3]),
    array("guide.degree", lambda a: a[:-1]), array("guide.centre", lambda a: a[:-1]),
    array("guide.step", lambda a: a[:0]), array("guide.unit", lambda a: a.astype(np.float32)),
    array("guide.recalls", lambda a: a[None]), without("guide.step"), without("guide.to"), without("guide.unit"),
    setting("guide", "links", to=1), setting("guide", "unlinked", to="no"), setting("guide", "sized_for", to=-1),
    setting("guide", "stirred", to=1.5), setting("guide", "removed", to=None), setting("guide", to=[]),
    setting("guide", "calibrated_for", to=2**70), setting("tree", to=3), setting("whitener", to=None),
    entry("whitener.components", (0, 0), np.nan), entry("whitener.mean", 0, np.inf),
    entry("whitener.explained_variance", 0, -1.0), array("whitener.explained_variance", lambda a: a[:-1]),
    array("whitener.components", lambda a: a[:-1].copy()), array("whitener.components", lambda a: a[:0]),
    array("whitener.components", lambda a: a.astype(np.float64)), array("whitener.mean", lambda a: a[:-1]),
    setting("whitener", "sphere", to=3), setting("whitener", "ica", to=None), setting("whitener", "strength", to=[]),
    setting("whitener", "n_components", to={}), setting("whitener", "fitted_strength", to=float("nan")),
    setting("whitener", "fitted_mean_cosine", to="0"), setting("whitener", "random_state", to=-1),
    setting("dim", to=7), setting("dim", to=0), setting("dim", to=2**40), setting("dim", to=True),
    setting("preset", to="x"), setting("preset", to=[]), setting("acuity", to="x"), setting("acuity", to=10**400),
    setting("acuity", to=[]), setting("context", to=float("nan")), setting("context", to="1"),
    setting("structure", to="never"), setting("structure", to=3.5), setting("structure", to=None),
    setting("sized_for", to=-1), setting("clock", to=-1), setting("clock", to=1.5), setting("started", to=[]),
    setting("started_size", to=None), entry("id_numbers", 0, 2**60), entry("id_numbers", 0, -1),
    entry("id_numbers", 0, 1), entry("id_values", 0, 1), entry("id_values", 0, -1), entry("id_next", 0, 5),
    entry("id_next", 0, 2**63 - 1), array("id_values", lambda a: a[:-1]), array("id_numbers", lambda a: a[:-1]),
    array("id_values", lambda a: a.astype(np.float64)), array("id_next", lambda a: a[:0]), without("id_numbers"),
    without("id_values"),
]  # fmt: skip

YOUNG: list[Callable[[Bundle], None]] = [
    entry("raw", (2, 1), np.nan), entry("raw", (2, 1), 3e38), entry("raw_numbers", 2, 3), entry("raw_numbers", 2, 99),
    array("raw", lambda a: a[:-1]), array("raw", lambda a: a[:, :-1].copy()), array("raw", lambda a: a.astype(int)),
    without("raw"), without("raw", "raw_numbers"), without("raw_numbers"),
    entry("id_ends", 1, 2), entry("id_ends", 1, -(2**63)), entry("id_ends", -1, 2**40),
    array("id_ends", lambda a: a[:-1]), array("id_text", lambda a: a[:-1]), array("id_text", lambda a: a.view(np.int8)),
    array("id_text", lambda a: np.full_like(a, 255)), array("id_text", lambda a: np.full_like(a, 65)),
    setting("to_be_fitted", to=3), setting("to_be_fitted", to={"more": 1}), setting("to_be_fitted", to=[1]),
]  # fmt: skip


@pytest.mark.parametrize("harm", LINKED)
def test_parts_of_a_linked_index(linked: Bundle, harm: Callable[[Bundle], None]) -> None:
    bundle = own(linked)
    harm(bundle)
    with pytest.raises(CorruptError, match="restore it from a copy"):
        VectorIndex.from_bundle(bundle)


@pytest.mark.parametrize("harm", YOUNG)
def test_parts_of_an_index_before_it_is_whitened(young: Bundle, harm: Callable[[Bundle], None]) -> None:
    bundle = own(young)
    harm(bundle)
    with pytest.raises(CorruptError, match="restore it from a copy"):
        VectorIndex.from_bundle(bundle)


DEFAULTED = (
    *("unlinked", "to_be_fitted", "whitener", "clock", "center", "fitted_centering", "calibrated_width"),
    "entry_version",
)
"""Settings that older files lack."""


def test_every_setting_is_needed_or_has_a_default(linked: Bundle, young: Bundle) -> None:
    for bundle in (linked, young):
        for part in ((), ("tree",), ("guide",), ("whitener",)):
            holder = bundle.params if not part else bundle.params.get(part[0], {})
            for name in holder:
                changed = own(bundle)
                del (changed.params if not part else changed.params[part[0]])[name]
                try:
                    VectorIndex.from_bundle(changed).check()
                except CorruptError:
                    continue
                assert name in DEFAULTED, name


def of_an_earlier_version(bundle: Bundle, refine: Any) -> Bundle:
    """As it was saved before trees were renewed as they grow: the whitener was fitted once."""
    gone = ("structure", "clock", "started", "started_size")
    params = {name: value for name, value in bundle.params.items() if name not in gone}
    params.update(refine=refine, refined_for=1000, to_be_fitted=None)
    return own(Bundle(params, {name: array for name, array in bundle.arrays.items() if not name.startswith("raw")}))


@pytest.mark.parametrize(("refine", "renewed"), [("auto", True), (None, False), ("never", False)])
def test_indices_of_earlier_versions_load_and_grow(linked: Bundle, refine: Any, renewed: bool) -> None:
    index = VectorIndex.from_bundle(of_an_earlier_version(linked, refine))
    index.check()
    current = VectorIndex.from_bundle(linked)
    assert index.search(vectors(20, 6), k=5).ids.tolist() == current.search(vectors(20, 6), k=5).ids.tolist()
    index.add(vectors(120, 6, seed=2))
    assert index.renewing == renewed
    index.settle()
    index.check()
    again = VectorIndex.from_bundle(index.to_bundle())
    assert len(again) == 1420
    assert again.to_bundle().params == index.to_bundle().params


@pytest.mark.parametrize("refine", ["living", 3.5])
def test_indices_of_earlier_versions_that_cannot_be_used(linked: Bundle, refine: Any) -> None:
    with pytest.raises(CorruptError, match="restore it from a copy"):
        VectorIndex.from_bundle(of_an_earlier_version(linked, refine))


def test_parts_of_two_indices_do_not_make_one(linked: Bundle) -> None:
    other = VectorIndex(6)
    other.add(vectors(1200, 6, seed=1))
    other.settle()
    theirs = other.to_bundle()
    for part in ("tree", "guide", "id_"):
        arrays = {name: a for name, a in theirs.arrays.items() if name.startswith(part)}
        params: dict[str, Any] = {part: theirs.params[part]} if part in theirs.params else {}
        mixed = replace(linked, arrays={**linked.arrays, **arrays}, params={**linked.params, **params})
        with pytest.raises(CorruptError):
            VectorIndex.from_bundle(mixed)


def test_what_guides_a_small_tree_is_not_read(young: Bundle) -> None:
    bundle = own(young)
    bundle.arrays["guide.centre"] = np.full(7, np.nan)
    VectorIndex.from_bundle(bundle).check()


def test_ids_that_are_numbers_end_before_they_cannot_be_saved() -> None:
    """The next one would have been saved, and then not loaded."""
    index = VectorIndex(2)
    index.add([[0, 1]], ids=[2**62 - 1])
    with pytest.raises(ParameterError, match="pass ids"):
        index.add([[1, 0]])
    index.add([[1, 0]], ids=[0])
    assert len(VectorIndex.from_bundle(index.to_bundle())) == 2


# -- the manifest --------------------------------------------------------------------------------------


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest, and give it a checksum that fits."""
    manifest = json.loads((folder / MANIFEST).read_text())
    change(manifest)
    manifest["checksum"] = checksum(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "b", "thing", Bundle({"a": 1}, {"x": np.arange(3)}))
    return tmp_path / "b"


MANIFESTS: list[Callable[[dict[str, Any]], object]] = [
    lambda m: m["arrays"].update(file="../b/" + m["arrays"]["file"]),
    lambda m: m["arrays"].update(file="/dev/zero"),
    lambda m: m["arrays"].update(file="a\0b"),
    lambda m: m["arrays"].update(file=""),
    lambda m: m["arrays"].update(file=3),
    lambda m: m["arrays"].update(bytes="7"),
    lambda m: m["arrays"].update(bytes=-1),
    lambda m: m["arrays"].update(sha256=None),
    lambda m: m["arrays"].pop("sha256"),
    lambda m: m.update(arrays=[]),
    lambda m: m.update(arrays=None),
    lambda m: m.update(params=[1]),
    lambda m: m.pop("params"),
    lambda m: m.update(kind=["thing"]),
    lambda m: m.pop("kind"),
]


@pytest.mark.parametrize("change", MANIFESTS)
def test_a_manifest_of_other_types_is_refused(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    rewrite(folder, change)
    with pytest.raises(CorruptError):
        read_bundle(folder, "thing")


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"format": "gossamer", "version": 1, "params": ' + "[" * 900 + "]" * 900 + "}"]
)
def test_a_manifest_nested_without_end_is_refused(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(CorruptError):
        read_bundle(folder, "thing")


def test_a_manifest_of_any_size_is_not_read(folder: Path) -> None:
    with (folder / MANIFEST).open("r+b") as file:
        file.truncate(1 << 40)  # a file with a hole: nothing is written
    with pytest.raises(CorruptError, match="bytes where at most"):
        read_bundle(folder, "thing")


def test_arrays_of_any_size_are_not_read(folder: Path) -> None:
    with next(folder.glob("arrays*")).open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(CorruptError, match="bytes where at most"):
        read_bundle(folder, "thing")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("which", ["manifest*", "arrays*"])
def test_a_pipe_is_not_waited_for(folder: Path, which: str) -> None:
    file = next(folder.glob(which))
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(CorruptError, match="not a regular file"):
        read_bundle(folder, "thing")


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [("BF16", [1], 2), ("F8_E5M2", [1], 1), ("F32", [0, 2**62], 0), ("F32", [2**40, 2**40], 0), ("I64", [2], 8)],
)
def test_arrays_that_no_array_can_be_are_refused(folder: Path, dtype: str, shape: list[int], size: int) -> None:
    header = json.dumps({"x": {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}}).encode()
    blob = len(header).to_bytes(8, "little") + header + b"\0" * size
    (folder / "arrays-0.safetensors").write_bytes(blob)
    described = {"file": "arrays-0.safetensors", "bytes": len(blob), "sha256": hashlib.sha256(blob).hexdigest()}
    rewrite(folder, lambda m: m.update(arrays=described))
    with pytest.raises(CorruptError, match="cannot be read"):
        read_bundle(folder, "thing")


def test_a_missing_manifest_is_still_no_index(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    with pytest.raises(NotAnIndexError):
        read_bundle(folder, "thing")
    (folder / MANIFEST).mkdir()
    with pytest.raises(DiskError):
        read_bundle(folder, "thing")


def test_a_snapshot_without_vectors_is_refused(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    write_bundle(layout.snapshot(3), "snapshot", Bundle({"seq": 3, "identity": "i"}, {}))
    assert is_snapshot_of(layout, 3, "i")
    with pytest.raises(CorruptError, match="lacks 'vectors'"), reading_snapshot(layout, 3, "i"):
        pass
    rewrite(layout.snapshot(3), lambda m: m.update(params=3))
    assert not is_snapshot_of(layout, 3, "i")
    with pytest.raises(GossamerError), reading_snapshot(layout, 3, "i"):
        pass


def test_damage_is_told_whatever_was_made_of_it(tmp_path: Path) -> None:
    write_bundle(tmp_path / "b", "thing", Bundle({}, {"a": np.arange(1000)}))
    (file,) = (tmp_path / "b").glob("arrays-*")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    for fails in (False, True):
        with pytest.raises(CorruptError, match="was altered"):
            read_meanwhile(tmp_path / "b", fails)


def read_meanwhile(path: Path, fails: bool) -> None:
    with verifying(path, "thing") as bundle:
        assert bundle.arrays["a"][0] == 0
        if fails:
            raise ValueError("made of what is damaged")
