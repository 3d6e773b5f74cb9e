"""The tables of docs/gpu.md, from docs/results/gpu.json.

    python benchmarks/gpu_tables.py [PART=REPORT.json …]

`benchmarks/gpu.py --json` writes a report. One that is named here takes the place of its part in docs/results/gpu.json:
`pairs` and `pairs-small` (all pairs), `million` (building, ranking), `large`. Then all tables are written again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gossamer_lab.tables import Row, Table, markdown

DOCS = Path(__file__).resolve().parents[1] / "docs"
DATA, PAGE = DOCS / "results" / "gpu.json", DOCS / "gpu.md"

_STEPS = {
    "nearest_on_device": "all pairs compared, on the card",
    "_merge_nearest": "clusters merged",
    "agglomerate_leaves": "the tree, with the two above",
    "link_leaves": "links",
    "_calibrate": "calibration",
    "all": "`add`, all of it",
}
"""Steps of building that the table shows; others are parts of these, or short."""


def written(runs: dict[str, Any]) -> dict[str, str]:
    """By mark: the text that stands there."""
    return {"made": made(runs)} | {table.key: markdown(table) for table in tables(runs)}


def made(runs: dict[str, Any]) -> str:
    """Where the figures come from."""
    run, peak = runs["million"], runs["million"]["peak"]
    versions = ", ".join(f"{name} {run[name.lower()]}" for name in ("Python", "Torch", "Triton", "NumPy", "Numba"))

    def peaks(name: str, digits: int = 0) -> str:
        """The least and the most that was measured in these runs."""
        seen = sorted(each["peak"][name] for each in runs.values())
        return f"{seen[0]:.{digits}f} to {seen[-1]:.{digits}f}"

    return (
        f"Made by `python benchmarks/gpu.py` and `python benchmarks/gpu_tables.py` · {run['data']} · all pairs "
        f"{runs['pairs']['date']}, everything else {run['date']} · {peak['device']}, {run['cores']} cores · {versions}."
        f" Measured on this card, by run: {peaks('int8 TOP/s')} TOP/s of int8, {peaks('bf16 TFLOP/s')} TFLOP/s of "
        f"bfloat16, {peaks('fp32 TFLOP/s', 1)} of float32, {peaks('copy TB/s', 1)} TB/s of memory.\n"
    )


def tables(runs: dict[str, Any]) -> list[Table]:
    """All tables of the page."""
    shares: dict[str, int | str] = {"s": 3, "TOP/s": 0, "of the products alone, int8": 2}
    shares["of the card's int8 peak"] = ".0%"
    ranked: dict[str, int | str] = {"ms": 1, "×": 2, "error seen, of its bound": ".1%"}
    return [
        Table("gpu-bars", "the bars", bars(runs)),
        Table("gpu-pairs", "all pairs", pairs(runs), digits=shares),
        Table("gpu-build", "seconds of building", build(runs)),
        Table("gpu-rank", "1,000 queries at once, a million vectors", rank(runs), digits=ranked),
        Table("gpu-search", "milliseconds a query, 1,000 at once", search(runs), digits={"ms": 3, "recall@10": 3}),
    ]


def bars(runs: dict[str, Any]) -> list[Row]:
    """What was wanted, and what was measured."""
    fused = named(runs["pairs"]["neighbours"], "fused (Triton, int8)")["times int8 products"]
    ranked = {row["what"]: row.get("times dot product") for row in runs["million"]["path-sum"]}
    found: list[Row] = [{"what": "all pairs / products alone, int8", "measured": f"{fused:.2f}×"}]
    for name in ("path gain", "path-sum"):
        met = ranked[name] <= 1.5
        found.append({
            "what": f"{name} / dot product + topk, float32", "measured": f"{ranked[name]:.2f}×", "bar": "≤ 1.5×",
            "met": met,
        })  # fmt: skip
    return found


def pairs(runs: dict[str, Any]) -> list[Row]:
    """All pairs of codes, by what compares them."""
    return [
        {
            "vectors": runs[part]["rows"], "what": row["what"], "s": row["s"], "TOP/s": row.get("TOP/s"),
            "of the products alone, int8": row.get("times int8 products"),
            "of the card's int8 peak": row.get("of int8 peak"),
        }
        for part in ("pairs-small", "pairs")
        for row in runs[part]["neighbours"]
    ]  # fmt: skip


def build(runs: dict[str, Any]) -> list[Row]:
    """Steps of building; calls of the same step are added up."""
    seconds: dict[str, dict[int, float]] = {}
    sizes = {"million": runs["million"]["rows"], "large": runs["large"]["large"]}
    for part, steps in (("million", "build"), ("large", "large-build")):
        for row in runs[part][steps]:
            of_step = seconds.setdefault(row["step"], {})
            of_step[sizes[part]] = of_step.get(sizes[part], 0.0) + row["s"]
    return [
        {"step": title, **{f"{size:,} vectors": seconds.get(step, {}).get(size) for size in sizes.values()}}
        for step, title in _STEPS.items()
    ]


def rank(runs: dict[str, Any]) -> list[Row]:
    """Exhaustive ranking beside a dot product and topk."""
    return [
        {
            "what": row["what"], "ms": row["s"] * 1000, "×": row.get("times dot product"),
            "the step on the card alone, ms": None if "first step" not in row else row["first step"] * 1000,
            "error seen, of its bound": None if "bound" not in row else row["off by"] / row["bound"],
        }
        for row in runs["million"]["path-sum"]
    ]  # fmt: skip


def search(runs: dict[str, Any]) -> list[Row]:
    """Searches through `VectorIndex.search`."""
    found: list[Row] = []
    for part, key, size in (("million", "search", "rows"), ("large", "large-search", "large")):
        for row in runs[part][key]:
            nodes = row.get("nodes")
            found.append({
                "vectors": runs[part][size], "search": 'method="path-sum"' if nodes is None else row["what"],
                "ms": row["ms a query"], "recall@10": row.get("recall"),
                "nodes scored": runs[part][size] if nodes is None else int(nodes), "leaves kept": row.get("width"),
            })  # fmt: skip
    return found


def named(rows: list[dict[str, Any]], what: str) -> dict[str, Any]:
    return next(row for row in rows if row["what"] == what)


def fill(page: str, blocks: dict[str, str]) -> str:
    """A page with blocks between their marks."""
    for key, text in blocks.items():
        start, end = f"<!-- table {key} -->\n", "<!-- end -->"
        before, after = page.split(start, 1)
        page = before + start + text + end + after.split(end, 1)[1]
    return page


def main(given: list[str]) -> None:
    data = json.loads(DATA.read_text())
    for each in given:
        part, _, file = each.partition("=")
        if part not in data["runs"]:
            sys.exit(f"{part!r} is no part of {DATA.name}: {', '.join(data['runs'])}")
        data["runs"][part] = {**data["runs"][part], **json.loads(Path(file).read_text())}
    if given:
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(fill(PAGE.read_text(), written(data["runs"])))


if __name__ == "__main__":
    main(sys.argv[1:])
