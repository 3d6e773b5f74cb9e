"""The parameters of a search are checked once, with a message for each mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gossamer.errors import ParameterError
from gossamer.rank.request import SearchRequest, as_context


def test_what_is_not_given_has_its_default() -> None:
    nothing = dict.fromkeys(("budget", "recall", "aggregate", "context", "allowed", "within"))
    request = SearchRequest.checked(10, "guided", 0.2, **nothing)
    assert request == SearchRequest(10, "guided", None, None, "sum", 0.2)
    assert request.is_guided


def test_what_is_given_is_taken() -> None:
    assert SearchRequest.checked(3, "guided", 0.0, recall=np.float32(0.5), context=1).recall == 0.5
    assert SearchRequest.checked(3, "best-first", 0.0, budget=np.int64(7)).budget == 7
    mean = SearchRequest.checked(3, "path-sum", 0.0, aggregate="mean", allowed=[1])
    assert mean.aggregate == "mean"
    assert not mean.is_guided
    assert not SearchRequest.checked(3, "guided", 0.0, recall=1.0).is_guided


@pytest.mark.parametrize(
    ("k", "method", "options", "message"),
    [
        (0, "guided", {}, "k must be at least 1"),
        (2.5, "guided", {}, "k must be a whole number"),
        (10_000_001, "guided", {}, "at most 10,000,000"),
        (3, "nearest", {}, "method must be one of"),
        (3, "best-first", {"recall": 0.9}, "recall has no meaning"),
        (3, "path-sum", {"budget": 5}, "budget has no meaning"),
        (3, "guided", {"aggregate": "mean"}, "aggregate has no meaning"),
        (3, "best-first", {"within": 0}, "within has no meaning"),
        (3, "path-sum", {"aggregate": "mean", "context": 0.0}, "context applies to"),
        (3, "path-sum", {"aggregate": "max"}, "aggregate must be one of"),
        (3, "guided", {"recall": 0.9, "budget": 5}, "two ways"),
        (3, "guided", {"recall": 0.0}, "above 0 and at most 1"),
        (3, "guided", {"recall": "all"}, "above 0 and at most 1"),
        (3, "guided", {"budget": 0}, "budget must be at least 1"),
        (3, "guided", {"context": 1.5}, "from 0"),
    ],
)
def test_each_mistake_is_named(k: Any, method: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        SearchRequest.checked(k, method, 0.0, **options)


def test_a_context_is_a_number_from_0_to_1() -> None:
    assert as_context(np.float32(0.5)) == 0.5
    with pytest.raises(ParameterError, match="got 'much'"):
        as_context("much")
