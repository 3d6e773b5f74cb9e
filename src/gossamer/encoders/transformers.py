"""``hf:<model>``: the hidden states of any transformers model, pooled (paper, appendix A).

Encoders (BERT), decoders (GPT-2) and the encoder half of encoder–decoders (T5). Texts are padded on
the right, whatever side the tokenizer prefers, and here rather than by the tokenizer: then a causal
model's positions count from the first token, so padding changes no vector, and a tokenizer without a
padding token (GPT-2) needs none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import as_vectors, one_of, positive
from gossamer.encoders.folders import identity
from gossamer.encoders.prompts import prompt_for, prompts_for
from gossamer.encoders.protocol import Kind, Once, Progress, check_kind, check_texts, fingerprint_of
from gossamer.encoders.quiet import quiet
from gossamer.errors import MissingExtraError, ModelUnavailableError, ParameterError

_BLOCK = 1_024
"""Texts tokenized and sorted by length at a time."""


@dataclass(frozen=True)
class _Loaded:
    """A model ready to run."""

    model: Any
    tokenizer: Any
    dim: int
    max_tokens: int
    pad: int
    device: str


class TransformersEncoder:
    """A transformers model by hub name, folder or ``.gguf`` file; vectors as pooled, not of unit length.

    `pool`: the mean over the tokens, the first token ("cls"), or the last one. `layer`: which hidden
    states, 0 being the embeddings and -1 the last layer. `gguf`: the name of a GGUF file inside `model`.
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

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """Pooled hidden states, one row for each text."""
        rows = check_texts(texts)
        check_kind(kind)
        loaded = self._loaded()
        prompt = prompt_for(self._name, kind)
        vectors = np.empty((len(rows), loaded.dim), np.float32)
        done = 0
        for start in range(0, len(rows), _BLOCK):
            tokens = _tokenize(loaded, [prompt + text for text in rows[start : start + _BLOCK]])
            for batch in _by_length(tokens, self._batch_size):
                vectors[start + batch] = self._run(loaded, [tokens[row] for row in batch])
                done += len(batch)
                if progress is not None:
                    progress(done, len(rows))
        return as_vectors(vectors, what="the model's vectors")

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
    if layer == -1:  # the others need not be kept
        return model(input_ids=ids, attention_mask=mask).last_hidden_state
    states = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    return states[layer]


def _tokenize(loaded: _Loaded, texts: list[str]) -> list[list[int]]:
    found = loaded.tokenizer(texts, truncation=True, max_length=loaded.max_tokens)["input_ids"]
    # A tokenizer may drop every character of a text; a mean over no tokens would not be a number.
    return [ids or [loaded.pad] for ids in found]


def _by_length(tokens: list[list[int]], size: int) -> Iterator[Any]:
    """Rows in batches of similar length, so that little is spent on padding; the longest first."""
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
        raise ModelUnavailableError(
            f"hf:{model} could not be loaded ({error}): check the name, or give the path of a folder "
            'that holds the model, or use encoder="lsa", which needs no files'
        ) from error
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    # Half precision would let the padding of a batch show in the last digits, and is slow on a CPU. The
    # float of Module, since transformers forbids its own to models from GGUF, whose weights are plain by now.
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
    """Say at once what is missing; looking for a library does not import it."""
    if any(find_spec(library) is None for library in libraries):
        raise MissingExtraError(f"The encoder hf:{model}", extra)


def _place(model: str, gguf: str | None) -> tuple[str, str | None]:
    """Where from_pretrained should look, and for which GGUF file."""
    path = Path(model).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return str(path.parent), path.name
    return (str(path) if path.exists() else model), gguf


def _network(place: str, config: Any, options: dict[str, str]) -> Any:
    """The part of the model that reads: all of it, or the encoder where there is also a decoder."""
    from transformers import AutoModel, AutoModelForTextEncoding

    if config.model_type in {"t5", "mt5", "umt5"}:  # these can be loaded without their decoder
        return AutoModelForTextEncoding.from_pretrained(place, **options)
    network = AutoModel.from_pretrained(place, **options)
    return network.get_encoder() if config.is_encoder_decoder else network


def _probe(network: Any, layer: int, device: str) -> int:
    """The width of a layer, seen on a single token: settings call it by many names, and some lie."""
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
    """How many tokens the model has positions for; T5 and others without positions have no limit."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if "roberta" in config.model_type or config.model_type == "camembert":
        positions -= (config.pad_token_id or 0) + 1  # their positions start after the padding token's number
    return int(min(positions, tokenizer.model_max_length))


def _padding(tokenizer: Any) -> int:
    """The padding token, which RoBERTa counts positions by; without one any token will do, being masked."""
    return int(tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0)
