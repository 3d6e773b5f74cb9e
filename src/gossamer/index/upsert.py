"""A batch of documents → the `Change` to write.

`Plan` compares a checked batch with the index: which documents are new, which get a new text, which only new metadata.
The functions below it compute the vectors that are missing, and return the `Change`.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import count

from gossamer.array_types import DocumentNumber, Floats, PassageNumber
from gossamer.encoders import Encoder, FittedEncoder, Progress, is_fitted_encoder
from gossamer.errors import DimensionError, ParameterError
from gossamer.index.batch import Batch
from gossamer.index.chunking import split
from gossamer.index.encoding import Encoded, encode, encode_missing, encoder_dim
from gossamer.index.words import with_language
from gossamer.store import Change, DocumentRow, PassageRow, Settings, Store, rows

_LEARN_AGAIN_BELOW = 20_000
"""An encoder that learns from the corpus learns again whenever the corpus has doubled, up to this many documents."""


class Plan:
    """What a batch changes, by comparison with the documents in the index.

    ids         the id of every document in the batch
    documents   the documents that are new or get a new text
    removed     the documents that these replace
    updated     the documents that keep their text and get new metadata
    size_after  the number of documents in the index after the change
    """

    def __init__(self, db: sqlite3.Connection, batch: Batch) -> None:
        self.ids = _generated_ids(db, len(batch.texts)) if batch.ids is None else batch.ids
        given = list(zip(self.ids, batch.texts, batch.metadata, strict=True))
        present = rows.documents_by_id(db, self.ids)
        kept: dict[str, DocumentRow] = {}
        if batch.vectors is None:  # with a given vector an unchanged text counts as new: its vector may differ
            kept = {id: row for id, text, _ in given if (row := present.get(id)) and row.text == text}
        # A generated id is the number of its document, so it is not generated a second time.
        numbers = map(int, self.ids) if batch.ids is None else count(rows.next_number(db, "documents"))
        new = (row for row in given if row[0] not in kept)
        self.documents = [DocumentRow(DocumentNumber(number), *row) for row, number in zip(new, numbers, strict=False)]
        self.removed = sorted(row.document for id, row in present.items() if id not in kept)
        self.updated = [
            kept[id]._replace(metadata=metadata)
            for id, _, metadata in given
            if id in kept and kept[id].metadata != metadata
        ]
        self.size_after = rows.count_documents(db) + len(self.ids) - len(present)
        self._next_passage = rows.next_number(db, "passages")

    def passages(self, settings: Settings) -> list[PassageRow]:
        """Numbered passages of the new documents: each text split by `settings`."""
        return self.passages_at([spans_of(row.text, settings) for row in self.documents])

    def passages_at(self, spans: Iterable[Iterable[tuple[int, int]]]) -> list[PassageRow]:
        """Numbered passages of the new documents at these places."""
        of_document = zip(self.documents, spans, strict=True)
        places = ((row.document, *span) for row, own in of_document for span in own)
        return [PassageRow(PassageNumber(number), *place) for number, place in enumerate(places, self._next_passage)]

    def all_passages(self, db: sqlite3.Connection, settings: Settings) -> tuple[list[PassageRow], list[str]]:
        """All passages after the change under new numbers, with their texts: those that stay, then the new ones."""
        removed = set(self.removed)
        stay = [row for row in rows.all_passages(db) if row.document not in removed]
        together = enumerate([*stay, *self.passages(settings)], self._next_passage)
        passages = [row._replace(passage=PassageNumber(number)) for number, row in together]
        return passages, _texts(passages, [*rows.all_documents(db), *self.documents])

    def change(self, passages: Sequence[PassageRow], vectors: Floats | None, settings: Settings | None) -> Change:
        """The change that carries out the plan."""
        change = Change("add", self.removed, self.documents, self.updated, passages, settings=settings)
        return change if vectors is None else replace(change, vectors=vectors)


def new_passages(db: sqlite3.Connection, batch: Batch, settings: Settings) -> list[str]:
    """The passages of those texts of a batch that are not there yet under their ids."""
    present = {} if batch.ids is None else rows.documents_by_id(db, batch.ids)
    ids = batch.ids or [""] * len(batch.texts)
    new = [text for id, text in zip(ids, batch.texts, strict=True) if id not in present or present[id].text != text]
    return [text[start:stop] for text in new for start, stop in spans_of(text, settings)]


def spans_of(text: str, settings: Settings) -> list[tuple[int, int]]:
    """Start and end of each passage of a text."""
    if settings.max_tokens is None or (len(text) <= settings.max_tokens and not text.isspace()):
        return [(0, len(text))]  # a token has at least one character, so the text fits
    found = split(text, max_tokens=settings.max_tokens, overlap=settings.overlap)
    return [(passage.start, passage.end) for passage in found]


def _texts(passages: Sequence[PassageRow], documents: Iterable[DocumentRow]) -> list[str]:
    texts = {row.document: row.text for row in documents}
    return [texts[row.document][row.start : row.stop] for row in passages]


def _generated_ids(db: sqlite3.Connection, count: int) -> list[str]:
    """Ids for documents without one: the next numbers of documents that are not in use as ids."""
    first = rows.next_number(db, "documents")
    ids: list[str] = []
    while len(ids) < count:
        wanted = [str(number) for number in range(first, first + count - len(ids))]
        taken = rows.documents_by_id(db, wanted)
        ids += [id for id in wanted if id not in taken]
        first += len(wanted)
    return ids


# -- a plan and vectors → a change -----------------------------------------------------------------


def prepared_change(plan: Plan, batch: Batch, vectors: Floats, encoder: Encoder, settings: Settings) -> Change:
    """The change for texts with given vectors: their passages, or one for each text, whatever its length."""
    if is_fitted_encoder(encoder):
        raise ParameterError(
            f"the encoder {encoder.name!r} learns from the corpus, so prepared vectors cannot stand beside "
            "its own: leave vectors out, or create the index with the encoder they come from"
        )
    given = vectors.shape[1]
    if settings.dim not in (None, given):
        raise DimensionError(
            f"vectors have {given} dimensions, but {settings.dim} are expected: use the model the index was built with"
        )
    if settings.dim is None and (dim := encoder_dim(encoder)) not in (None, given):
        raise DimensionError(
            f"vectors have {given} dimensions, but the index's encoder {encoder.name!r} gives {dim}: bring vectors of "
            "that encoder, or create the index with the encoder they come from"
        )
    spans = [[(0, len(row.text))] for row in plan.documents] if batch.spans is None else batch.spans
    return plan.change(plan.passages_at(spans), vectors, _completed(settings, vectors, plan))


def encoded_change(
    plan: Plan, encoder: Encoder, settings: Settings, ahead: Encoded | None, progress: Progress | None
) -> Change | None:
    """The change for texts that were encoded `ahead` or are encoded now; None where nothing changes."""
    passages = plan.passages(settings)
    if not passages:
        return plan.change([], None, None) if plan.updated else None
    vectors = encode_missing(encoder, _texts(passages, plan.documents), settings, ahead, progress)
    return plan.change(passages, vectors, _completed(settings, vectors, plan))


def must_learn(plan: Plan, encoder: Encoder, settings: Settings) -> bool:
    """Whether the encoder learns from the corpus and has to learn again with this plan."""
    if not is_fitted_encoder(encoder):
        return False
    return settings.fitted_on < min(_LEARN_AGAIN_BELOW, plan.size_after / 2) or not encoder.fitted


def learned_change(
    store: Store, plan: Plan, encoder: Encoder, progress: Progress | None
) -> tuple[Change, FittedEncoder]:
    """Fit a copy of the encoder on all texts and encode all of them again; returns the change and the copy."""
    assert is_fitted_encoder(encoder)
    learned: FittedEncoder = deepcopy(encoder)  # the original stays in use until the change is durable
    settings = store.settings
    with store.reading() as db:  # no longer than needed: in memory, searches wait for it
        passages, texts = plan.all_passages(db, settings)
    learned.fit(texts)
    settings = with_language(settings, plan.documents)
    settings = replace(settings, dim=learned.dim, fingerprint=learned.fingerprint, fitted_on=plan.size_after)
    vectors = encode(learned, texts, settings, "document", progress)
    change = plan.change(passages, vectors, settings)
    return replace(change, kind="refit", reencoded=True, encoder_state=learned.state()), learned


def _completed(settings: Settings, vectors: Floats, plan: Plan) -> Settings | None:
    """The settings with the dimension and the language of the first documents; None where both are known already."""
    completed = replace(with_language(settings, plan.documents), dim=vectors.shape[1])
    return completed if completed != settings else None
