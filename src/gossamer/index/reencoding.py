"""Another encoder for an index: its texts are encoded beside it, then all vectors are replaced in one operation.

While texts are encoded, the index goes on as it was: searches and changes do not wait. Vectors are kept in a file
(`store.encoded_texts`), so that a run that was stopped goes on where it ended. At the end what has come meanwhile is
encoded, and one operation of the log replaces all vectors, the tree and the name of the encoder: a crash leaves the
index with the one encoder or with the other.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gossamer.encoders import Encoder, Progress, encode_texts, is_fitted_encoder
from gossamer.index.batch import Batch
from gossamer.index.state import IndexState
from gossamer.index.upsert import Plan, learned_change
from gossamer.store import Change, Settings
from gossamer.store.encoded_texts import EncodedTexts

_BATCH: Final = 256
"""Texts that are encoded at a time, and lost if the run is killed."""


def reencode(state: IndexState, encoder: Encoder, progress: Progress | None) -> int:
    """Give the index another encoder; returns how many texts were encoded."""
    if is_fitted_encoder(encoder):  # it learns from all texts at once
        with state.writer():
            if state.vectors is None:
                state.write(Change("refit", settings=_settings(state, encoder, None)), encoder)
                return 0
            with state.store.reading() as db:
                plan = Plan(db, _NOTHING)
            change, learned = learned_change(state.store, plan, encoder, progress)
            assert change.settings is not None
            settings = replace(change.settings, encoder=learned.name)
            state.write(replace(change, settings=settings), learned)
            return len(change.passages)
    known = (state.settings.encoder, state.settings.fingerprint)
    if _can_be_told(encoder) and (encoder.name, encoder.fingerprint) == known:
        return 0
    saved = _saved(state, encoder)
    try:
        encoded = _encode_all(state, encoder, saved, progress)
        with state.writer():
            encoded += _replace_vectors(state, encoder, saved)
    except BaseException:
        saved.close()
        raise
    saved.remove()
    return encoded


_NOTHING: Final = Batch([], [], [], None)


def _saved(state: IndexState, encoder: Encoder) -> EncodedTexts:
    """What an earlier run with the same encoder has encoded; vectors of other encoders are deleted."""
    layout = state.store.layout
    if layout is None or not _can_be_told(encoder):
        return EncodedTexts(None)
    name = hashlib.sha256(f"{encoder.name} {encoder.fingerprint}".encode()).hexdigest()[:16]
    wanted = layout.encoded(name)
    layout.remove([path for path in layout.encoded_texts() if not path.name.startswith(wanted.name)])
    return EncodedTexts(wanted)


def _can_be_told(encoder: Encoder) -> bool:
    """Whether its name and fingerprint tell an encoder from others: those of two functions may be the same."""
    return not encoder.name.startswith("callable:")


def _encode_all(state: IndexState, encoder: Encoder, saved: EncodedTexts, progress: Progress | None) -> int:
    """Encode the texts of all passages that have no vector yet; the index may change meanwhile."""
    with state.reading() as db:
        texts = _texts(Plan(db, _NOTHING).all_passages(db, state.settings)[1])
    missing = saved.missing(texts)
    ready = len(texts) - len(missing)
    for done, vectors_of in _batches(missing):
        saved.add(vectors_of, encode_texts(encoder, vectors_of, kind="document"))
        if progress is not None:
            progress(ready + done, len(texts))
    return len(missing)


def _texts(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Parts of some texts, each with the number of texts up to its end."""
    for start in range(0, len(texts), _BATCH):
        part = texts[start : start + _BATCH]
        yield start + len(part), part


def _replace_vectors(state: IndexState, encoder: Encoder, saved: EncodedTexts) -> int:
    """Write the operation that replaces all vectors; returns how many texts were encoded for it."""
    with state.store.reading() as db:
        passages, texts = Plan(db, _NOTHING).all_passages(db, state.settings)
    missing = saved.missing(texts)
    for _, part in _batches(missing):
        saved.add(part, encode_texts(encoder, part, kind="document"))
    vectors = saved.of(texts) if texts else np.empty((0, 0), np.float32)
    settings = _settings(state, encoder, vectors.shape[1] if texts else None)
    state.write(
        Change("refit", passages=passages, vectors=vectors, reencoded=True, settings=settings) if texts
        else Change("refit", settings=settings),
        encoder,
    )  # fmt: skip
    return len(missing)


def _settings(state: IndexState, encoder: Encoder, dim: int | None) -> Settings:
    return replace(state.settings, encoder=encoder.name, fingerprint=encoder.fingerprint, dim=dim, fitted_on=0)
