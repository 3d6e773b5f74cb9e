"""The words of an index, in step with its documents.

They are a function of the documents: of their texts and of the metadata field `title`, which counts more. A snapshot
contains them. What it lacks is caught up by the log, and where it cannot be used, they are made again from all texts.
"""

import json
import logging
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from gossamer.errors import CorruptError, GossamerError
from gossamer.files.bundle import Bundle
from gossamer.lexical.analysis import DETECT, USUAL, detect_language
from gossamer.lexical.words import Words, WordsOf
from gossamer.store import Change, DocumentRow, Settings, Store, rows

_log = logging.getLogger("gossamer.index")

TITLE_FIELD: Final = "title"
"""The field of a document's metadata whose words count more than those of the text."""


def with_language(settings: Settings, documents: Iterable[DocumentRow]) -> Settings:
    """The settings with the language that documents tell, where it was left open and they tell one."""
    found = detect_language(row.text for row in documents) if settings.language == DETECT else None
    return settings if found is None else replace(settings, language=found)


def make_words(db: sqlite3.Connection, settings: Settings) -> Words:
    """The words of all documents."""
    return Words.empty(_language(settings)).changed((), [_words_of(row) for row in rows.all_documents(db)])


def load_words(db: sqlite3.Connection, saved: Bundle | None, settings: Settings, seq: int) -> Words | None:
    """The words that were saved after operation `seq`, caught up; None where they have to be made again."""
    if saved is None:
        return None
    try:
        return catch_up(db, Words.from_bundle(saved, _language(settings)), settings, seq)
    except (GossamerError, MemoryError) as error:
        _log.warning("the saved words of operation %d are made again: %s", seq, error)
        return None


def catch_up(db: sqlite3.Connection, words: Words, settings: Settings, seq: int) -> Words | None:
    """The words after what the log says of operations after `seq`; None where they have to be made again."""
    changed = rows.changed_since(db, seq)
    if changed is None or words.language != _language(settings):
        return None
    moved, updated = changed
    now = rows.documents_there(db, moved | updated)
    new = [each for row in now.values() if words.differ(each := _words_of(row))]
    return words.changed([*(moved | updated) - now.keys(), *(each.document for each in new)], new)


def change_words(words: Words, store: Store, change: Change) -> Words:
    """The words after a change, which is not written yet: they are put in place after the commit."""
    settings = change.settings or store.settings
    if words.language != _language(settings):
        with store.reading() as db:
            words = make_words(db, settings)
    added = [_words_of(row) for row in change.documents]
    updated = [each for row in change.updated if words.differ(each := _words_of(row))]
    return words.changed([*change.removed, *(each.document for each in updated)], [*updated, *added])


def check_words(db: sqlite3.Connection, words: Words, settings: Settings) -> None:
    """Raise `CorruptError` unless the words are those of the documents."""
    if not words.equals(make_words(db, settings)):
        raise CorruptError("the words of the index are not those of its documents: open it again")


def _language(settings: Settings) -> str:
    """The language by whose rules words are stemmed now."""
    return USUAL if settings.language == DETECT else settings.language


def _words_of(row: DocumentRow) -> WordsOf:
    return WordsOf(row.document, row.text, _title(row.metadata))


def _title(metadata: str) -> str:
    """The title in metadata, which is JSON text; empty where there is none."""
    if f'"{TITLE_FIELD}"' not in metadata:
        return ""
    try:
        found = json.loads(metadata).get(TITLE_FIELD)
    except RecursionError:
        return ""
    return found if isinstance(found, str) else ""
