"""How well labels name their concepts: on a corpus whose themes are known, and by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from typer.testing import CliRunner

from bag import encode
from gossamer.cli.app import app
from gossamer.encoders import load_encoder
from gossamer_lab.trees import labels
from gossamer_lab.trees.labelled import Labelled
from gossamer_lab.trees.labels import Corpus, Family, Named, ctfidf, keybert, measure, units_of, words_of

WORDS = {"sky": "moon comet planet orbit", "kitchen": "bread oven flour yeast", "road": "tyre brake pedal chain"}


def texts(each: int, seed: int = 0) -> tuple[list[str], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    found = [
        " ".join([*rng.choice(words.split(), 3, replace=False), *rng.choice(["today", "people", "really"], 1)])
        for words in WORDS.values()
        for _ in range(each)
    ]
    return found, np.repeat(np.arange(len(WORDS)), each)


def corpus_of(some: Sequence[str]) -> Corpus:
    return Corpus(some, units_of(encode(list(some))), encode)


@pytest.fixture(scope="module")
def three() -> tuple[Corpus, Family]:
    found, classes = texts(30)
    members = [np.flatnonzero(classes == number) for number in range(3)]
    named = [Named(", ".join(words.split()[:3]), tuple(words.split())) for words in WORDS.values()]
    return corpus_of(found), Family(1, members, named)


def test_a_label_that_names_its_members_finds_them(three: tuple[Corpus, Family]) -> None:
    corpus, family = three
    for row in measure(corpus, family, family.ours, 0):
        assert row["by words"] > 0.95
        assert row["covered"] > 0.95
        assert row["shared"] == row["same"] == 0.0
        assert row["by meaning"] > 0.8


def test_the_label_of_another_does_not(three: tuple[Corpus, Family]) -> None:
    corpus, family = three
    wrong = [family.ours[1], family.ours[2], family.ours[0]]
    for row in measure(corpus, family, wrong, 0):
        assert row["by words"] < 0.4
        assert row["covered"] == 0.0


def test_equal_labels_are_counted(three: tuple[Corpus, Family]) -> None:
    corpus, family = three
    rows = measure(corpus, family, [family.ours[0], family.ours[0], family.ours[2]], 0)
    assert [row["same"] for row in rows] == [1.0, 1.0, 0.0]
    assert [row["shared"] for row in rows] == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("labeller", [ctfidf, keybert])
def test_other_labels_are_words_of_the_members(three: tuple[Corpus, Family], labeller: labels.Labeller) -> None:
    corpus, family = three
    for named, words in zip(labeller(corpus, family), WORDS.values(), strict=True):
        assert named.label.split() == list(named.terms[:4])
        assert set(named.label.split()) <= set(words.split()) | {"today", "people", "really"}
        assert set(named.terms) & set(words.split())


def test_toponymys_keyphrases_are_phrases_of_the_members(three: tuple[Corpus, Family]) -> None:
    pytest.importorskip("toponymy")
    corpus, family = three
    for named, words in zip(labels.toponymy(corpus, family), WORDS.values(), strict=True):
        assert set(" ".join(named.terms).split()) & set(words.split())


def test_class_based_tf_idf_is_that_of_its_formula() -> None:
    """Grootendorst 2022: tf · log(1 + A/f)."""
    corpus = corpus_of(["moon moon moon comet", "bread oven moon"])
    family = Family(1, [np.array([0]), np.array([1])], [])
    first, second = ctfidf(corpus, family)
    assert first.terms == ("moon", "comet")  # 3/4·log(1 + 3.5/4) and 1/4·log(1 + 3.5/1)
    assert set(second.terms[:2]) == {"bread", "oven"}


def test_words_are_folded() -> None:
    assert words_of("Moons, the MOON: d'état_1") == ["moon", "the", "moon", "état"]


def test_a_collection() -> None:
    found, classes = texts(200)
    data = Labelled("themes", tuple(found), classes, encode(found))
    rows = labels.measure_collection(data, load_encoder(encode), lambda *_: None)
    assert {row["labels"] for row in rows} == set(labels.labellers())
    assert {row["level"] for row in rows} <= {1, 2, 3}
    ours = [row for row in rows if row["labels"] == "Gossamer" and row["level"] == 1]
    by_words: Any = ours[0]["by words"]
    assert by_words > 0.7


def test_the_command(tmp_path: Path) -> None:
    found, classes = texts(60)
    rows = [{"text": text, "label": str(label)} for text, label in zip(found, classes.tolist(), strict=True)]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    arguments = ["--collection", str(tmp_path / "mine"), "--cache", str(tmp_path / "cache")]
    refused = CliRunner().invoke(app, ["eval", "labels", *arguments, "--model", "lsa"])
    assert "learnt nothing" in " ".join(refused.output.split())
    done = CliRunner().invoke(app, ["eval", "labels", *arguments, "--json", "--out", str(tmp_path / "out")])
    if "minilm" in done.output and done.exit_code:
        pytest.skip("the model files cannot be had here")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tables"][0]["rows"]
    assert (tmp_path / "out" / "labels.md").read_text().startswith("#")
