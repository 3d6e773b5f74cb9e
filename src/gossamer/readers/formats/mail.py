"""E-mail: mailboxes (.mbox) message by message, and single messages (.eml).

A document is the subject and the text of a message. Quoted lines of other messages, signatures and attachments are left
out. Pages (HTML) are read where a message has no plain text; what they link to is not loaded.
"""

import re
from collections.abc import Iterator
from datetime import UTC
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

from gossamer.readers.charsets import assumed
from gossamer.readers.fields import Job, document, with_title
from gossamer.readers.formats.html import text_of
from gossamer.readers.opening import TooLargeError, open_bytes
from gossamer.readers.record import Record
from gossamer.readers.values import clean
from gossamer.readers.walk import Source

_LONGEST = 2**26
"""Bytes of a message, attachments included; one with more is not read."""

_LONGEST_HEADER = 1000
_MOST_PARTS = 1000
"""Parts of a message that are looked at."""

_FROM = re.compile(rb"From [^\r\n]{0,1000}\r?\n")
_SIGNATURE = re.compile(r"^-- ?\r?$", re.MULTILINE)
_ATTRIBUTION = re.compile(r"^.{0,200}(?:wrote|writes|schrieb|escribió|écrit|scrisse) ?:$")


def read_mbox(source: Source, job: Job) -> Iterator[Record]:
    """A mailbox: a document for each message, "<file>:<message id>"."""
    seen: set[str] = set()
    with open_bytes(source, job.account) as stream:
        for number, content in enumerate(_messages(stream, source, job), 1):
            place = f"{source.place}:{number}"
            found = _parsed(content, place, job)
            if found is None:
                continue
            text, metadata, identity = found
            if not text.strip():
                job.account.without_text(source)
                continue
            if not identity or identity in seen:
                identity = str(number)
            seen.add(identity)
            record = Record(f"{source.name}:{identity}", text, metadata, source.place)
            if job.account.takes(record, place):
                yield record


def read_eml(source: Source, job: Job) -> Iterator[Record]:
    """A file that is one message."""
    with open_bytes(source, job.account) as stream:
        content = stream.read(_LONGEST + 1)
    if len(content) > _LONGEST:
        raise TooLargeError(f"a message of more than {_LONGEST:,} bytes", "Remove attachments")
    found = _parsed(content, source.place, job)
    if found is not None:
        yield from document(found[0], source, job, metadata=found[1])


def _messages(stream: Any, source: Source, job: Job) -> Iterator[bytes]:
    """The messages of a mailbox: each begins with a line "From …" after a blank line."""
    lines: list[bytes] = []
    size, number, blank, started = 0, 1, True, False
    while line := stream.readline(_LONGEST + 1):
        if blank and _FROM.match(line):
            if started and size <= _LONGEST:
                yield b"".join(lines)
            number += started
            lines, size, started = [], 0, True
        elif not started and line.strip():
            job.account.problem(source.place, 'not a mailbox: it does not begin with "From "', "Call it .eml or .txt")
            return
        elif size <= _LONGEST:
            lines.append(line[1:] if line.startswith(b">From ") else line)
            size += len(line)
            if size > _LONGEST:
                lines = []
                what = f"a message of more than {_LONGEST:,} bytes"
                job.account.problem(f"{source.place}:{number}", what, "Remove attachments")
        blank = line in (b"\n", b"\r\n")
    if started and size <= _LONGEST:
        yield b"".join(lines)


def _parsed(content: bytes, place: str, job: Job) -> tuple[str, dict[str, Any], str] | None:
    """The text, metadata and id of a message; None if it cannot be parsed, which is a problem."""
    try:
        message = message_from_bytes(content)
        subject = _header(message, "Subject")
        text = clean(with_title(subject, _body(message)))
    except (MessageError, RecursionError, ValueError, LookupError, TypeError) as error:
        job.account.problem(place, f"not a message ({type(error).__name__})", "Export it again")
        return None
    named = {"title": subject, "from": _header(message, "From"), "date": _date(message)}
    identity = _header(message, "Message-ID").strip("<> ")
    return text, {name: value for name, value in named.items() if value}, clean(identity)[:500]


def _body(message: Message) -> str:
    """The plain text of a message, or else the text of its page."""
    page = ""
    for count, part in enumerate(message.walk()):
        if count > _MOST_PARTS:
            break
        kind = part.get_content_type()
        if kind not in ("text/plain", "text/html") or part.get_filename():
            continue
        payload = part.get_payload(decode=True)
        text = _decoded(payload, part.get_content_charset()) if isinstance(payload, bytes) else ""
        if kind == "text/plain" and text.strip():
            return _own(text)
        page = page or text
    return text_of(page)[1] if page else ""


def _own(text: str) -> str:
    """What the sender wrote: without quoted lines, the line that announces them, and the signature."""
    if signature := _SIGNATURE.search(text):
        text = text[: signature.start()]
    kept: list[str] = []
    for line in (line.rstrip() for line in text.splitlines()):
        if not line.startswith(">"):
            kept.append(line)
        elif kept and _ATTRIBUTION.match(kept[-1]):
            kept.pop()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _header(message: Message, name: str) -> str:
    """A header as text, decoded and on one line."""
    value = str(message.get(name, ""))[: 10 * _LONGEST_HEADER]
    try:
        parts = [_decoded(part, charset) if isinstance(part, bytes) else part for part, charset in decode_header(value)]
    except (MessageError, ValueError, LookupError):
        parts = [value]
    return " ".join(clean("".join(parts)).split())[:_LONGEST_HEADER]


def _date(message: Message) -> str | None:
    """When a message was sent, in UTC, as ISO 8601, which sorts and can be filtered."""
    try:
        return parsedate_to_datetime(str(message.get("Date", ""))[:200]).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _decoded(content: bytes, charset: str | None) -> str:
    try:
        return content.decode(charset or "utf-8", "replace" if charset else "strict")
    except (LookupError, ValueError):
        return content.decode(assumed(content) or "utf-8", "replace")
