"""From a name or a function to an encoder.

A name may carry options after a question mark, as in ``hf:gpt2?pool=last&layer=-2``. They are the
keyword arguments of the encoder's class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from gossamer.array_types import Floats
from gossamer.encoders.catalogue import known_models
from gossamer.encoders.fastembed import FastEmbedEncoder
from gossamer.encoders.lsa import LsaEncoder
from gossamer.encoders.model2vec import Model2VecEncoder
from gossamer.encoders.onnx import OnnxEncoder
from gossamer.encoders.protocol import CheckedEncoder, Encoder, Kind, fingerprint_of, is_encoder
from gossamer.encoders.sentence_transformers import SentenceTransformersEncoder
from gossamer.encoders.served import ServedEncoder
from gossamer.encoders.transformers import TransformersEncoder
from gossamer.errors import ParameterError, StateError, UnknownEncoderError
from gossamer.results.progress import Progress


def load_encoder(spec: str | Encoder | Callable[[list[str]], Any]) -> Encoder:
    """The encoder for `spec`: a name, an encoder, or any callable ``list[str] -> array``.

    Models are loaded at first use, so that this is cheap and an index can be opened without its model.
    Of an object that has an ``encode`` method but is no encoder (a SentenceTransformer, say) that method is used.
    """
    if isinstance(spec, str):
        return _by_name(spec)
    if is_encoder(spec):
        return spec
    function = getattr(spec, "encode", spec)
    if not callable(function):
        raise UnknownEncoderError(
            f"an encoder is a name or a callable list[str] -> array, got {type(spec).__name__}; {_known()}"
        )
    return CallableEncoder(function)


def known_encoders() -> dict[str, str]:
    """The names `load_encoder` knows, each with a description."""
    return {
        "minilm": "all-MiniLM-L6-v2 in int8, 384 dimensions, English; 24 MB fetched at first use",
        "lsa": "TF-IDF and SVD fitted on your own corpus, any language; nothing to fetch",
        "st:<model>": "a sentence-transformers model by hub name or folder, as in st:all-mpnet-base-v2",
        "hf:<model>": "the hidden states of a transformers model, as in hf:gpt2?pool=mean|cls|last&layer=-1",
        "model2vec:<model>": "static embeddings by hub name or folder, as in model2vec:minishlab/potion-base-8M",
        "fastembed:<model>": "a model that FastEmbed knows, as in fastembed:BAAI/bge-small-en-v1.5",
        "openai:<model>": "a server of OpenAI's protocol: OPENAI_BASE_URL, OPENAI_API_KEY",
        "ollama:<model>": "a model that Ollama serves, as in ollama:nomic-embed-text: OLLAMA_HOST",
    }


class CallableEncoder(CheckedEncoder):
    """A callable ``list[str] -> array`` as an encoder.

    `kind` ("document" or "query") is passed on if the callable has a parameter of that name.

    Two functions cannot be told apart, so all unnamed ones share a fingerprint and only the dimension protects an
    index from the wrong one. With a `name` that changes with the model (a version, say), the index notices.

    `quick` says that a few words take about a millisecond: then labels of concepts are chosen by its vectors, too, for
    which it is called with thousands of terms, in another thread.
    """

    def __init__(
        self, function: Callable[..., Any], *, name: str | None = None, dim: int | None = None, quick: bool = False
    ) -> None:
        self._quick = quick
        self._function = function
        self._name = name
        self._dim = dim
        self._takes_kind = _takes_kind(function)

    @property
    def dim(self) -> int:
        """Length of the vectors, known after the first call."""
        if self._dim is None:
            raise StateError(
                "the dimension of a callable encoder is known after its first call: encode something first"
            )
        return self._dim

    @property
    def name(self) -> str:
        """``callable:`` and the given name, or the name of the function."""
        return f"callable:{self._name or getattr(self._function, '__qualname__', type(self._function).__name__)}"

    @property
    def quick(self) -> bool:
        """Whether it was said to be quick."""
        return self._quick

    @property
    def named(self) -> bool:
        """Whether a name was given that tells this function from others."""
        return self._name is not None

    @property
    def fingerprint(self) -> str:
        """A hash of the given name; the same for all functions without one."""
        return fingerprint_of(encoder="callable", name=self._name)

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """The callable's vectors, one row for each text. Errors of the callable are not caught."""
        vectors = super().encode(texts, kind=kind, progress=progress)
        if len(vectors):
            self._dim = vectors.shape[1]
            if progress is not None:
                progress(len(vectors), len(vectors))
        return vectors

    def _vectors(self, texts: list[str], kind: Kind, progress: Progress | None) -> Any:
        given = self._function(texts, kind=kind) if self._takes_kind else self._function(texts)
        # A torch tensor may be on another device or require gradients.
        return given.detach().cpu().float().numpy() if hasattr(given, "detach") else given


def _takes_kind(function: Callable[..., Any]) -> bool:
    try:
        parameter = inspect.signature(function).parameters.get("kind")
    except (TypeError, ValueError):  # some built-in callables have no signature
        return False
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def _by_name(spec: str) -> Encoder:
    base = spec.strip().partition("?")[0]
    scheme, colon, model = base.partition(":")
    options = options_of(spec)
    if base in _NAMES:
        return _make(_NAMES[base], spec, (), options)
    if scheme in _SCHEMES and model:
        return _make(_SCHEMES[scheme], spec, (model,), options)
    if scheme == "callable" and colon:
        raise UnknownEncoderError(
            f"{spec!r} is a function and cannot be loaded by name: pass it again, as in Index.open(path, encoder=f)"
        )
    raise UnknownEncoderError(f"there is no encoder {spec!r}{_meant(base)}; {_known()}")


_NAMES: dict[str, Callable[..., Encoder]] = {"minilm": OnnxEncoder, "lsa": LsaEncoder}
_SCHEMES: dict[str, Callable[..., Encoder]] = {
    "st": SentenceTransformersEncoder,
    "hf": TransformersEncoder,
    "model2vec": Model2VecEncoder,
    "fastembed": FastEmbedEncoder,
    "openai": partial(ServedEncoder, "openai"),
    "ollama": partial(ServedEncoder, "ollama"),
}


def _meant(model: str) -> str:
    """The question whether a model was meant that is known by another name: most have a scheme before them."""
    of_name = {known.name.partition(":")[2] or known.name: known.name for known in reversed(known_models())}
    bare = model.removeprefix("sentence-transformers/")
    name = "minilm" if bare.lower() == "all-minilm-l6-v2" else of_name.get(model) or of_name.get(bare)
    if name is None:
        near = get_close_matches(model.lower(), [*of_name, *of_name.values()], 1)
        name = of_name.get(near[0], near[0]) if near else f"st:{model}" if "/" in model else None
    return f": did you mean {name!r}?" if name else ""


def _known() -> str:
    lines = "".join(f"\n  {name:<18} {about}" for name, about in known_encoders().items())
    return f'known are:{lines}\nor pass a callable list[str] -> array. Example: encoder="minilm" (--encoder minilm)'


def options_of(spec: str) -> dict[str, str]:
    """The options after the question mark of a name, including those without a value."""
    tail = spec.strip().partition("?")[2]
    try:
        return dict(parse_qsl(tail, strict_parsing=True, keep_blank_values=True)) if tail else {}
    except ValueError as error:
        raise ParameterError(f"the options of {spec!r} cannot be read: write them as name=value&name=value") from error


def _make(kind: Callable[..., Encoder], spec: str, model: Sequence[str], options: dict[str, str]) -> Encoder:
    """Call `kind` with the options converted to the types in its signature."""
    takes = {
        name: str(parameter.annotation)
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and "Progress" not in str(parameter.annotation)
    }
    for name in options:
        if name not in takes:
            raise ParameterError(f"{spec!r}: there is no option {name!r}; there are {', '.join(takes) or 'none'}")
    return kind(*model, **{name: _value(spec, name, text, takes[name]) for name, text in options.items()})


def _value(spec: str, name: str, text: str, annotation: str) -> str | int:
    if "int" not in annotation:
        return text
    try:
        return int(text)
    except ValueError as error:
        raise ParameterError(f"{spec!r}: {name} must be a whole number, got {text!r}") from error
