"""Encoders worth knowing: their size, dimension and languages. Any other model of the same kinds works as well."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from gossamer.encoders.models import MODELS, list_models

_MODULES = {"minilm": "onnxruntime", "st": "sentence_transformers", "hf": "transformers"}
"""What an encoder imports, where that is not its own name; by name or scheme."""

_EXTRAS = {"minilm": "onnx", "lsa": None, "openai": None, "ollama": None}
"""The extra that an encoder needs, where that is not its own name."""


@dataclass(frozen=True)
class KnownEncoder:
    """An encoder by name, with what decides whether it suits: size, dimension, languages."""

    name: str
    megabytes: int | None
    """What is fetched at first use; None for a model that a server has."""
    dim: int
    languages: str
    about: str

    @property
    def extra(self) -> str | None:
        """The extra to install, as in ``pip install "gossamer[st]"``; None if none is needed."""
        scheme = self.name.partition(":")[0]
        return _EXTRAS.get(scheme, scheme)

    @property
    def installed(self) -> bool:
        """Whether its libraries are here."""
        scheme = self.name.partition(":")[0]
        return self.extra is None or find_spec(_MODULES.get(scheme, scheme)) is not None

    @property
    def here(self) -> bool | None:
        """Whether its files are here, of a model whose files Gossamer fetches itself; None of any other."""
        return next((model.present for model in list_models() if model.name == self.name), None)


_MINILM_MEGABYTES = round(MODELS["minilm"].bytes / 1e6)

_KNOWN = (
    ("minilm", _MINILM_MEGABYTES, 384, "English", "all-MiniLM-L6-v2 in int8; the default"),
    ("lsa", 0, 256, "any language", "learnt from the corpus itself; nothing to fetch"),
    ("model2vec:minishlab/potion-base-8M", 30, 256, "English", "static: a vector for each token, and their mean"),
    ("model2vec:minishlab/potion-retrieval-32M", 129, 512, "English", "static, trained for retrieval"),
    ("model2vec:minishlab/potion-multilingual-128M", 512, 256, "101 languages", "static"),
    ("fastembed:BAAI/bge-small-en-v1.5", 67, 384, "English", "on ONNX Runtime, without torch"),
    ("fastembed:BAAI/bge-base-en-v1.5", 210, 768, "English", "on ONNX Runtime, without torch"),
    (
        "fastembed:sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        220, 384, "50 languages", "on ONNX Runtime, without torch",
    ),
    ("st:all-mpnet-base-v2", 438, 768, "English", "slower than minilm, and usually better"),
    ("st:intfloat/multilingual-e5-small", 471, 384, "94 languages", "a query finds texts in other languages too"),
    ("st:BAAI/bge-m3", 2270, 1024, "more than 100 languages", "also for long passages; slow without a GPU"),
    ("openai:text-embedding-3-small", None, 1536, "many languages", "a paid service, or any server of its protocol"),
    ("openai:text-embedding-3-large", None, 3072, "many languages", "takes ?dimensions=1024 and the like"),
    ("ollama:nomic-embed-text", None, 768, "English", "274 MB, fetched by: ollama pull nomic-embed-text"),
    ("ollama:bge-m3", None, 1024, "more than 100 languages", "1.2 GB, fetched by: ollama pull bge-m3"),
)  # fmt: skip


def known_models() -> list[KnownEncoder]:
    """Encoders worth knowing, small ones first within each kind."""
    return [KnownEncoder(*row) for row in _KNOWN]
