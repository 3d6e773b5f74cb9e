"""Text → vectors.

    protocol        what an encoder is, and its checks        Encoder, encode_texts, check_texts
    registry        names and functions to encoders           load_encoder, CallableEncoder
    onnx            minilm, the default                       OnnxEncoder
    lsa             learnt from the corpus itself             LsaEncoder
    sentence_transformers   st:<model>                        SentenceTransformersEncoder
    transformers    hf:<model>                                TransformersEncoder
    model2vec       model2vec:<model>                         Model2VecEncoder
    fastembed       fastembed:<model>                         FastEmbedEncoder
    served          openai:<model>, ollama:<model>            ServedEncoder
    prompts         what some models expect before a text     prompts_for
    catalogue       encoders worth knowing                    known_models
    models          model files: list, pull, path             list_models, pull, model_path
    sources         where model files come from

Importing this package imports none of the libraries behind it: they are imported with the first text.
"""

from __future__ import annotations

from gossamer.encoders.catalogue import KnownEncoder, known_models
from gossamer.encoders.fastembed import FastEmbedEncoder
from gossamer.encoders.lsa import LsaEncoder
from gossamer.encoders.model2vec import Model2VecEncoder
from gossamer.encoders.models import ModelStatus, list_models, model_path, pull
from gossamer.encoders.onnx import OnnxEncoder
from gossamer.encoders.protocol import (
    Encoder,
    FittedEncoder,
    Kind,
    check_texts,
    encode_texts,
    is_encoder,
    is_fitted_encoder,
)
from gossamer.encoders.registry import CallableEncoder, known_encoders, load_encoder
from gossamer.encoders.sentence_transformers import SentenceTransformersEncoder
from gossamer.encoders.served import ServedEncoder
from gossamer.encoders.transformers import TransformersEncoder
from gossamer.results.progress import Progress

__all__ = [
    "CallableEncoder",
    "Encoder",
    "FastEmbedEncoder",
    "FittedEncoder",
    "Kind",
    "KnownEncoder",
    "LsaEncoder",
    "Model2VecEncoder",
    "ModelStatus",
    "OnnxEncoder",
    "Progress",
    "SentenceTransformersEncoder",
    "ServedEncoder",
    "TransformersEncoder",
    "check_texts",
    "encode_texts",
    "is_encoder",
    "is_fitted_encoder",
    "known_encoders",
    "known_models",
    "list_models",
    "load_encoder",
    "model_path",
    "pull",
]
