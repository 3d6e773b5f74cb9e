"""Texts cut to fit: in labels, tables and pictures alike."""

from __future__ import annotations


def shortened(line: str, most: int) -> str:
    """The beginning of a line, cut between words where there are some."""
    if len(line) <= most:
        return line
    head = line[: max(most - 1, 1)]
    cut = head.rsplit(" ", 1)[0].rstrip(" ,;:.")
    return (cut if len(cut) > most // 2 else head) + "…"
