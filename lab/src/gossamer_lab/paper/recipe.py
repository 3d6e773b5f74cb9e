"""The parts of the paper's recipe, one at a time: rotation, what whitening is fitted on, path weights, N_max."""

from __future__ import annotations

from typing import Final

from gossamer_lab.evaluate.measures import MAIN
from gossamer_lab.evaluate.run import run
from gossamer_lab.paper.architectures import TITLES
from gossamer_lab.paper.published import Kind, logged
from gossamer_lab.paper.setting import Missing, Name, Setting, about
from gossamer_lab.tables import Cell, Row, Table

_FITTED: Final = ("dot", "l2", "best-first", "path-sum")
_SPACES: Final = ("pca", "paper", "both")
_WEIGHTS: Final = (
    "path-sum", "path-sum-sum", "path-sum-concepts", "path-sum-sum-concepts", "path-sum-linear", "path-sum-quadratic",
    "path-sum-decay", "path-sum-increase", "gain",
)  # fmt: skip
_BUDGETS: Final = ("best-first-100", "best-first-500", "best-first-2000", "best-first")
_NAMES: Final = {
    "path-sum": "mean over the path (the authors' program)", "path-sum-sum": "sum over the path (the formula)",
    "path-sum-concepts": "mean over concepts alone", "path-sum-sum-concepts": "sum over concepts alone",
    "path-sum-linear": "mean, weights growing from 0 to 1", "path-sum-quadratic": "mean, weights 1/(i+1)²",
    "path-sum-decay": "mean, weights ½ⁱ", "path-sum-increase": "mean, weights 2ⁱ", "gain": "the leaf alone (path gain)",
    "best-first-100": "100", "best-first-500": "500", "best-first-2000": "2,000", "best-first": "unlimited",
}  # fmt: skip


def recipe(setting: Setting) -> list[Table]:
    """What each part of the recipe changes, on both collections with the encoder."""
    model = setting.by_kind.get("encoder", setting.models[0])
    whitening: list[Row] = []
    weights: list[Row] = []
    budgets: list[Row] = []
    names: tuple[Name, ...] = ("qqp", "msmarco")
    for name in names:
        task = setting.task_or_reason(name, model, setting.sizes.documents, setting.sizes.queries)
        if isinstance(task, Missing):
            continue
        spaces = ("pca",) if setting.job.quick else _SPACES
        wanted = [f"{ranker}@{space}" for ranker in _FITTED for space in spaces]
        wanted += [setting.method(f"{ranker}@paper") for ranker in (*_WEIGHTS, *_BUDGETS)]
        wanted += [setting.method(f"{ranker}@living") for ranker in _BUDGETS]
        found = run(task, wanted, setting.job.rankings, say=setting.job.say)
        by_name = {each.method.name: each for each in found}
        for space in spaces:
            row: dict[str, Cell] = {"collection": TITLES[name], "vectors": space}
            whitening.append(row | {ranker: by_name[f"{ranker}@{space}"].scores.mean(MAIN) for ranker in _FITTED})
        kind: Kind = "encoder"
        logs = logged(name, kind, setting.sizes.documents)
        for ranker in _WEIGHTS:
            scores = by_name[setting.method(f"{ranker}@paper")].scores
            weights.append(
                {
                    "collection": TITLES[name], "score": _NAMES[ranker], "Recall@5": scores.mean("Recall@5"),
                    "[in a log]": logs.get((f"{ranker}@paper", "Recall@5")), MAIN: scores.mean(MAIN),
                }
            )  # fmt: skip
        for ranker in _BUDGETS:
            row = {"collection": TITLES[name], "N_max": _NAMES[ranker]}
            for space, tree in (("paper", "Cobweb"), ("living", "living")):
                scores = by_name[setting.method(f"{ranker}@{space}")].scores
                row |= {f"{tree}: Recall@5": scores.mean("Recall@5"), f"{tree}: {MAIN}": scores.mean(MAIN)}
            budgets.append(row)
    return _tables(about(model), whitening, weights, budgets)


def _tables(model: str, whitening: list[Row], weights: list[Row], budgets: list[Row]) -> list[Table]:
    return [
        Table(
            "whitening", f"{MAIN} by what the paper's whitening is, {model}", whitening,
            [
                "pca: no rotation by ICA. paper: with it, fitted on documents. both: fitted on documents and queries, "
                "as the authors do on MS MARCO; on QQP they fit on documents."
            ],
        ),
        Table(
            "weights", f"Path-sum by what is summed, {model}", weights,
            [
                "i: the level of a node, 0 for the root. ½ⁱ and 2ⁱ are in the authors' program and logs, not in the "
                "paper. Documents below one concept have equal scores over concepts alone, and come in random order."
            ],
        ),
        Table(
            "budgets", f"Best-first search by N_max, the nodes it may open, {model}", budgets,
            ["The paper does not print N_max; the authors' program sets 100,000, more than any of its trees has."],
        ),
    ]  # fmt: skip
