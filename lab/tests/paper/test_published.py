"""The figures that the paper prints, as they are kept."""

from __future__ import annotations

from gossamer_lab.paper.published import LATENCY, LOGGED, SUPERSEDED, cells, kind_of, latency, logged, printed


def test_every_printed_figure_is_there_once() -> None:
    places = [(cell.table, cell.collection, cell.kind, cell.documents, cell.method, cell.measure) for cell in cells()]
    assert len(places) == len(set(places))
    counts: dict[str, int] = {}
    for cell in cells():
        counts[cell.table] = counts.get(cell.table, 0) + 1
    assert counts == {
        "1": 108, "2": 108, "3": 24, "C, QQP": 48, "C, MS MARCO": 48, "4": 15, "C, latency": 12,
    }  # fmt: skip


def test_figures_by_place() -> None:
    assert printed("msmarco", "encoder", 10_000)["best-first@paper", "Recall@5"] == 87.80
    assert printed("qqp", "decoder", 10_000)["path-sum@paper", "nDCG@10 (authors)"] == 28.25
    assert printed("qqp", "encoder", 40_000)["dot@raw", "MRR@10"] == 68.35
    assert printed("msmarco", "encoder-decoder", 20_000)["best-first@paper", "MRR@10"] == 63.90
    assert latency("msmarco")["path-sum@paper", 7_500] == 14.37
    assert latency("qqp")["dot@raw", 1_000] == 0.19
    assert printed("qqp", "encoder", 123) == {}


def test_a_log_of_theirs_has_best_first_equal_to_distance() -> None:
    by_method = {key[3]: values for key, values in LOGGED.items() if key[2] == 7_500}
    assert by_method["l2@paper"] == by_method["best-first@paper"]
    assert logged("qqp", "decoder", 10_000)["l2@paper", "Recall@5"] == 35.30


def test_superseded_figures_stand_beside_others_in_print() -> None:
    for table, size, method, measure, earlier, _ in SUPERSEDED:
        (now,) = {
            cell.value
            for cell in cells()
            if (cell.table, cell.documents, cell.method, cell.measure) == (table, size, method, measure)
            and (table != "2" or cell.kind == "encoder")
        }
        assert now != earlier
        assert measure == LATENCY or abs(now - earlier) < 30


def test_kinds_of_models() -> None:
    names = ("st:all-roberta-large-v1", "minilm", "st:gtr-t5-large", "t5", "hf:gpt2?pool=mean", "smollm2")
    assert [kind_of(name) for name in names] == [
        "encoder", "encoder", "encoder-decoder", "encoder-decoder", "decoder", "decoder",
    ]  # fmt: skip
