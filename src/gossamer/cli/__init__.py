"""The command line: one command a file."""

from __future__ import annotations


def main() -> None:
    """Entry point of `gossamer`."""
    from gossamer.cli.app import app

    app()
