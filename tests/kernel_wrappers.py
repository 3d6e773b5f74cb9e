"""Doors from Python to kernels that have none of their own, because only kernels call them."""

from __future__ import annotations

from typing import Any

from gossamer.graph import codes, linking
from gossamer.runtime.jit import kernel
from gossamer.tree import density

_log_p, _leaves_beside = density.log_p, linking._leaves_beside
_code_distance, _encode_query = codes.code_distance, codes.encode_query


@kernel
def log_p(t: Any, node: int, x: Any) -> float:
    return _log_p(t, node, x)


@kernel
def leaves_beside(t: Any, row: int, out: Any) -> int:
    return _leaves_beside(t, row, out)


@kernel
def code_distance(codes: Any, a: int, b: int) -> float:
    return _code_distance(codes, a, b)


@kernel
def encode_query(x: Any, codes: Any, out: Any) -> tuple[float, float]:
    return _encode_query(x, codes, out)
