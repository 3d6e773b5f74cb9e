"""Text → vectors.

    protocol        what an encoder is                        Encoder, check_texts
    registry        names and functions to encoders           load_encoder
    onnx            minilm, the default                       OnnxEncoder
    lsa             learnt from the corpus itself             LsaEncoder
    sentence_transformers   st:<model>                        SentenceTransformersEncoder
    transformers    hf:<model>                                TransformersEncoder
    callable        any function                              CallableEncoder
    cache           a text is encoded once                    CachedEncoder
    models          model files: list, pull, path

Importing this package imports none of the libraries behind it: they load with the first text.
"""

from __future__ import annotations

from gossamer.encoders.cache import CachedEncoder, MemoryStore, SqliteStore
from gossamer.encoders.callable import CallableEncoder
from gossamer.encoders.lsa import LsaEncoder
from gossamer.encoders.models import ModelStatus, list_models, model_path, pull
from gossamer.encoders.onnx import OnnxEncoder
from gossamer.encoders.protocol import (
    Encoder,
    FittedEncoder,
    Kind,
    Progress,
    check_texts,
    is_encoder,
    is_fitted_encoder,
)
from gossamer.encoders.registry import known_encoders, load_encoder
from gossamer.encoders.sentence_transformers import SentenceTransformersEncoder
from gossamer.encoders.transformers import TransformersEncoder

__all__ = [
    "CachedEncoder",
    "CallableEncoder",
    "Encoder",
    "FittedEncoder",
    "Kind",
    "LsaEncoder",
    "MemoryStore",
    "ModelStatus",
    "OnnxEncoder",
    "Progress",
    "SentenceTransformersEncoder",
    "SqliteStore",
    "TransformersEncoder",
    "check_texts",
    "is_encoder",
    "is_fitted_encoder",
    "known_encoders",
    "list_models",
    "load_encoder",
    "model_path",
    "pull",
]
