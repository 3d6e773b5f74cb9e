"""Which concepts a query fits, each at the level of generality that fits it best.

In: the tree and a query in its space. Out: the concepts where the score peaks, best first.

    score(c) = P(c)^⅓ · [log p(x|c) − log p(x|root)]

Going down a path, the score rises while concepts get closer to the query and falls once they get too special. The
log density alone always prefers the smallest concepts; weighted by P itself, as in category utility, the largest.
With documents of banking77 as queries, the best match had an F1 with the query's class of .03 for the log density
alone, .36 for the third root of P, .38 for the square root, .13 for P. All internal nodes are scored.
"""

import numpy as np

from gossamer.array_types import Doubles, Floats
from gossamer.runtime.jit import kernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.scoring import log_p


def matching(t: TreeArrays, x: Floats, k: int) -> list[tuple[int, float]]:
    """At most k pairs of a node and its score, best first, for a query `x` in the tree's space.

    The root has score 0. Concepts below 0 are left out; where none is left, the root is the answer.
    """
    root, slots = int(t.meta[Meta.ROOT]), int(t.meta[Meta.SLOTS])
    inner = np.flatnonzero((t.size[:slots] > 0) & (t.n_children[:slots] > 0))
    if not len(inner):
        return [(root, 0.0)]
    density = np.full(slots, -np.inf)
    _fill(t, x, density)
    score = np.full(slots, -np.inf)
    score[inner] = np.cbrt(t.size[inner] / t.size[root]) * (density[inner] - density[root])
    beneath = inner[inner != root]
    below = np.full(slots, -np.inf)
    np.maximum.at(below, t.parent[beneath], score[beneath])
    is_peak = (score[beneath] > score[t.parent[beneath]]) & (score[beneath] >= below[beneath]) & (score[beneath] > 0.0)
    peaks = beneath[is_peak]
    best = peaks[np.lexsort((peaks, -score[peaks]))][:k] if len(peaks) else np.array([root])
    return [(int(node), float(score[node])) for node in best]


@kernel
def _fill(t: TreeArrays, x: Floats, density: Doubles) -> None:
    """Write log p(x|c) of every internal node into `density`."""
    for node in range(t.meta[Meta.SLOTS]):
        if t.size[node] > 0 and t.n_children[node] > 0:
            density[node] = log_p(t, node, x)
