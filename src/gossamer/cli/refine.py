"""`gossamer refine`: the tree grown again, now that all documents are known."""

from __future__ import annotations

import time

from gossamer.cli.command import command, examples
from gossamer.cli.opening import opened
from gossamer.cli.options import EncoderName, IndexPath, Json, Quiet
from gossamer.cli.screen import Screen

EXAMPLES = examples("gossamer refine notes.gsm", "gossamer refine notes.gsm --json --quiet")


@command
def refine(index: IndexPath, encoder: EncoderName = None, json: Json = False, quiet: Quiet = False) -> None:
    """Fit the whitening to all documents there are now, and grow the tree again.

    Worth it when an index has grown to many times its first size, or to other topics. The encoder lsa learns anew.
    Ids of concepts change.
    """
    screen = Screen(json=json, quiet=quiet)
    start = time.perf_counter()
    with opened(index, screen, "w", encoder) as ix:
        before = ix.info().concepts
        with screen.bar("refining", "texts") as bar:
            bar(0, None)
            ix.refit(progress=bar)
        about = ix.info()
    seconds = time.perf_counter() - start
    if screen.json:
        screen.emit(
            {
                "documents": about.documents,
                "concepts_before": before,
                "concepts": about.concepts,
                "whitened": about.whitened,
                "seconds": round(seconds, 3),
            }
        )
    else:
        screen.show(
            f"{about.documents:,} documents: {before:,} concepts before, {about.concepts:,} now ({seconds:.1f} s)"
        )
