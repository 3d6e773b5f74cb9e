"""What several tests do to an index from outside: take no snapshots, run out of pages."""

from __future__ import annotations

from math import inf

from gossamer import Index
from gossamer.store import Policy

NO_SNAPSHOTS = Policy(snapshot_after=10**9, closing_share=inf)


def limit_pages(index: Index, more: int) -> None:
    """Let the database grow by no more than `more` pages, as on a disk that is nearly full."""
    database = index.state.store.database
    db = database.begin()
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages + more}")
    database.rollback()
