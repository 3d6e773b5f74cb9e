"""Cobweb's loss of n·h beside Ward's rule: the same exact agglomeration by either, at several acuities.

With σ²_d the variance of a concept of n documents in dimension d, and a the acuity,

    n·h = n · Σ_d log(1 + σ²_d/a),    loss(c₁, c₂) = n·h(c₁ ∪ c₂) − n₁·h(c₁) − n₂·h(c₂).

log(1 + v/a) = v/a − v²/2a² + …, so for a far above the variances n·h is SSE/a, the sum of squared distances to the mean
over a, and the loss is Ward's criterion over a:

    ΔSSE(c₁, c₂) = n₁n₂/(n₁+n₂) · ‖μ₁ − μ₂‖²

How far this holds is measured: groups that both trees have, rank correlation of both losses over the same pairs, and
agreement with classes. Ward's tree itself changes with small changes of the data, so it is also compared with Ward's
tree over the same documents but for a twentieth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer_lab.data.embedded import Say
from gossamer_lab.engine import Doubles, Floats, Longs, default_whitening, kernel, subkernel
from gossamer_lab.pictures import Panel, panels
from gossamer_lab.tables import Cell, Report, Row, Table
from gossamer_lab.trees.labelled import Labelled
from gossamer_lab.trees.measures import Dendrogram, dendrogram_purity, nmi

ACUITIES: Final = (0.06, 0.5, 1.0, 5.0, 20.0)
"""Acuities over the mean variance of a dimension: about the paper's, three between, the default, and a larger one."""
WARD: Final = math.inf
"""The acuity that stands for the limit: Ward's rule."""

DOCUMENTS: Final = 2000
"""Documents that are agglomerated, at most: time and memory grow with their square."""
CLUSTERS: Final = 100
"""Clusters of Ward's tree whose pairs are compared."""
LARGE: Final = 10
"""Documents of a group that is compared by its Jaccard index."""
SAME: Final = 0.9
"""The Jaccard index from which on two groups count as the same."""
LEFT_OUT: Final = 0.05
_BLOCK: Final = 32
"""Dimensions whose factors are multiplied before a logarithm is taken. Each is below 1e9, so none overflows."""

# -- agglomeration -------------------------------------------------------------------------------------


def agglomerate(X: Doubles, acuity: float) -> Longs:
    """The two clusters merged at each step, those whose union loses least; with acuity WARD, by Ward's rule.

    All pairs are compared. Rows are named 0 … n − 1 and unions n, n + 1 ...; ties go to the lowest row.
    """
    merges = np.empty((len(X) - 1, 2), np.int64)
    _merge_all(X.copy(), np.zeros_like(X), acuity, merges)
    return merges


@kernel
def _merge_all(mean: Doubles, m2: Doubles, acuity: float, merges: Longs) -> None:
    """Merge until one is left. A union takes the place of its first part; `mean` and `m2` are overwritten."""
    count = mean.shape[0]
    size, cost, names = np.ones(count), np.zeros(count), np.arange(count)  # cost: n·h
    losses = np.full((count, count), np.inf)
    nearest, least = np.zeros(count, np.int64), np.full(count, np.inf)
    for one in range(count):
        for other in range(one):
            losses[one, other] = losses[other, one] = _loss(mean, m2, size, cost, one, other, acuity)
    for one in range(count):
        nearest[one] = np.argmin(losses[one])
        least[one] = losses[one, nearest[one]]
    for step in range(count - 1):
        first = np.argmin(least)
        one, other = min(first, nearest[first]), max(first, nearest[first])
        merges[step, 0], merges[step, 1] = names[one], names[other]
        cost[one] += cost[other] + least[first]
        _pool(mean, m2, size, one, other)
        names[one], names[other] = count + step, -1
        losses[other, :] = np.inf
        losses[:, other] = np.inf
        least[other] = np.inf
        for k in range(count):
            if names[k] >= 0 and k != one:
                losses[one, k] = losses[k, one] = _loss(mean, m2, size, cost, one, k, acuity)
        for k in range(count):
            if names[k] >= 0 and (k == one or nearest[k] == one or nearest[k] == other or losses[k, one] <= least[k]):
                nearest[k] = np.argmin(losses[k])
                least[k] = losses[k, nearest[k]]


@subkernel
def _loss(mean: Doubles, m2: Doubles, size: Doubles, cost: Doubles, one: int, other: int, acuity: float) -> float:
    """What the union of two clusters loses: see the module."""
    total = size[one] + size[other]
    between = size[one] * size[other] / total
    lost = 0.0
    for start in range(0, mean.shape[1], _BLOCK):
        a, b = mean[one, start : start + _BLOCK], mean[other, start : start + _BLOCK]
        if acuity == np.inf:
            for d in range(a.shape[0]):
                lost += between * (a[d] - b[d]) * (a[d] - b[d])
            continue
        q, r = m2[one, start : start + _BLOCK], m2[other, start : start + _BLOCK]
        product, factor = 1.0, 1.0 / (total * acuity)
        for d in range(a.shape[0]):
            product *= 1.0 + factor * (q[d] + r[d] + between * (a[d] - b[d]) * (a[d] - b[d]))
        lost += total * math.log(product)
    return lost - cost[one] - cost[other] if acuity < np.inf else lost


@subkernel
def _pool(mean: Doubles, m2: Doubles, size: Doubles, one: int, other: int) -> None:
    """Add the moments of a cluster to those of another (Chan et al. 1979)."""
    share = size[other] / (size[one] + size[other])
    for d in range(mean.shape[1]):
        delta = mean[other, d] - mean[one, d]
        m2[one, d] += m2[other, d] + delta * delta * size[one] * share
        mean[one, d] += delta * share
    size[one] += size[other]


# -- comparing trees -----------------------------------------------------------------------------------


def groups_of(merges: Longs, most: int) -> Longs:
    """The group of each row when the last merges are undone, so that there are `most` groups."""
    rows = len(merges) + 1
    cluster = np.arange(rows + len(merges))
    for step in range(rows - most - 1, -1, -1):
        cluster[merges[step]] = cluster[rows + step]
    return np.unique(cluster[:rows], return_inverse=True)[1].astype(np.int64)


def unions(merges: Longs) -> Floats:
    """The members of each union but the last, which are all: ones and zeros, a row for each union."""
    rows = len(merges) + 1
    members = np.eye(2 * rows - 1, rows, dtype=np.float32)
    for step, (one, other) in enumerate(merges):
        members[rows + step] = members[one] + members[other]
    return members[rows:-1]


def in_common(groups: Floats, others: Floats) -> tuple[float, float]:
    """The share of groups that are among others, and of the large ones the share that have one nearly the same."""
    known = {row.tobytes() for row in np.packbits(others > 0, axis=1)}
    exactly = np.mean([row.tobytes() in known for row in np.packbits(groups > 0, axis=1)])
    large, candidates = groups[groups.sum(axis=1) >= LARGE], others[others.sum(axis=1) >= SAME * LARGE]
    if not len(large) or not len(candidates):
        return float(exactly), math.nan
    both = large @ candidates.T
    jaccard = both / (large.sum(axis=1)[:, None] + candidates.sum(axis=1) - both)
    return float(exactly), float((jaccard.max(axis=1) >= SAME).mean())


class Pairs:
    """All pairs of the clusters that are left when Ward's rule has come down to CLUSTERS, with both losses."""

    def __init__(self, X: Doubles, merges: Longs) -> None:
        group = groups_of(merges, min(CLUSTERS, len(X)))
        members = [X[group == number] for number in range(int(group.max()) + 1)]
        self._n = np.array([len(each) for each in members], np.float64)
        self._variance = np.array([each.var(axis=0) for each in members])
        means = np.array([each.mean(axis=0) for each in members])
        self._one, self._other = np.triu_indices(len(members), 1)
        self._total = self._n[self._one] + self._n[self._other]
        share = self._n[self._one] * self._n[self._other] / self._total
        self._added = share[:, None] * (means[self._one] - means[self._other]) ** 2
        self.ward: Doubles = self._added.sum(axis=1)

    def losses(self, acuity: float) -> Doubles:
        """The loss of n·h of each pair."""
        squares = self._n[:, None] * self._variance
        variance = (squares[self._one] + squares[self._other] + self._added) / self._total[:, None]
        apart = self._n * np.log1p(self._variance / acuity).sum(axis=1)
        lost: Doubles = self._total * np.log1p(variance / acuity).sum(axis=1) - apart[self._one] - apart[self._other]
        return lost


# -- the table and the picture -------------------------------------------------------------------------


def rows(data: Labelled, say: Say, seed: int = 0) -> Iterator[Row]:
    """A row for Ward's rule, one for Ward's rule over fewer documents, and one for n·h at each acuity."""
    from scipy.stats import spearmanr

    data = data.sample(DOCUMENTS, seed)
    X = default_whitening().fit(data.E).transform(data.E).astype(np.float64)
    variance = float(X.var(axis=0).mean())
    say(f"{data.name}: Ward's rule", 0, len(ACUITIES))
    merges = agglomerate(X, WARD)
    usual, pairs = unions(merges), Pairs(X, merges)
    yield {"collection": data.name, "agglomerated by": BY_WARD, **_quality(data.classes, merges)}
    kept = np.sort(np.random.default_rng(seed).permutation(len(X))[round(LEFT_OUT * len(X)) :])
    fewer = agglomerate(X[kept], WARD)
    yield {
        "collection": data.name,
        "agglomerated by": f"{BY_WARD}, {LEFT_OUT:.0%} left out",
        **_shares(usual[:, kept][usual[:, kept].sum(axis=1) > 1], unions(fewer)),
        **_quality(data.classes[kept], fewer),
    }
    for done, ratio in enumerate(ACUITIES):
        say(f"{data.name}: n·h, acuity {ratio}", done, len(ACUITIES))
        merges, lost = agglomerate(X, ratio * variance), pairs.losses(ratio * variance)
        yield {
            "collection": data.name,
            "agglomerated by": BY_LOSS,
            "acuity / variance": ratio,
            **_shares(usual, unions(merges)),
            "rank correlation": float(spearmanr(lost, pairs.ward).statistic),
            "a · loss / ΔSSE": float(np.median(ratio * variance * lost / pairs.ward)),
            **_quality(data.classes, merges),
        }


def _shares(groups: Floats, others: Floats) -> dict[str, Cell]:
    exactly, nearly = in_common(groups, others)
    return {_EXACTLY: exactly, _NEARLY: nearly}


def _quality(classes: Longs, merges: Longs) -> dict[str, Cell]:
    classes = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    return {
        _PURITY: dendrogram_purity(Dendrogram.of_merges(merges), classes),
        "NMI": nmi(groups_of(merges, int(classes.max()) + 1), classes),
    }


BY_WARD, BY_LOSS = "Ward's rule", "n·h"
_EXACTLY, _NEARLY, _PURITY = "groups in common", f"of ≥ {LARGE}, Jaccard ≥ {SAME}", "dendrogram purity"
_ORDER: Final = (
    "collection", "agglomerated by", "acuity / variance", _EXACTLY, _NEARLY, "rank correlation", "a · loss / ΔSSE",
    _PURITY, "NMI",
)  # fmt: skip
_NOTE: Final = (
    f"At most {DOCUMENTS:,} documents of each, in the whitened space of the default, all pairs compared. Groups in "
    f"common: of all groups of Ward's tree, those that are in the other tree too; then of those with {LARGE} or more "
    f"documents, by a Jaccard index of at least {SAME}. Rank correlation (Spearman), and median of a · loss / ΔSSE: "
    f"over all pairs of the last {CLUSTERS} clusters of Ward's tree. NMI: of as many groups as there are classes."
)


def table(found: list[Row]) -> Table:
    """All rows together."""
    found = [{name: row.get(name) for name in _ORDER} for row in found]
    digits = dict.fromkeys(("rank correlation", "a · loss / ΔSSE", _PURITY, "NMI"), 3)
    shown = {"acuity / variance": "g", _EXACTLY: ".0%", _NEARLY: ".0%"}
    brief = ("collection", "agglomerated by", "acuity / variance", _EXACTLY, "rank correlation", "NMI")
    return Table("tree-ward", "Cobweb's loss of n·h beside Ward's rule", found, [_NOTE], {**digits, **shown}, brief)


def picture(report: Report, out: Path) -> list[Path]:
    """Draw what the two have in common over the acuity, and how well n·h does beside Ward's rule."""
    (drawn,) = [table for table in report.tables if table.key == "tree-ward"]
    ward: dict[Any, Row] = {row["collection"]: row for row in drawn.rows if row["agglomerated by"] == BY_WARD}
    again = [row[_EXACTLY] for row in drawn.rows if "left out" in str(row["agglomerated by"])]

    def curves(column: str, *, relative: bool) -> dict[str, list[tuple[float, float]]]:
        found: dict[str, list[tuple[float, float]]] = {str(name): [] for name in ward}
        for row in drawn.rows:
            at, value, base = row.get("acuity / variance"), row.get(column), ward[row["collection"]].get(column)
            if isinstance(at, float) and isinstance(value, float):
                found[str(row["collection"])].append(
                    (at, value / base if relative and isinstance(base, float) else value)
                )
        return found

    left_out = float(np.mean([share for share in again if isinstance(share, float)]))
    shown = [
        Panel(
            f"groups in common (dashed: Ward, {LEFT_OUT:.0%} left out)",
            curves(_EXACTLY, relative=False),
            level=left_out,
        ),
        Panel("rank correlation of the losses", curves("rank correlation", relative=False), level=1.0),
        Panel("dendrogram purity, ratio to Ward's", curves(_PURITY, relative=True), level=1.0),
        Panel("NMI, ratio to Ward's", curves("NMI", relative=True), level=1.0),
    ]
    path = out / report.name / "ward.png"
    return [panels(shown, path, across="acuity / mean variance", columns=2, logarithmic=True)]
