"""The command line: one command a file.

app         the commands put together              command     what all of them share: --debug, errors, Ctrl-C
options     options that several commands take     screen      standard output for answers, standard error for news
opening     indices and model files                wording     paths and passages as people read them
ingest      files into an index, once              stdlib      the demo's documents
"""

from __future__ import annotations


def main() -> None:
    """Entry point of `gossamer`."""
    import sys

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows another

    from gossamer.cli.app import app

    app(prog_name="gossamer")
