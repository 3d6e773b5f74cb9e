"""What an attack came to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """How often something was tried, how each ended, and everything that must not be."""

    tried: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, ending: str) -> None:
        self.tried += 1
        self.ended[ending] += 1

    def summary(self) -> str:
        ways = ", ".join(f"{ending} {count:,}" for ending, count in sorted(self.ended.items()))
        return f"{self.tried:,} tried: {ways}; {len(self.wrong)} wrong"
