"""`Index`: text in, explained answers out.

index           the façade: read this first
state           store, tree and encoder of an open index, kept in step by locks
batch           what `add` is given, checked
upsert          a batch → the change of the store
chunking        a text → passages
encoding        the index's encoder: found again, checked
replay          the log → the tree; snapshots
words           the words of all documents, in step with them
query           a query in all its forms, and where it looks
ranking         a query → documents, best first
hits            a ranking → hits
explanations    scored documents → explanations
plane           documents as points of the plane
places          where these lie: cached, and saved with the index
overview        topics, concepts a query fits, novelty
facets          values of metadata fields, counted
export          all passages with their vectors; Parquet
part            an index as a part of a larger corpus: for `gossamer.cluster`
repair          a damaged index → a healthy one
"""

from gossamer.encoders import Encoder, KnownEncoder, Progress, encode_texts, known_models, load_encoder
from gossamer.encoders.models import MODELS, is_fetched, list_models, model_path, pull
from gossamer.filters import check_size
from gossamer.index.encoding import Encoded, EncoderSpec, Unloaded
from gossamer.index.export import exported
from gossamer.index.index import Index

__all__ = [
    "MODELS",
    "Encoded",
    "Encoder",
    "EncoderSpec",
    "Index",
    "KnownEncoder",
    "Progress",
    "Unloaded",
    "check_size",
    "encode_texts",
    "exported",
    "is_fetched",
    "known_models",
    "list_models",
    "load_encoder",
    "model_path",
    "pull",
]
