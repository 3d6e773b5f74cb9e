"""Rows → records: which field is the text, which is the id, and which become metadata."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple

from gossamer.checks import TOO_DEEP
from gossamer.plain_text import shortened
from gossamer.readers.opening import LONGEST_LINE
from gossamer.readers.record import Account, FieldChoice, Record
from gossamer.readers.values import DROP, clean, json_value
from gossamer.readers.walk import Source

TEXT_FIELDS = ("text", "body", "content", "document", "passage", "question", "sentence", "abstract")
ID_FIELDS = ("_id", "id", "doc_id", "docid", "uuid")
TITLE = "title"
_LONGEST_TITLE = 1000
_STOPS = (".", "!", "?", "…", "。", "！", "？")


@dataclass(frozen=True)
class Job:
    """What every reader of a format gets: the options of `read`, and where to report problems."""

    account: Account
    text_fields: tuple[str, ...] = ()
    """The fields whose texts are joined; none: chosen by their names."""
    id_field: str | None = None
    lines: bool = False
    longest_row: int = LONGEST_LINE
    """The most characters of a row of a table."""


class Row(NamedTuple):
    """The fields of one document and the line it begins in; no line if the file is one document."""

    line: int | None
    fields: dict[str, Any]


class BadRowError(Exception):
    """A row that is no document: the problem, and the cure."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


class NoTextFieldError(BadRowError):
    """A row without a field that could be the text."""


def document(
    text: str, source: Source, job: Job, *, title: str | None = None, metadata: dict[str, Any] | None = None
) -> Iterator[Record]:
    """The record of a file that is one document; none if it is empty or beyond a limit, which is counted."""
    if not text.strip():
        job.account.without_text(source)
        return
    title = " ".join(clean(title).split())[:_LONGEST_TITLE] if title else ""
    record = Record(source.name, clean(text), {**({"title": title} if title else {}), **(metadata or {})}, source.place)
    if job.account.takes(record, source.place):
        yield record


def with_title(title: str | None, text: str) -> str:
    """`text` with the title before it, unless it begins with it."""
    title = " ".join((title or "").split())
    return text if title and title in " ".join(text[: 2 * len(title) + 200].split()) else _join(title, text)


def left_out(names: Iterable[str], source: Source, job: Job) -> bool:
    """Whether a file found in a folder is left out since no field can be its text: a table of numbers, settings."""
    lenient = job.account.on_error == "auto" and not source.named and not job.text_fields
    if not lenient or not {*TEXT_FIELDS, TITLE}.isdisjoint(names):
        return False
    job.account.leave_out(source, "no field with text")
    return True


def records(
    rows: Iterable[Row], source: Source, job: Job, convert: Callable[[Any], Any] = json_value
) -> Iterator[Record]:
    """A record for every row with text; empty rows are counted, and unusable ones are counted or raise (`on_error`)."""
    first = True
    for row in rows:
        name = source.name if row.line is None else f"{source.name}:{row.line}"
        place = source.place if row.line is None else f"{source.place}:{row.line}"
        try:
            record = _record(row.fields, name, source.place, job, convert)
        except NoTextFieldError as error:
            if first and left_out(row.fields, source, job):
                return
            job.account.problem(place, error.what, error.cure)
            continue
        except BadRowError as error:
            job.account.problem(place, error.what, error.cure)
            continue
        except RecursionError:
            job.account.problem(place, f"the document {TOO_DEEP.what}", TOO_DEEP.cure.capitalize())
            continue
        first = False
        if record is None:
            job.account.without_text(source)
        elif job.account.takes(record, place):
            yield record


def _record(fields: dict[str, Any], name: str, place: str, job: Job, convert: Callable[[Any], Any]) -> Record | None:
    text, of_text, left_out = _text(fields, job)
    if not text.strip():
        return None
    identity, id_field = _id(fields, job.id_field)
    rest = ((clean(key), convert(value)) for key, value in fields.items() if key not in left_out and key != id_field)
    metadata = {key: value for key, value in rest if value is not DROP}
    job.account.fields[FieldChoice(" + ".join(of_text), id_field)] += 1
    return Record(identity or name, text, metadata, place)


def _text(fields: dict[str, Any], job: Job) -> tuple[str, list[str], set[str]]:
    """The text, the fields it is from, and which of these are not metadata too: a title before a text is."""
    if job.text_fields:
        return _chosen_text(fields, job)
    present = [name for name in TEXT_FIELDS if name in fields]
    title = fields.get(TITLE)
    if not present and not isinstance(title, str):
        what = f"no text: none of {', '.join(TEXT_FIELDS)} is among {_list(fields)}"
        raise NoTextFieldError(what, f"Choose a text_field (--text-field{_longest(fields)})")
    chosen = next((name for name in present if fields[name] not in (None, "", [])), present[0] if present else None)
    text = "" if chosen is None else _as_text(fields[chosen], chosen)
    titles = [TITLE] if isinstance(title, str) else []
    texts = [] if chosen is None else [chosen]
    return _join(clean(title) if isinstance(title, str) else "", text), titles + texts, set(texts)


def _chosen_text(fields: dict[str, Any], job: Job) -> tuple[str, list[str], set[str]]:
    """The text of the fields that the user chose. Of several, a row may lack some that others before it have."""
    known, several = job.account.text_fields, len(job.text_fields) > 1
    for name in job.text_fields:
        if name not in fields and not (several and name in known):
            what, cure = f"there is no field {name!r} among {_list(fields)}", "Choose another text_field (--text-field)"
            raise NoTextFieldError(what, _near(name, fields) + cure)
    present = [name for name in job.text_fields if name in fields]
    known.update(present)
    text = reduce(_join, [_as_text(fields[name], name) for name in present], "")
    return text, present, set(present) - ({TITLE} if several else set())


def _join(title: str, text: str) -> str:
    title = title.strip()
    if not title or not text.strip():
        return title or text
    return f"{title} {text}" if title.endswith(_STOPS) else f"{title}. {text}"


def _near(name: str, fields: dict[str, Any]) -> str:
    """The fields that may be meant by a name that is none of them, as a question."""
    names = {each.lower(): each for each in fields}
    near = [repr(shortened(names[each], 40)) for each in get_close_matches(name.lower(), names, 3)]
    return f"Did you mean {' or '.join(near)}? " if near else ""


def _longest(fields: dict[str, Any]) -> str:
    """The name of the field with the longest text, which is probably the one, after a space; nothing if none has."""
    texts = {name: len(value) for name, value in fields.items() if isinstance(value, str) and value.strip()}
    return f" {shortened(max(texts, key=lambda name: texts[name]), 40)}" if texts else ""


def _as_text(value: Any, name: str) -> str:
    """A field as text: texts, numbers, and lists of texts (SciFact's abstracts are lists of sentences)."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return clean(" ".join(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise BadRowError(f"the field {name!r} holds {type(value).__name__}, not text", "Choose another text_field")


def _id(fields: dict[str, Any], wanted: str | None) -> tuple[str | None, str | None]:
    """The id, and the field it is from; both None if the row has no id."""
    if wanted is not None:
        identity = _as_id(fields.get(wanted))
        if identity is None:
            there = f"the field {wanted!r} is empty" if wanted in fields else f"there is no field {wanted!r}"
            cure = _near(wanted, fields) * (wanted not in fields) + "Choose another id_field (--id-field)"
            raise BadRowError(f"no id: {there}; the fields are {_list(fields)}", cure)
        return identity, wanted
    for name in ID_FIELDS:
        identity = _as_id(fields.get(name))
        if identity is not None:
            return identity, name
    return None, None


def _as_id(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return clean(str(value)).strip() or None


def _list(fields: dict[str, Any]) -> str:
    names = [repr(shortened(name, 40)) for name in islice(fields, 13)]
    return ", ".join(names[:12]) + (", …" if len(names) > 12 else "") if names else "no fields at all"
