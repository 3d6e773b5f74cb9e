"""Text → vectors.

    protocol        what an encoder is, and its checks        Encoder, encode_texts, check_texts
    registry        names and functions to encoders           load_encoder, CallableEncoder
    onnx            minilm, the default                       OnnxEncoder
    lsa             learnt from the corpus itself             LsaEncoder
    sentence_transformers   st:<model>                        SentenceTransformersEncoder
    transformers    hf:<model>                                TransformersEncoder
    models          model files: list, pull, path             list_models, pull, model_path
    sources         where model files come from

Importing this package imports none of the libraries behind it: they are imported with the first text.
"""

from __future__ import annotations

from gossamer.encoders.lsa import LsaEncoder
from gossamer.encoders.models import ModelStatus, list_models, model_path, pull
from gossamer.encoders.onnx import OnnxEncoder
from gossamer.encoders.protocol import (
    Encoder,
    FittedEncoder,
    Kind,
    Progress,
    check_texts,
    encode_texts,
    is_encoder,
    is_fitted_encoder,
)
from gossamer.encoders.registry import CallableEncoder, known_encoders, load_encoder
from gossamer.encoders.sentence_transformers import SentenceTransformersEncoder
from gossamer.encoders.transformers import TransformersEncoder

__all__ = [
    "CallableEncoder",
    "Encoder",
    "FittedEncoder",
    "Kind",
    "LsaEncoder",
    "ModelStatus",
    "OnnxEncoder",
    "Progress",
    "SentenceTransformersEncoder",
    "TransformersEncoder",
    "check_texts",
    "encode_texts",
    "is_encoder",
    "is_fitted_encoder",
    "known_encoders",
    "list_models",
    "load_encoder",
    "model_path",
    "pull",
]
