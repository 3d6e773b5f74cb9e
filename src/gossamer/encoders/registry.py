"""From a name or a function to an encoder.

A name may carry options after a question mark, as in ``hf:gpt2?pool=last&layer=-2``. They are the
keyword arguments of the encoder's class, so there is one list of them, in its signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

from gossamer.encoders.protocol import Encoder, is_encoder
from gossamer.errors import ParameterError, UnknownEncoderError


def load_encoder(spec: str | Encoder | Callable[[list[str]], Any]) -> Encoder:
    """The encoder that `spec` names or is: a name, an encoder, or any callable ``list[str] -> array``.

    Models load at first use, so that this is cheap and an index can be opened without its model.
    An object with an ``encode`` method of its own kind (a SentenceTransformer, say) counts as that method.
    """
    if isinstance(spec, str):
        return _by_name(spec)
    if is_encoder(spec):
        return spec
    from gossamer.encoders.callable import CallableEncoder

    function = getattr(spec, "encode", spec)
    if not callable(function):
        raise UnknownEncoderError(
            f"an encoder is a name or a callable list[str] -> array, got {type(spec).__name__}; {_known()}"
        )
    return CallableEncoder(function)


def known_encoders() -> dict[str, str]:
    """The names `load_encoder` knows, each with a line about it."""
    return {
        "minilm": "all-MiniLM-L6-v2 in int8, 384 dimensions, English; 24 MB fetched at first use",
        "lsa": "TF-IDF and SVD fitted on your own corpus, any language; nothing to fetch",
        "st:<model>": "a sentence-transformers model by hub name or folder, as in st:all-mpnet-base-v2",
        "hf:<model>": "the hidden states of a transformers model, as in hf:gpt2?pool=mean|cls|last&layer=-1",
    }


def _by_name(spec: str) -> Encoder:
    base = spec.strip().partition("?")[0]
    scheme, colon, model = base.partition(":")
    options = options_of(spec)
    if base == "minilm":
        from gossamer.encoders.onnx import OnnxEncoder

        return _make(OnnxEncoder, spec, (), options)
    if base == "lsa":
        from gossamer.encoders.lsa import LsaEncoder

        return _make(LsaEncoder, spec, (), options)
    if scheme == "st" and model:
        from gossamer.encoders.sentence_transformers import SentenceTransformersEncoder

        return _make(SentenceTransformersEncoder, spec, (model,), options)
    if scheme == "hf" and model:
        from gossamer.encoders.transformers import TransformersEncoder

        return _make(TransformersEncoder, spec, (model,), options)
    if scheme == "callable" and colon:
        raise UnknownEncoderError(
            f"{spec!r} is a function and cannot be loaded by name: pass it again, as in Index.open(path, encoder=f)"
        )
    raise UnknownEncoderError(f"there is no encoder {spec!r}; {_known()}")


def _known() -> str:
    lines = "".join(f"\n  {name:<11} {about}" for name, about in known_encoders().items())
    return f'known are:{lines}\nor pass a callable list[str] -> array. Example: encoder="minilm"'


def options_of(spec: str) -> dict[str, str]:
    """The options after the question mark of a name, those without a value included."""
    tail = spec.strip().partition("?")[2]
    try:
        return dict(parse_qsl(tail, strict_parsing=True, keep_blank_values=True)) if tail else {}
    except ValueError as error:
        raise ParameterError(f"the options of {spec!r} cannot be read: write them as name=value&name=value") from error


def _make(kind: Callable[..., Encoder], spec: str, model: Sequence[str], options: dict[str, str]) -> Encoder:
    """Call `kind` with the options turned into the types its signature states."""
    takes = {
        name: str(parameter.annotation)
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and "Progress" not in str(parameter.annotation)
    }
    for name in options:
        if name not in takes:
            raise ParameterError(f"{spec!r}: there is no option {name!r}; there are {', '.join(takes)}")
    return kind(*model, **{name: _value(spec, name, text, takes[name]) for name, text in options.items()})


def _value(spec: str, name: str, text: str, annotation: str) -> str | int:
    if "int" not in annotation:
        return text
    try:
        return int(text)
    except ValueError as error:
        raise ParameterError(f"{spec!r}: {name} must be a whole number, got {text!r}") from error
