"""The checks every encoder makes, and what importing the package costs."""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

from gossamer.checks import as_vectors
from gossamer.encoders import (
    CallableEncoder,
    LsaEncoder,
    check_texts,
    encode_texts,
    is_encoder,
    is_fitted_encoder,
    load_encoder,
    protocol,
)
from gossamer.encoders.protocol import Once, fingerprint_of
from gossamer.errors import DtypeError, EmptyTextError, EncoderError, InputError, NotFiniteError, ParameterError


@pytest.mark.parametrize(
    ("texts", "error", "says"),
    [
        ("one", DtypeError, "wrap it in a list"),
        (b"one", DtypeError, "single bytes"),
        (7, DtypeError, "got int"),
        (["a", None], DtypeError, "row 1 is NoneType"),
        (["a", b"b"], DtypeError, "row 1 is bytes"),
        (["a", "b", ""], EmptyTextError, "row 2 is empty"),
        ([" \n\t\u3000"], EmptyTextError, "row 0 is empty"),
        (["fine", "half a pair \ud83d"], InputError, "row 1 holds half of a surrogate pair at character 12"),
    ],
)
def test_bad_texts_are_named_by_row(texts: list[str], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        check_texts(texts)


def test_good_texts_pass() -> None:
    assert check_texts([]) == []
    assert check_texts(("a", "été 東京 🎉")) == ["a", "été 東京 🎉"]
    columns: Any = np.array(["a", "b"])
    assert check_texts(columns) == ["a", "b"]


@pytest.mark.parametrize("spec", ["lsa", lambda texts: [[1.0]] * len(texts)])
def test_encoders_check_texts_and_kind(spec: Any) -> None:
    encoder = load_encoder(spec)
    if is_fitted_encoder(encoder):
        encoder.fit(["some words"])
    with pytest.raises(EmptyTextError, match="row 1"):
        encoder.encode(["a", " "])
    with pytest.raises(ParameterError, match="kind must be one of 'document', 'query'"):
        encoder.encode(["a"], kind="passage")  # type: ignore[arg-type]


class Foreign:
    """An encoder that inherits nothing and returns what it is told to."""

    dim, name, fingerprint = 1, "foreign", "f"

    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    def encode(self, texts: Any, *, kind: Any = "document", progress: Any = None) -> Any:
        return self.vectors


@pytest.mark.parametrize(
    ("vectors", "error"), [([[1.0], [float("nan")]], NotFiniteError), ([[1.0]], EncoderError), ("ab", DtypeError)]
)
def test_the_vectors_of_any_encoder_are_checked(vectors: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="the encoder"):
        encode_texts(Foreign(vectors), ["a", "b"])


def test_vectors_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def counted(*given: Any, **named: Any) -> Any:
        calls.append(given)
        return as_vectors(*given, **named)

    monkeypatch.setattr(protocol, "as_vectors", counted)
    for encoder in (Foreign([[1], [-0.0]]), CallableEncoder(lambda texts: [[1], [-0.0]]), LsaEncoder().fit(["a b"])):
        calls.clear()
        vectors = encode_texts(encoder, ["a", "b"])
        assert len(calls) == 1
        assert vectors.shape == (2, 1)
        assert vectors.dtype == np.float32
        assert vectors.flags.c_contiguous
        assert not np.signbit(vectors[1, 0])


def test_an_encoder_is_told_without_asking_for_its_dimension() -> None:
    unfitted = LsaEncoder()
    assert is_encoder(unfitted)
    assert is_fitted_encoder(unfitted)
    assert not is_encoder(len)
    assert not is_fitted_encoder(load_encoder("minilm"))


def test_fingerprints_are_stable_across_processes_and_versions() -> None:
    assert fingerprint_of(b=1, a="x") == "385820f0096fd558f4091319e7fa742c"
    assert load_encoder("minilm").fingerprint == load_encoder("minilm?threads=1").fingerprint


def test_once_makes_one_value_for_all_threads() -> None:
    start, numbers = Barrier(8), count()
    once = Once(lambda: next(numbers))
    got: list[int] = []

    def ask() -> None:
        start.wait()
        got.append(once())

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [0] * 8
    assert next(numbers) == 1


def test_importing_the_package_imports_no_library_behind_it() -> None:
    heavy = "torch onnxruntime tokenizers sklearn scipy transformers sentence_transformers numba"
    code = (
        "import sys, gossamer.encoders as e;"
        "e.load_encoder('minilm'); e.load_encoder('lsa'); e.list_models();"
        f"print([m for m in {heavy.split()!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
