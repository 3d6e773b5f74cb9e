"""Each task on small vectors: its tables have the shape and the values that can be known beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from gossamer_lab.bench import build, filters, memory, peers, search, systems
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.report import Report, Row, section, show, write_json
from gossamer_lab.pictures import recall_curves
from gossamer_lab.timing import Times


def quiet(what: str) -> None:
    pass


@pytest.fixture(scope="module")
def searched(data: Data) -> Report:
    return search.run(data, repeats=2, n_threads=1, quick=True, say=quiet)


def rows_of(report: Report, system: str) -> list[Row]:
    return [row for row in report.sections[0].rows if row["system"] == system]


def test_every_system_that_is_installed_takes_part(searched: Report) -> None:
    systems_seen = {row["system"] for row in searched.sections[0].rows}
    ours = {systems.LINKED, systems.TREE, systems.PATH_SUM, systems.PAPER}
    others = {peers.FLAT, peers.IVF, peers.FAISS_HNSW, peers.FAISS_SQ8, peers.USEARCH}
    optional = {peers.HNSWLIB, peers.SYMPHONY, peers.VAMANA}
    assert systems_seen == ours | others | {name for name in optional if peers.is_installed(name)}


def test_what_looks_at_everything_has_recall_one(searched: Report) -> None:
    everything = [row for row in searched.sections[0].rows if row["setting"].endswith("all")]
    assert len(everything) >= 3
    assert all(row["recall"] == 1.0 for row in everything)
    assert rows_of(searched, peers.FLAT)[0]["scored"] == 1500


def test_more_effort_finds_more_and_scores_more(searched: Report) -> None:
    for system, word in ((systems.LINKED, "slack"), (systems.TREE, "budget"), (peers.HNSWLIB, "ef")):
        rows = [row for row in rows_of(searched, system) if row["setting"].startswith(word)]
        recalls = [row["recall"] for row in rows]
        assert recalls == [] or recalls[-1] >= 0.95
        assert all(0.0 <= r <= 1.0 for r in recalls)
        scored = [row["scored"] for row in rows if row["scored"] is not None]
        assert scored == sorted(scored)


def test_times_sizes_and_shares_are_there(searched: Report) -> None:
    for row in searched.sections[0].rows:
        assert 0 < row["µs batch"] <= row["µs batch, median"]
        assert 0 < row["µs single"] <= row["µs single, median"]
        assert row["queries/s"] == pytest.approx(1e6 / row["µs batch"])
        assert row["bytes/vector"] > 4 * 10
        if row["system"].startswith("gossamer"):
            assert 0 < row["share"] < 1.001


def test_the_report_says_what_is_compared(searched: Report) -> None:
    assert any("exact L2" in note for note in searched.sections[0].notes)
    targets = searched.sections[2].rows
    assert {row["target"] for row in targets} == set(systems.TARGETS)
    ends = searched.sections[3].rows
    assert [row["target"] for row in ends] == [0.95, 0.98]


def measured(system: str, setting: str, recall: float, *seconds: float) -> search.Measured:
    built = systems.Built(None, 1.0, 1)
    contender = systems.Contender(system, setting, built, lambda Q: np.zeros((0, 0)), nodes=1000)
    return search.Measured(contender, recall, Times(seconds), Times(seconds), 10.0)


def test_ratios_are_taken_at_the_same_recall() -> None:
    rows = search.compare(
        [
            measured(systems.LINKED, "slack 1.0", 0.94, 5.0, 6.0),
            measured(systems.LINKED, "slack 1.1", 0.97, 10.0, 20.0),
            measured(systems.LINKED, "guided, target 0.9", 0.99, 1.0, 1.0),
            measured(peers.HNSWLIB, "ef 10", 0.96, 10.0, 20.0),
            measured(peers.HNSWLIB, "ef 20", 0.98, 40.0, 20.0),
            measured(peers.FLAT, "all", 1.0, 100.0, 100.0),
        ]
    )
    assert len(rows) == 1  # no slack reaches 0.98
    row = rows[0]
    assert (row["gossamer"], row["share"]) == ("slack 1.1", 0.01)
    # Halfway between 0.96 and 0.98, the geometric mean of the two costs.
    assert row["ratio hnswlib"] == pytest.approx(10.0 / np.sqrt(10.0 * 20.0))
    assert row["ratio hnswlib, worst round"] == pytest.approx(1.0)
    assert row["ratio hnswlib, median round"] == pytest.approx(0.75)
    assert row["ratio faiss flat"] == pytest.approx(0.1)


def test_a_system_that_is_missing_is_named_and_left_out(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    report = build.run(data, repeats=1, n_threads=1, say=quiet)
    ours = [build.GROW, build.REBUILD, build.LOAD, build.LINK, build.ADD]
    others = [peers.USEARCH, peers.FAISS_HNSW, peers.FAISS_SQ8]
    assert [row["what"] for row in report.sections[0].rows] == [*ours, *others]
    assert [note.split(" is ")[0] for note in report.sections[0].notes[1:]] == ["hnswlib", "SymphonyQG", "Vamana"]
    assert report.sections[1].rows == []


def test_raw_vectors_are_searched_through_the_public_calls(data: Data) -> None:
    report = search.run(data, k=20, raw=True, repeats=1, n_threads=1, quick=True, say=quiet)
    ours = rows_of(report, systems.LINKED)
    assert [row["setting"] for row in ours] == [f"target {target}" for target in systems.FINE_TARGETS]
    assert ours[-1]["recall"] >= 0.95
    assert report.settings["k"] == 20
    assert report.sections[1].rows[0][f"ratio {peers.FLAT}, single"] > 0
    assert report.sections[3].rows == []


def test_a_report_is_valid_json_and_can_be_shown(searched: Report, tmp_path: Path) -> None:
    write_json(searched, tmp_path / "report.json")

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    again = json.loads((tmp_path / "report.json").read_text(), parse_constant=refuse)
    assert again["task"] == "search"
    assert len(again["sections"][0]["rows"]) == len(searched.sections[0].rows)
    console = Console(width=200)
    with console.capture() as captured:
        show(searched, console)
    text = captured.get()
    assert "recall" in text
    assert "slack 1.0" in text
    assert "exact L2" in text


def test_numbers_are_written_by_what_they_are() -> None:
    table = section("T", [{"recall@10": 0.98765, "share of nodes": 0.0123, "other": None, "n": 12345, "yes": True}])
    assert table.cells() == [["0.9877", "1.230%", "", "12,345", "yes"]]


def test_the_picture_shows_each_system(searched: Report, tmp_path: Path) -> None:
    curves = search.curves(searched.sections[0].rows)
    assert next(iter(curves)) == systems.LINKED
    assert curves[systems.LINKED] == sorted(curves[systems.LINKED])
    path = recall_curves(curves, tmp_path / "search.png", title="title")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_building_is_compared_with_hnswlib(data: Data) -> None:
    pytest.importorskip("hnswlib", reason="hnswlib is not installed: building is not compared with it")
    report = build.run(data, repeats=1, n_threads=1, say=quiet)
    names = [row["what"] for row in report.sections[1].rows]
    assert names[:3] == ["inserted", "inserted, rebuilt", "inserted, rebuilt, linked"]
    assert names[3:] == ["agglomerated at once", "agglomerated at once, linked", build.ADD]
    ratios = [row["ratio of best rounds"] for row in report.sections[1].rows]
    assert 0 < ratios[0] < ratios[1] < ratios[2]
    assert 0 < ratios[3] < ratios[4]


def test_memory_counts_all_arrays(data: Data) -> None:
    report = memory.run(data, say=quiet)
    sizes = {row["what"]: row["MB"] for row in report.sections[0].rows}
    parts = list(sizes.values())[: list(sizes).index("all arrays")]
    assert sizes["all arrays"] == pytest.approx(sum(parts))
    assert sizes["vectors"] == pytest.approx(data.X.nbytes / 2**20, rel=0.02)
    if Path("/proc/self/statm").exists():
        assert "process, loaded" in sizes


def test_filters_at_every_selectivity(data: Data) -> None:
    report = filters.run(data, repeats=1, n_threads=1, say=quiet)
    rows = {row["filter"]: row for row in report.sections[0].rows}
    one = rows["allowed 0.01%"]
    assert (one["documents"], one["how"], one["recall@10"], one["answers"]) == (1, "all scored", 1.0, 1.0)
    for name, row in rows.items():
        assert row["answers"] == min(10, row["documents"]), name
        if row["how"] == "all scored":
            assert row["recall@10"] == 1.0, name
    for row in report.sections[1].rows:
        assert row["recall lost"] == pytest.approx(row["recall, fresh"] - row["recall, exchanged"])
    assert len(report.sections[2].rows) == 3


def test_an_empty_section_shows_its_notes_alone() -> None:
    report = Report("x", "nothing", {}, [section("empty", [], ["a note [bench]"])])
    console = Console(width=80)
    with console.capture() as captured:
        show(report, console)
    assert "a note [bench]" in captured.get()
    assert "empty" not in captured.get()
