"""On real texts: what does not belong is told apart. The collections are read where they lie, and never shipped."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from gossamer import Index
from gossamer.cli.evaluation import DATA_VARIABLE
from gossamer.encoders import load_encoder
from gossamer.errors import MissingExtraError, ModelUnavailableError

FOLDERS = [Path(os.environ.get(DATA_VARIABLE, "")).parent / "data", Path(__file__).parents[3] / "shared" / "data"]
DATA = next((folder for folder in FOLDERS if (folder / "20newsgroups").is_dir()), None)
NEWS, HELD_BACK = 500, 70


def some(name: str, n: int) -> list[str]:
    """So many texts, from all over the collection."""
    assert DATA is not None
    with gzip.open(DATA / name / "corpus.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    found = [f"{row.get('title') or ''} {row['text']}".strip()[:300] for row in rows]
    step = len(found) // n
    return [text or "nothing" for text in found[::step][:n]]


@pytest.mark.data
@pytest.mark.model
@pytest.mark.skipif(DATA is None, reason="the collections are not here")
def test_questions_of_another_domain_are_told_apart() -> None:
    """Bank customers' questions against newsgroups: AUROC of the likeness at least 0.9 against held-back posts."""
    try:
        load_encoder("minilm").encode(["a word"])
    except (ModelUnavailableError, MissingExtraError) as error:
        pytest.skip(f"minilm is not to be had here: {error}")
    news, bank = some("20newsgroups", NEWS + HELD_BACK), some("banking77", HELD_BACK)
    held_back = news[:: len(news) // HELD_BACK][:HELD_BACK]
    with Index("minilm") as index:
        index.add([text for text in news if text not in set(held_back)])
        here = [index.novelty(text) for text in held_back]
        there = [index.novelty(text) for text in bank]
    wins = np.array([n.score for n in here])[:, None] > np.array([n.score for n in there])[None, :]
    assert wins.mean() >= 0.9
    assert np.mean([n.confidence < 0.05 for n in here]) <= 0.15
    assert np.median([n.percentile for n in there]) > 90
