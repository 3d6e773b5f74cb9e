"""How well labels name their concepts: can the label alone find the members among those of the siblings?

Measured on every shown concept of a level that has enough documents and at least one sibling:

by meaning   the probability that a random member is nearer to the label's vector than a random document of a sibling
             (area under the ROC curve; 0.5 is chance)
by words     the same with the documents scored by the words of the label that they hold, rare words counting more
covered      the share of the members that hold a word of the label
shared       the share of the label's words that are in a sibling's label, too
same         the share of concepts that have the label of a sibling
intruder     how often the term of a sibling is found among five terms, by the mean cosine to the other four

The labels of the index stand beside those that BERTopic would give the same groups: class-based TF-IDF among siblings,
and its candidates ranked by cosine to typical documents, as KeyBERT does; and beside Toponymy's keyphrases, where it is
installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score

from gossamer import Index
from gossamer.encoders import Encoder, is_fitted_encoder, load_encoder
from gossamer.errors import InputError
from gossamer.results import Concept
from gossamer_lab.engine import Doubles, Floats, Longs
from gossamer_lab.job import Job
from gossamer_lab.tables import Report, Row, Table
from gossamer_lab.trees import toponymy_labels
from gossamer_lab.trees.labelled import Labelled, load

AUC_BAR: Final = 0.9
COLLECTIONS: Final = ("20newsgroups", "banking77")

_LEVELS: Final = (1, 2, 3)
_LEAST: Final = 10
"""Documents of a concept that is measured, at least."""
_COMPARED: Final = 400
"""Members, and documents of siblings, that are compared, at most."""
_IN_LABEL: Final = 4
"""Words of a label of BERTopic's, which is its own default."""
_CANDIDATES: Final = 30
"""Words that are ranked by cosine."""
_TYPICAL: Final = 20
"""Documents of a group that words are compared with."""
_WORD: Final = re.compile(r"[^\W_]{2,}")


@dataclass(frozen=True)
class Wanted:
    """What is measured."""

    collections: tuple[str, ...] = COLLECTIONS
    model: str = "minilm"
    documents: int | None = None
    """Documents of each collection, at most."""
    seed: int = 0


class Named(NamedTuple):
    """A label, and the most telling terms."""

    label: str
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """Concepts with the same parent, and the places of their documents."""

    level: int
    members: list[Longs]
    ours: list[Named]


Labeller = Callable[["Corpus", Family], list[Named]]


@dataclass
class Corpus:
    """Documents with unit vectors, and their words."""

    texts: Sequence[str]
    units: Floats
    embed: Callable[[list[str]], Floats]
    words: list[frozenset[str]] = field(init=False)
    rarity: dict[str, float] = field(init=False)
    keyphrases: toponymy_labels.Keyphrases | None = None

    def __post_init__(self) -> None:
        """Count in how many documents each word is."""
        self.words = [frozenset(words_of(text)) for text in self.texts]
        counts: dict[str, int] = {}
        for words in self.words:
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        self.rarity = {word: float(np.log(len(self.texts) / count)) for word, count in counts.items()}


def words_of(text: str) -> list[str]:
    """The words of a text, folded; a plural s is dropped."""
    return [word.removesuffix("s") if len(word) > 3 else word for word in _WORD.findall(text.casefold())]


# -- other labels ----------------------------------------------------------------------------------------


def own_labels(corpus: Corpus, family: Family) -> list[Named]:
    """The labels of the index."""
    return family.ours


def ctfidf(corpus: Corpus, family: Family, most: int = 10) -> list[Named]:
    """tf · log(1 + A/f) of each word, where A is the mean number of words of a group and f the count of the word."""
    counts, words = _counted(corpus, family)
    return [_named([words[at] for at in best]) for best in _best(counts, most)]


def keybert(corpus: Corpus, family: Family) -> list[Named]:
    """Words of the highest class-based TF-IDF, ranked by cosine to the mean of typical documents."""
    counts, words = _counted(corpus, family)
    found = []
    for best, members in zip(_best(counts, _CANDIDATES), family.members, strict=True):
        mean = corpus.units[members].mean(axis=0)
        typical = members[np.argsort(-(corpus.units[members] @ mean), kind="stable")[:_TYPICAL]]
        candidates = [words[at] for at in best]
        near = units_of(corpus.embed(candidates)) @ corpus.units[typical].mean(axis=0)
        found.append(_named([candidates[at] for at in np.argsort(-near, kind="stable")[:10]]))
    return found


def _named(words: list[str]) -> Named:
    return Named(" ".join(words[:_IN_LABEL]), tuple(words))


def _counted(corpus: Corpus, family: Family) -> tuple[Doubles, list[str]]:
    """How often each word is in the documents of each group."""
    vectorizer = CountVectorizer(stop_words="english")
    counts = vectorizer.fit_transform(" ".join(corpus.texts[at] for at in members) for members in family.members)
    return counts.toarray().astype(np.float64), vectorizer.get_feature_names_out().tolist()


def _best(counts: Doubles, most: int) -> list[list[int]]:
    """The words of each group with the highest class-based TF-IDF."""
    totals = counts.sum(axis=1, keepdims=True)
    scores = counts / np.maximum(totals, 1.0) * np.log1p(totals.mean() / counts.sum(axis=0))
    return [[at for at in np.argsort(-row, kind="stable")[:most].tolist() if row[at] > 0.0] for row in scores]


def toponymy(corpus: Corpus, family: Family) -> list[Named]:
    """Toponymy's keyphrases."""
    if corpus.keyphrases is None:
        corpus.keyphrases = toponymy_labels.Keyphrases(corpus.texts, corpus.embed)
    return [Named(", ".join(phrases[:_IN_LABEL]), tuple(phrases)) for phrases in corpus.keyphrases.of(family.members)]


OTHERS: Final[dict[str, Labeller]] = {"Gossamer": own_labels, "c-TF-IDF": ctfidf, "KeyBERT-like": keybert}


def labellers() -> dict[str, Labeller]:
    """All that are compared: Toponymy where it is installed."""
    return {**OTHERS, **({"Toponymy": toponymy} if toponymy_labels.is_installed() else {})}


# -- measuring -------------------------------------------------------------------------------------------


def units_of(E: Floats) -> Floats:
    """Rows scaled to length one."""
    scaled: Floats = E / np.maximum(np.linalg.norm(E, axis=1, keepdims=True), 1e-12)
    return scaled


def families(index: Index, place: dict[str, int]) -> list[Family]:
    """The shown concepts of the first levels, by parent, as far as they have enough documents."""
    concepts = [concept for concept in index.concepts(max(_LEVELS)) if concept.children and concept.size >= _LEAST]
    by_parent: dict[tuple[int, int], list[Concept]] = {}
    for concept in concepts:
        if concept.parent is not None:
            by_parent.setdefault((concept.depth, concept.parent), []).append(concept)
    found = []
    for (level, _), siblings in by_parent.items():
        if len(siblings) > 1:
            members = [np.array([place[id] for id in index.ids(within=one.id)], np.int64) for one in siblings]
            found.append(Family(level, members, [Named(_plain(one.label), one.terms) for one in siblings]))
    return found


def _plain(label: str) -> str:
    """A label without the word that marks a mixture."""
    return label.removeprefix("mixed: ").replace(" · ", ", ")


def measure(corpus: Corpus, family: Family, named: list[Named], seed: int) -> list[dict[str, float]]:
    """The figures of each concept of a family."""
    rng = np.random.default_rng(seed)
    vectors = units_of(corpus.embed([one.label for one in named]))
    labels = [frozenset(words_of(one.label)) for one in named]
    rows = []
    for at, members in enumerate(family.members):
        beside = np.concatenate([others for number, others in enumerate(family.members) if number != at])
        some = [rng.permutation(places)[:_COMPARED] for places in (members, beside)]
        places, inside = np.concatenate(some), np.repeat([1, 0], [len(each) for each in some])
        held = [sum(corpus.rarity.get(word, 0.0) for word in labels[at] & corpus.words[one]) for one in places]
        shared = frozenset().union(*(words for number, words in enumerate(labels) if number != at))
        row = {
            "by meaning": float(roc_auc_score(inside, corpus.units[places] @ vectors[at])),
            "by words": float(roc_auc_score(inside, held)),
            "covered": float(np.mean([bool(labels[at] & corpus.words[one]) for one in some[0]])),
            "shared": len(labels[at] & shared) / max(1, len(labels[at])),
            "same": float(any(labels[at] == words for number, words in enumerate(labels) if number != at)),
        }
        odd = _intrusion(corpus, named[at].terms, named[(at + 1) % len(named)].terms)
        rows.append(row if odd is None else {**row, "intruder": odd})
    return rows


def _intrusion(corpus: Corpus, terms: tuple[str, ...], others: tuple[str, ...]) -> float | None:
    """1 if the best term of a sibling is furthest from five terms together; None where there are too few."""
    stranger = next((term for term in others if term not in terms), None)
    if len(terms) < 5 or stranger is None:
        return None
    units = units_of(corpus.embed([*terms[:5], stranger]))
    cosines = units @ units.T
    return float(np.argmin(cosines.sum(axis=1)) == 5)


# -- the report ------------------------------------------------------------------------------------------

_FIGURES: Final = ("by meaning", "by words", "covered", "shared", "same", "intruder")


def report(wanted: Wanted, job: Job) -> Report:
    """A row for each collection, level and kind of label."""
    rows: list[Row] = []
    about = []
    encoder = load_encoder(wanted.model)
    if is_fitted_encoder(encoder):
        raise InputError(
            f"labels are compared with documents by the encoder, and {wanted.model} has learnt nothing yet"
        )
    for name in wanted.collections:
        data = load(name, job, model=wanted.model, most=wanted.documents, seed=wanted.seed)
        rows += measure_collection(data, encoder, job.say, wanted.seed)
        about.append(f"{data.name} {len(data):,} documents")
    digits: dict[str, int | str] = dict.fromkeys(_FIGURES, 3)
    notes = [
        "Means over concepts. by meaning, by words: area under the ROC curve, members against siblings' documents, "
        "ranked by cosine to the label and by its words. covered: members that hold a word of the label. shared, same: "
        "words of the label that a sibling's has, and labels that a sibling has. intruder: a sibling's term found out "
        "among five, by vectors (chance: 0.17)."
    ]
    tables = [Table("labels", "labels of the concepts that people see first", rows, notes, digits)]
    return job.report("labels", f"{wanted.model} vectors; {'; '.join(about)}", tables)


def measure_collection(
    data: Labelled, encoder: Encoder, say: Callable[[str, int, int], None], seed: int = 0
) -> list[Row]:
    """The rows of one collection, whose vectors are the encoder's."""
    ids = [str(at) for at in range(len(data))]
    with Index(encoder=encoder) as index:
        say(f"{data.name}: building", 0, 0)
        index.add(list(data.texts), ids, vectors=data.E)
        say(f"{data.name}: naming", 0, 0)
        found = families(index, {id: at for at, id in enumerate(ids)})
    corpus = Corpus(data.texts, units_of(data.E), encoder.encode)
    rows: list[Row] = []
    compared = labellers()
    for level in _LEVELS:
        some = [family for family in found if family.level == level]
        for number, (name, labels) in enumerate(compared.items()):
            say(f"{data.name}, level {level}: {name}", number, len(compared))
            figures = [row for family in some for row in measure(corpus, family, labels(corpus, family), seed)]
            means = {
                figure: float(np.mean([row[figure] for row in figures if figure in row] or [np.nan]))
                for figure in _FIGURES
            }
            if figures:
                rows.append(
                    {"collection": data.name, "level": level, "concepts": len(figures), "labels": name, **means}
                )
    return rows
