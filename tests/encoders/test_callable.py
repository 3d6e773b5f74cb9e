"""Any function as an encoder: what it gives is checked, and nothing else about it is assumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

from gossamer.encoders import CallableEncoder, load_encoder
from gossamer.errors import DimensionError, DtypeError, EncoderError, NotFiniteError, StateError

Function: TypeAlias = Callable[[list[str]], Any]


def lengths(texts: list[str]) -> list[list[int]]:
    return [[len(text), text.count("a")] for text in texts]


def test_dimension_is_known_after_the_first_call() -> None:
    encoder = CallableEncoder(lengths)
    with pytest.raises(StateError, match="encode something first"):
        _ = encoder.dim
    assert encoder.encode([]).shape == (0, 0)
    vectors = encoder.encode(["banana", "fig"])
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, [[6, 3], [3, 0]])
    assert encoder.dim == 2
    assert encoder.encode([]).shape == (0, 2)


def test_kind_is_passed_only_where_it_is_wanted() -> None:
    seen: list[str] = []

    def wants(texts: list[str], kind: str = "document") -> list[list[int]]:
        seen.append(kind)
        return lengths(texts)

    CallableEncoder(wants).encode(["a"], kind="query")
    assert seen == ["query"]

    def swallows(texts: list[str], **options: object) -> list[list[int]]:
        assert not options
        return lengths(texts)

    CallableEncoder(swallows).encode(["a"], kind="query")
    CallableEncoder(lengths).encode(["a"], kind="query")


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (lambda texts: [[1.0, 2.0]], EncoderError, "1 vectors for 2 texts"),
        (lambda texts: [[1.0], [2.0, 3.0]], DimensionError, "differ in length"),
        (lambda texts: [[1.0], [float("nan")]], NotFiniteError, "row 1"),
        (lambda texts: [["a"], ["b"]], DtypeError, "real numbers"),
    ],
)
def test_what_it_gives_is_checked(function: Function, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        CallableEncoder(function).encode(["a", "b"])


def test_dimension_may_not_change() -> None:
    encoder = CallableEncoder(lambda texts: np.ones((len(texts), len(texts))))
    encoder.encode(["a", "b"])
    with pytest.raises(DimensionError, match="3 dimensions, but 2 are expected"):
        encoder.encode(["a", "b", "c"])


def test_errors_of_the_function_come_through() -> None:
    def broken(texts: list[str]) -> Any:
        raise ConnectionError("the service is down")

    with pytest.raises(ConnectionError, match="the service is down"):
        CallableEncoder(broken).encode(["a"])


def test_fingerprint_follows_the_given_name() -> None:
    assert CallableEncoder(lengths).fingerprint == CallableEncoder(lambda texts: texts).fingerprint
    assert CallableEncoder(lengths, name="v1").fingerprint != CallableEncoder(lengths, name="v2").fingerprint
    assert CallableEncoder(lengths, name="v1").name == "callable:v1"


def test_an_object_with_a_method_encode_of_its_own_kind() -> None:
    class Model:
        def encode(self, texts: list[str]) -> list[list[int]]:
            return lengths(texts)

        def __call__(self, texts: list[str]) -> Any:
            raise AssertionError("a torch module's call is its forward pass, not its encode")

    np.testing.assert_array_equal(load_encoder(Model()).encode(["aa"]), [[2, 2]])


def test_progress() -> None:
    heard: list[tuple[int, int]] = []
    CallableEncoder(lengths).encode(["a", "b"], progress=lambda done, total: heard.append((done, total)))
    assert heard == [(2, 2)]
