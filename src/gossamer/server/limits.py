"""What one request may ask for, and how many at once."""

from __future__ import annotations

from dataclasses import dataclass, fields

from gossamer.errors import ParameterError


@dataclass(frozen=True)
class Limits:
    """The limits of a server: what is above is refused with a sentence that names the limit."""

    body: int = 8 * 2**20
    """Bytes of a request, and of one line of a stream."""
    k: int = 1000
    """Answers to a search."""
    batch: int = 1000
    """Documents in one request, and in one write of a stream."""
    text: int = 1_000_000
    """Characters of a document or a query."""
    nodes: int = 5000
    """Concepts in one answer."""
    seconds: float = 30.0
    """For a request to arrive, and then for its answer."""
    in_flight: int = 128
    """Requests at once, from all callers."""
    per_caller: int = 64
    """Requests at once from one key, or one address where there are no keys."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ParameterError(f"the limit {field.name!r} must be above 0, got {value}")

    def check_k(self, k: int, *, given: bool = True) -> int:
        """`k` if it is allowed; one that nobody gave is made so."""
        return self._check(k, self.k, "k", "ask for less") if given else min(k, self.k)

    def check_batch(self, count: int, what: str = "documents") -> int:
        """The size of a request's list if it is allowed."""
        return self._check(count, self.batch, f"the number of {what} in one request", "send them in several")

    def check_text(self, text: str | None) -> None:
        """Refuse a text that is too long."""
        if text is not None:
            self._check(len(text), self.text, "the length of a text in characters", "split it")

    @staticmethod
    def _check(value: int, most: int, what: str, cure: str) -> int:
        if value > most:
            raise ParameterError(f"{what} may be at most {most:,} on this server, got {value:,}: {cure}")
        return value
