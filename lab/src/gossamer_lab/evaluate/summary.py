"""Results as a table: measures, difference from the baseline, spread over orders, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gossamer_lab.evaluate.compare import Difference
from gossamer_lab.evaluate.metrics import AUTHORS, MAIN
from gossamer_lab.evaluate.run import Result
from gossamer_lab.evaluate.tables import Cell, Row, Table

SHOWN = ("Recall@5", "Recall@10", "MRR@5", "MRR@10", "nDCG@5", "nDCG@10")
BRIEF = ("method", "vectors", "Recall@5", MAIN, f"Δ {MAIN}", "95 %", "p")
DIGITS = {"p": 4, f"Δ {MAIN}": 2, "±": 2, "build s": 2, "ms a query": 3}

NOTE = f"In percent. Δ {MAIN}: less the baseline's, with a 95 % bootstrap interval and p of a paired permutation test."
TIMES = "Times: of all queries in one call, when the ranking was made; on a shared machine, so read them loosely."


def table(
    key: str,
    title: str,
    results: Sequence[Result],
    *,
    measures: Sequence[str] = SHOWN,
    beside: Mapping[str, Mapping[str, float]] | None = None,
    notes: Sequence[str] = (),
    authors: bool = False,
    times: bool = True,
) -> Table:
    """A row for each result; `beside` holds the authors' figures by method and measure, in columns with brackets."""
    figures = beside or {}
    printed = {name for each in figures.values() for name in each}
    rows = [_row(each, measures, figures.get(each.method.name, {}), printed, authors, times) for each in results]
    return Table(key, title, rows, [NOTE, *([TIMES] if times else []), *notes], DIGITS, BRIEF)


def _row(
    result: Result, measures: Sequence[str], beside: Mapping[str, float], printed: set[str], authors: bool, times: bool
) -> Row:
    row: dict[str, Cell] = {"method": result.method.ranker, "vectors": result.method.space}
    for name in (*measures, *(AUTHORS[1:] if authors else ())):
        row[name] = result.scores.mean(name)
        if name in printed:
            row[f"[{name}]"] = beside.get(name)
    row |= {f"Δ {MAIN}": None, "95 %": "", "p": None, **differing(result.against)}
    if result.spread is not None:
        row["±"] = result.spread
    if times:
        row |= {"build s": result.build, "ms a query": 1e3 * result.search / max(1, len(result.scores[MAIN]))}
    return row


def query_by_query(query_ids: Sequence[str], results: Sequence[Result]) -> Table:
    """The main measure of every query by every method."""
    rows: list[Row] = [
        {"query": query, **{each.method.name: float(each.scores[MAIN][place]) for each in results}}
        for place, query in enumerate(query_ids)
    ]
    return Table("queries", f"{MAIN} of every query", rows)


def differing(against: Difference | None) -> Row:
    """A difference as three cells."""
    if against is None:
        return {}
    low, high = (f"{value:+.2f}".replace("-", "−") for value in (against.low, against.high))
    return {f"Δ {MAIN}": against.mean, "95 %": f"{low} to {high}", "p": against.p}
