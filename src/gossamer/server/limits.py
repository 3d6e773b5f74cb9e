"""Limits of a server: what one request may ask for, and how many requests are served at once."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from gossamer.errors import ParameterError
from gossamer.index import check_size

LONGEST: Final = 86_400
"""Largest value of the limit `seconds`: a day."""


@dataclass(frozen=True)
class Limits:
    """The largest values a server accepts. A request above one is refused with a message that names it."""

    body: int = 8 * 2**20
    """Bytes of a request, and of one line of a stream."""
    k: int = 1000
    """Answers to a search."""
    batch: int = 1000
    """Documents in one request, and in one write of a stream."""
    text: int = 1_000_000
    """Characters of a document or a query."""
    explain: int = 100
    """Answers to a search that explains each of them."""
    nodes: int = 5000
    """Concepts in one answer."""
    assignments: int = 1_000_000
    """Documents listed with their topic in one answer, times the levels."""
    answer: int = 64 * 2**20
    """Characters of the documents in one answer, text and metadata; of a batch of searches, of the whole answer."""
    conditions: int = 32
    """Conditions of a filter: each may look at every document."""
    filter: int = 64 * 2**10
    """Characters of a filter's keys and values in sum."""
    seconds: float = 30.0
    """For a request to arrive, and then for its answer."""
    in_flight: int = 128
    """Requests at once, from all callers."""
    per_caller: int = 64
    """Requests at once from one key, or one address where there are no keys."""
    waiting: int = 64
    """Searches that wait for a thread; as many other reads, and as many writes of each index."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ParameterError(f"the limit {field.name!r} must be above 0, got {value}")
        if self.seconds > LONGEST:
            raise ParameterError(f"the limit 'seconds' may be at most {LONGEST:,}, a day, got {self.seconds}")

    def check_k(self, k: int, *, given: bool = True, explain: bool = False) -> int:
        """`k`, if it is allowed; a default that the request did not give is lowered to the limit."""
        most = min(self.k, self.explain) if explain else self.k
        return self._check(k, most, "k with explain" if explain else "k", "ask for less") if given else min(k, most)

    def check_where(self, where: Mapping[str, Any] | None) -> None:
        """Refuse a filter that is invalid or too large."""
        if where is not None:
            check_size(where, conditions=self.conditions, characters=self.filter)

    def check_batch(self, count: int, what: str = "documents") -> int:
        """The length of a list in a request, if it is allowed."""
        return self._check(count, self.batch, f"the number of {what} in one request", "send them in several")

    def check_text(self, text: str | None) -> None:
        """Refuse a text that is too long."""
        if text is not None:
            self._check(len(text), self.text, "the length of a text in characters", "split it")

    def check_assignments(self, documents: int, levels: int) -> None:
        """Refuse an answer with the topics of too many documents."""
        what = "the number of documents told with their topic, for all levels,"
        self._check(documents * levels, self.assignments, what, "ask with assignments=false")

    def check_answer(self, characters: int) -> None:
        """Refuse an answer that would be too long."""
        what = "the length of all documents of an answer in characters"
        self._check(characters, self.answer, what, "ask for fewer at once")

    @staticmethod
    def _check(value: int, most: int, what: str, cure: str) -> int:
        if value > most:
            raise ParameterError(f"{what} may be at most {most:,} on this server, got {value:,}: {cure}")
        return value
