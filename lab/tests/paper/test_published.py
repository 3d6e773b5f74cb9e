"""The authors' figures: the lines of their logs, and where they stand."""

from __future__ import annotations

from gossamer_lab.paper.published import log_for


def test_the_figures_the_paper_prints() -> None:
    """Recall@5 on QQP, 10,000 documents, RoBERTa-large."""
    log = log_for("qqp", "minilm", 10_000)
    assert log is not None
    printed = {"dot@raw": 86.8, "dot@paper": 86.7, "best-first@raw": 11.1, "best-first@paper": 85.9}
    printed |= {"path-sum@raw": 56.3, "path-sum@paper": 84.9}
    assert {method: log.figures(method)["Recall@5"] for method in log.lines} == printed


def test_what_no_log_has_is_empty() -> None:
    assert log_for("qqp", "minilm", 123) is None
    log = log_for("qqp", "minilm", 10_000)
    assert log is not None
    assert log.figures("guided@default") == {}
