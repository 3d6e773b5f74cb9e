"""Which concepts a query fits, each at the level of generality that fits it best.

In: the tree and a query in its space. Out: the shown concepts where the score peaks, best first.

    score(c) = P(c)^⅓ · [log p(x|c) − log p(x|root)]

Going down a path, the score rises while concepts get closer to the query and falls once they get too special. The
log density alone always prefers the smallest concepts; weighted by P itself, as in category utility, the largest.
With documents of banking77 as queries, the best match had an F1 with the query's class of .03 for the log density
alone, .36 for the third root of P, .38 for the square root, .13 for P. All shown
internal nodes are scored.
"""

import numpy as np

from gossamer.array_types import Floats
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.browsing import shown_below
from gossamer.tree.scoring import log_ps


def matching(t: TreeArrays, x: Floats, k: int) -> list[tuple[int, float]]:
    """At most k pairs of a shown node and its score, best first, for a query `x` in the tree's space.

    The root has score 0. Concepts below 0 are left out; where none is left, the root is the answer.
    """
    root = int(t.meta[Meta.ROOT])
    nodes, parents, counts = shown_below(t, root)
    places = np.flatnonzero(counts > 0)[1:]  # without the root
    if not len(places):
        return [(root, 0.0)]
    score, below = np.zeros(len(nodes)), np.full(len(nodes), -np.inf)
    density = log_ps(t, x, nodes[places]) - log_ps(t, x, nodes[:1])
    score[places] = np.cbrt(t.size[nodes[places]] / t.size[root]) * density
    above = parents[places]
    np.maximum.at(below, above, score[places])
    is_peak = (score[places] > score[above]) & (score[places] >= below[places]) & (score[places] > 0.0)
    peaks = places[is_peak]
    best = peaks[np.lexsort((nodes[peaks], -score[peaks]))][:k] if len(peaks) else np.zeros(1, np.int64)
    return [(int(nodes[place]), float(score[place])) for place in best]
