"""``hf:<model>``: the hidden states of any transformers model, pooled (paper, appendix A).

Encoders (BERT), decoders (GPT-2) and the encoder half of encoder–decoders (T5). Texts are padded on
the right, whatever side the tokenizer prefers, and here rather than by the tokenizer: then a causal
model's positions count from the first token, so padding changes no vector, and a tokenizer without a
padding token (GPT-2) needs none.

At the end: what other encoders need too (a model's identity, loading without progress bars).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import one_of, positive
from gossamer.encoders.prompts import prompts_for
from gossamer.encoders.protocol import CheckedEncoder, Kind, Once, fingerprint_of
from gossamer.errors import MissingExtraError, ModelUnavailableError, ParameterError
from gossamer.results.progress import Progress

_BLOCK = 1_024
"""Texts tokenized at a time, then sorted by length into batches."""


@dataclass(frozen=True)
class _Loaded:
    """A loaded model."""

    model: Any
    tokenizer: Any
    dim: int
    max_tokens: int
    pad: int
    device: str


class TransformersEncoder(CheckedEncoder):
    """A transformers model by hub name, folder or ``.gguf`` file; its vectors are not normalised.

    `pool`: the mean over the tokens, the first token ("cls"), or the last one. `layer`: which hidden
    states to pool, 0 for the embeddings and -1 for the last layer. `gguf`: the name of a GGUF file inside `model`.
    Models of the e5 and bge families get the prompts of their model cards.
    """

    def __init__(
        self,
        model: str,
        *,
        pool: Literal["mean", "cls", "last"] = "mean",
        layer: int = -1,
        gguf: str | None = None,
        max_tokens: int = 512,
        batch_size: int = 32,
        device: str | None = None,
    ) -> None:
        _need(("torch", "transformers"), model, "hf")
        if _place(model, gguf)[1]:
            _need(("gguf", "accelerate"), model, "gguf")
        self._name = model
        self._pool = one_of(pool, "pool", ("mean", "cls", "last"))
        self._layer = layer
        self._gguf = gguf
        self._max_tokens = positive(max_tokens, "max_tokens")
        self._batch_size = positive(batch_size, "batch_size")
        self._loaded = Once(lambda: _load(model, gguf, self._max_tokens, layer, device))
        self._identity = Once(lambda: identity(model))

    @property
    def dim(self) -> int:
        """Length of the vectors; loads the model."""
        return self._loaded().dim

    @property
    def name(self) -> str:
        """``hf:`` and the model, with the options that differ from the defaults."""
        standard = TransformersEncoder.__init__.__kwdefaults__ or {}
        told = {key: value for key, value in self._settings().items() if value != standard[key]}
        return f"hf:{self._name}" + (f"?{urlencode(told)}" if told else "")

    @property
    def fingerprint(self) -> str:
        """A hash of the model (hub name, or content of its files), its prompts and the options that matter."""
        prompts = prompts_for(self._name)
        return fingerprint_of(encoder="hf", model=self._identity(), prompts=prompts, **self._settings())

    def _vectors(self, texts: list[str], kind: Kind, progress: Progress | None) -> Floats:
        loaded = self._loaded()
        prompt = prompts_for(self._name).get(kind, "")
        vectors = np.empty((len(texts), loaded.dim), np.float32)
        done = 0
        for start in range(0, len(texts), _BLOCK):
            tokens = _tokenize(loaded, [prompt + text for text in texts[start : start + _BLOCK]])
            for batch in _by_length(tokens, self._batch_size):
                vectors[start + batch] = self._run(loaded, [tokens[row] for row in batch])
                done += len(batch)
                if progress is not None:
                    progress(done, len(texts))
        return vectors

    def _settings(self) -> dict[str, Any]:
        return {"pool": self._pool, "layer": self._layer, "gguf": self._gguf, "max_tokens": self._max_tokens}

    def _run(self, loaded: _Loaded, tokens: list[list[int]]) -> Floats:
        """One batch through the model."""
        import torch

        lengths = [len(row) for row in tokens]
        ids = torch.full((len(tokens), max(lengths)), loaded.pad, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, some in enumerate(tokens):
            ids[row, : len(some)] = torch.tensor(some)
            mask[row, : len(some)] = 1
        ids, mask = ids.to(loaded.device), mask.to(loaded.device)
        with torch.inference_mode():
            states = _hidden_states(loaded.model, ids, mask, self._layer)
            pooled = _POOLS[self._pool](states, mask)
        array: Floats = pooled.float().cpu().numpy()
        return array


def _mean(states: Any, mask: Any) -> Any:
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1)


def _first(states: Any, mask: Any) -> Any:
    return states[:, 0]


def _last(states: Any, mask: Any) -> Any:
    rows = mask.new_tensor(range(len(mask)))
    return states[rows, mask.sum(1) - 1]


_POOLS = {"mean": _mean, "cls": _first, "last": _last}
"""From (texts, tokens, dim) and the mask to (texts, dim); the padding is on the right."""


def _hidden_states(model: Any, ids: Any, mask: Any, layer: int) -> Any:
    if layer == -1:  # the other layers need not be returned
        return model(input_ids=ids, attention_mask=mask).last_hidden_state
    states = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    return states[layer]


def _tokenize(loaded: _Loaded, texts: list[str]) -> list[list[int]]:
    found = loaded.tokenizer(texts, truncation=True, max_length=loaded.max_tokens)["input_ids"]
    # A tokenizer may drop every character of a text, and the mean over no tokens is NaN.
    return [ids or [loaded.pad] for ids in found]


def _by_length(tokens: list[list[int]], size: int) -> Iterator[Any]:
    """Batches of row numbers of similar length, so that there is little padding; the longest first."""
    order = np.argsort([-len(ids) for ids in tokens], kind="stable")
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _load(model: str, gguf: str | None, max_tokens: int, layer: int, device: str | None) -> _Loaded:
    import torch
    from transformers import AutoConfig, AutoTokenizer

    place, file = _place(model, gguf)
    options = {"gguf_file": file} if file else {}
    try:
        with quiet():
            config = AutoConfig.from_pretrained(place, **options)
            tokenizer = AutoTokenizer.from_pretrained(place, **options)
            network = _network(place, config, options)
    except (ImportError, OSError, ValueError, KeyError) as error:
        raise unavailable(f"hf:{model}", error) from error
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    # In half precision the padding of a batch would change the last digits, and it is slow on a CPU. The method of
    # Module is used because transformers forbids its own for models from GGUF, whose weights are plain floats by now.
    network = torch.nn.Module.float(network).to(device).eval()
    return _Loaded(
        model=network,
        tokenizer=tokenizer,
        dim=_probe(network, layer, device),
        max_tokens=min(max_tokens, _longest(tokenizer, config)),
        pad=_padding(tokenizer),
        device=device,
    )


def _need(libraries: Sequence[str], model: str, extra: str) -> None:
    """Raise MissingExtraError if a library is not installed; find_spec does not import it."""
    if any(find_spec(library) is None for library in libraries):
        raise MissingExtraError(f"The encoder hf:{model}", extra)


def _place(model: str, gguf: str | None) -> tuple[str, str | None]:
    """The folder or hub name for from_pretrained, and the GGUF file in it, if any."""
    path = Path(model).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return str(path.parent), path.name
    return (str(path) if path.exists() else model), gguf


def _network(place: str, config: Any, options: dict[str, str]) -> Any:
    """The model, or its encoder if it is an encoder–decoder."""
    from transformers import AutoModel, AutoModelForTextEncoding

    if config.model_type in {"t5", "mt5", "umt5"}:  # these can be loaded without their decoder
        return AutoModelForTextEncoding.from_pretrained(place, **options)
    network = AutoModel.from_pretrained(place, **options)
    return network.get_encoder() if config.is_encoder_decoder else network


def _probe(network: Any, layer: int, device: str) -> int:
    """The width of a layer, found by running one token: configurations name it differently, and some are wrong."""
    import torch

    with torch.inference_mode():
        token = torch.zeros((1, 1), dtype=torch.long, device=device)
        states = network(input_ids=token, attention_mask=token + 1, output_hidden_states=True).hidden_states
    count = len(states)
    if not -count <= layer < count:
        raise ParameterError(
            f"layer must be from {-count} to {count - 1} for this model (0 is the embeddings), got {layer}"
        )
    return int(states[layer].shape[-1])


def _longest(tokenizer: Any, config: Any) -> int:
    """How many tokens the model has positions for; models without positions (T5) have no limit."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if "roberta" in config.model_type or config.model_type == "camembert":
        positions -= (config.pad_token_id or 0) + 1  # their positions start after the id of the padding token
    return int(min(positions, tokenizer.model_max_length))


def _padding(tokenizer: Any) -> int:
    """The id of the padding token, which RoBERTa needs to count positions; any other model ignores it (masked)."""
    return int(tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0)


def unavailable(name: str, error: Exception) -> ModelUnavailableError:
    """The error for a model that could not be loaded."""
    return ModelUnavailableError(
        f"{name} could not be loaded ({error}): check the name, or give the path of a folder "
        'that holds the model, or use encoder="lsa" (--encoder lsa), which needs no files'
    )


_SAMPLES = 16
"""Samples read of a large file."""

_SAMPLE_BYTES = 1 << 16


def identity(model: str) -> str:
    """What identifies a model: its hub name, or a hash of its content if it is a file or a folder.

    The hash stays the same when a folder is moved and changes when the model is trained further. Reading gigabytes
    would take longer than opening the index, so a file is hashed by its size and sixteen samples spread over it:
    training changes all weights.
    """
    path = Path(model).expanduser()
    if path.is_file():
        return _sampled(path)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and _matters(file.relative_to(path)))
        lines = [f"{file.relative_to(path).as_posix()} {_sampled(file)}" for file in files]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return model


def _matters(file: Path) -> bool:
    """Whether a file holds weights, a vocabulary or settings, and is not hidden."""
    hidden = any(part.startswith(".") for part in file.parts)
    return not hidden and file.suffix in {".json", ".txt", ".model", ".safetensors", ".bin", ".gguf"}


def _sampled(file: Path) -> str:
    size = file.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with file.open("rb") as content:
        if size <= _SAMPLES * _SAMPLE_BYTES:
            digest.update(content.read())
        else:
            for sample in range(_SAMPLES):
                content.seek(sample * (size - _SAMPLE_BYTES) // (_SAMPLES - 1))
                digest.update(content.read(_SAMPLE_BYTES))
    return digest.hexdigest()


@contextmanager
def quiet() -> Iterator[None]:
    """Turn off the progress bars and messages of transformers, and restore them afterwards."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
