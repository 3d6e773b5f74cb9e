"""Kernels that Python can call, around kernels that only kernels may call."""

from __future__ import annotations

from typing import Any

from gossamer.graph import codes, linking, links, walk
from gossamer.runtime.jit import kernel
from gossamer.tree import scoring

_log_p, _fill, _leaves_beside = scoring.log_p, scoring.fill, linking.leaves_beside
_code_distance, _encode_query, _thin = codes.code_distance, codes.encode_query, links.thin
_nearest_parts = walk.nearest_parts


@kernel
def log_p(t: Any, node: int, x: Any) -> float:
    return _log_p(t, node, x)


@kernel
def fill(t: Any, leaves: Any, scores: Any, allowed: Any, documents: Any, scores_out: Any) -> None:
    _fill(t, leaves, scores, allowed, documents, scores_out)


@kernel
def leaves_beside(t: Any, row: int, out: Any) -> int:
    return _leaves_beside(t, row, out)


@kernel
def code_distance(codes: Any, a: int, b: int) -> float:
    return _code_distance(codes, a, b)


@kernel
def encode_query(x: Any, codes: Any, out: Any) -> Any:
    return _encode_query(x, codes, out)


@kernel
def thin(codes: Any, rows: Any, distances: Any, most: int, out: Any) -> int:
    return _thin(codes, rows, distances, most, out)


@kernel
def nearest_parts(entry_points: Any, scale: Any, most: int, workspace: Any, out: Any) -> int:
    return _nearest_parts(entry_points, scale, most, workspace, out)
