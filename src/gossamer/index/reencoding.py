"""Another encoder for an index: its texts are encoded beside it, then all vectors are replaced in one operation.

While texts are encoded, the index goes on as it was: searches and changes do not wait. Vectors are kept in a file
(`store.encoded_texts`), so that a run that was stopped goes on where it ended. At the end what has come meanwhile is
encoded, and one operation of the log replaces all vectors, the tree and the name of the encoder: a crash leaves the
index with the one encoder or with the other.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gossamer.encoders import Encoder, Progress, encode_texts, is_fitted_encoder
from gossamer.files.file_lock import LockFile
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
    if _is_known_by_name(encoder) and (encoder.name, encoder.fingerprint) == known:
        return 0
    lock = None if state.store.layout is None else LockFile(state.store.layout.reencoding_lock, "encoding again")
    try:
        if lock is not None:
            lock.acquire()  # two at a time would remove each other's vectors
        return _reencode(state, encoder, progress)
    finally:
        if lock is not None:
            lock.release()


def _reencode(state: IndexState, encoder: Encoder, progress: Progress | None) -> int:
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
    if layout is None or not _is_known_by_name(encoder):
        return EncodedTexts(None)
    name = hashlib.sha256(f"{encoder.name} {encoder.fingerprint}".encode()).hexdigest()[:16]
    wanted = layout.encoded(name)
    layout.remove([path for path in layout.encoded_texts() if not path.name.startswith(wanted.name)])
    return EncodedTexts(wanted)


def _is_known_by_name(encoder: Encoder) -> bool:
    """Whether name and fingerprint tell an encoder from others: those of two functions may be the same."""
    return not encoder.name.startswith("callable:")


def _encode_all(state: IndexState, encoder: Encoder, saved: EncodedTexts, progress: Progress | None) -> int:
    """Encode the texts of all passages there are; the index may change meanwhile."""
    with state.reading() as db:
        _, texts = Plan(db, _NOTHING).all_passages(db, state.settings)
    return _encode_missing(encoder, saved, texts, progress)


def _encode_missing(encoder: Encoder, saved: EncodedTexts, texts: Sequence[str], progress: Progress | None) -> int:
    """Encode the texts that have no vector yet, batch by batch; returns how many."""
    missing = saved.missing(texts)
    for start in range(0, len(missing), _BATCH):
        part = missing[start : start + _BATCH]
        saved.add(part, encode_texts(encoder, part, kind="document"))
        if progress is not None:
            progress(len(texts) - len(missing) + start + len(part), len(texts))
    return len(missing)


def _replace_vectors(state: IndexState, encoder: Encoder, saved: EncodedTexts) -> int:
    """Write the operation that replaces all vectors; returns how many texts were encoded for it."""
    with state.store.reading() as db:
        passages, texts = Plan(db, _NOTHING).all_passages(db, state.settings)
    encoded = _encode_missing(encoder, saved, texts, None)
    vectors = saved.of(texts) if texts else np.empty((0, 0), np.float32)
    settings = _settings(state, encoder, vectors.shape[1] if texts else None)
    state.write(Change("refit", passages=passages, vectors=vectors, reencoded=bool(texts), settings=settings), encoder)
    return encoded


def _settings(state: IndexState, encoder: Encoder, dim: int | None) -> Settings:
    return replace(state.settings, encoder=encoder.name, fingerprint=encoder.fingerprint, dim=dim, fitted_on=0)
