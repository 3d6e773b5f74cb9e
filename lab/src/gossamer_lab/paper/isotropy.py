"""What an embedding trained to be isotropic could change, by dimension: the paper's future work, without training.

An isotropic embedding has the same variance along all axes. Scaling the principal axes of a given one to that is the
most that training could do to the variances while it leaves the information alone.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer import Whitener
from gossamer_lab.data.embedded import Embedded
from gossamer_lab.engine import Floats
from gossamer_lab.evaluate.measures import MAIN, depth_for, score
from gossamer_lab.methods.rankers import flat, unit_rows
from gossamer_lab.paper.architectures import TITLES
from gossamer_lab.paper.setting import Missing, Name, Setting, about
from gossamer_lab.tables import Cell, Row, Table

_DIMENSIONS: Final = (16, 32, 64, 128, 256)
_SHAPES: Final = {"as it is": 0.0, "half-way": 0.5, "isotropic": 1.0}
"""Strength of whitening by name."""


def isotropy(setting: Setting) -> list[Table]:
    """nDCG@10 of the cosine over the leading principal axes, with their variances as they are and made equal."""
    rows: list[Row] = []
    names: tuple[Name, ...] = ("qqp", "msmarco")
    for name in names:
        for model in setting.models:
            task = setting.task_or_reason(name, model, setting.sizes.documents, setting.sizes.queries)
            if not isinstance(task, Missing):
                rows += _rows(name, model, task.data)
    notes = [
        f"{MAIN} of the cosine, centred. Effective dimensions: (Σλ)² / Σλ² over the variances λ of the principal axes, "
        "as many as there are if the embedding is isotropic."
    ]
    title = "Isotropy by dimension: leading principal axes, variances as they are and made equal"
    return [Table("isotropy", title, rows, notes, {"mean cosine": 2, "effective dimensions": 0})]


def _rows(name: str, model: str, data: Embedded) -> list[Row]:
    fitted = Whitener(n_components=1.0, strength=1.0, sphere=False).fit(data.E)
    variances = np.asarray(fitted.explained_variance_, np.float64)
    X, Y = fitted.project(data.E), fitted.project(data.Q)
    scales = np.sqrt(variances[: X.shape[1]] / variances[0])
    about_it: dict[str, Cell] = {
        "collection": TITLES[name], "model": about(model).split(",")[0], "mean cosine": fitted.mean_cosine_,
        "effective dimensions": float(variances.sum() ** 2 / (variances**2).sum()),
    }  # fmt: skip
    widths = [width for width in _DIMENSIONS if width < X.shape[1]]
    rows: list[Row] = []
    for shape, strength in _SHAPES.items():
        scaled = np.asarray(scales ** (1.0 - strength), np.float32)
        row: dict[str, Cell] = {**about_it, "variances": shape}
        for width in (*widths, X.shape[1]):
            label = "all" if width == X.shape[1] else str(width)
            row[label] = _ndcg(data, X[:, :width] * scaled[:width], Y[:, :width] * scaled[:width])
        rows.append(row)
    return rows


def _ndcg(data: Embedded, X: Floats, Y: Floats) -> float:
    found = flat(unit_rows(X), unit_rows(Y), depth_for(data.collection), "IndexFlatIP")
    return score(data.collection, found.rows).mean(MAIN)
