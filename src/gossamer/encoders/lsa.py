"""Latent semantic analysis: an encoder learnt from the corpus itself, with nothing to download.

TF-IDF over words and pairs of words (Salton and Buckley 1988: sublinear term frequency, smoothed idf,
unit length), then a truncated singular value decomposition (Deerwester et al. 1990). The SVD is the
randomised one of Halko, Martinsson and Tropp (2011) with a fixed seed.

Two things differ from the textbook, since the axes of an SVD go to whatever is frequent, and in questions
that is "what is the" and not the matter: idf is squared, and words in over a fifth of all texts are left out.
Recall@10, cosine (QQP 10k, Cranfield, SciFact): textbook .50 .43 .61, squared idf .60 .46 .72, both .67 .46 .74.
The two were chosen among 18 variants by these same queries, so expect a little less elsewhere.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.checks import one_of, positive
from gossamer.encoders.protocol import Kind, Progress, check_kind, check_texts, fingerprint_of
from gossamer.encoders.words import terms, words
from gossamer.errors import CorruptError, EmptyTextError, ParameterError, StateError
from gossamer.files.bundle import Bundle

_MOST_TERMS = 50_000
"""The most frequent terms are kept: 50 MB of components at 256 dimensions."""

_LARGE = 1_000
"""From this many texts on, what occurs in one text alone teaches nothing, and what occurs in many is a stop word."""

_COMMON = 0.2
"""The share of texts that makes a word a stop word."""

_BLOCK = 2_048
"""Texts encoded at a time, between two reports of progress."""


class LsaEncoder:
    """Fitted on the texts of the index, deterministic, any language.

    Vectors have unit length, in at most `components` dimensions: fewer where the corpus has fewer
    independent directions. A text without a known word gets the **zero vector**: it is equally far
    from everything, which is all that can be said about it.

    `stop_words`: words to leave out: those in over a fifth of the texts of a large corpus, whatever its
    language ("auto"), a list of English ones, or none.
    """

    def __init__(
        self, *, components: int = 256, stop_words: Literal["auto", "english", "none"] = "auto", seed: int = 0
    ) -> None:
        self._components = positive(components, "components")
        self._stop_words = one_of(stop_words, "stop_words", ("auto", "english", "none"))
        self._seed = _as_seed(seed)
        self._stop: list[str] = []
        self._vocabulary: list[str] = []
        self._idf: Floats = np.empty(0, np.float32)
        self._axes: Floats = np.empty((0, 0), np.float32)
        self._vectorizer: Any = None
        self._fingerprint = fingerprint_of(encoder="lsa", **self._settings())

    @property
    def fitted(self) -> bool:
        """Whether there is anything learnt to encode with."""
        return self._vectorizer is not None

    @property
    def dim(self) -> int:
        """Length of the vectors, known once fitted."""
        self._need_fit()
        return int(self._axes.shape[1])

    @property
    def name(self) -> str:
        """``lsa`` with the options that differ from the defaults; what was learnt is in `state`."""
        standard = LsaEncoder.__init__.__kwdefaults__ or {}
        told = [f"{key}={value}" for key, value in self._settings().items() if value != standard[key]]
        return "lsa" + ("?" + "&".join(told) if told else "")

    @property
    def fingerprint(self) -> str:
        """A hash of the settings and of what was learnt: another corpus gives another one."""
        return self._fingerprint

    def fit(self, texts: Sequence[str]) -> LsaEncoder:
        """Learn vocabulary, weights and axes from `texts`; what was learnt before is forgotten."""
        rows = check_texts(texts)
        if not rows:
            raise EmptyTextError("lsa cannot be fitted on no texts: give at least one")
        stop = _stop_list(self._stop_words, rows)
        vocabulary, idf, matrix = _weigh(rows, stop)
        axes = _principal_axes(matrix, self._components, self._seed)
        self._learnt(stop, vocabulary, idf, axes)
        return self

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """Unit vectors, the same for documents and queries; zero where no word is known."""
        rows = check_texts(texts)
        check_kind(kind)
        self._need_fit()
        vectors = np.zeros((len(rows), self.dim), np.float32)
        for start in range(0, len(rows), _BLOCK):
            block = self._vectorizer.transform(rows[start : start + _BLOCK]) @ self._axes
            lengths = np.linalg.norm(block, axis=1, keepdims=True)
            # Shorter than rounding error means nothing was left of the text: a direction would be made up.
            np.divide(block, lengths, out=vectors[start : start + _BLOCK], where=lengths > 1e-6)
            if progress is not None:
                progress(min(start + _BLOCK, len(rows)), len(rows))
        return vectors

    def state(self) -> Bundle:
        """All that was learnt, as plain arrays."""
        self._need_fit()
        return Bundle(
            params=self._settings(),
            arrays={
                "stop": _as_bytes(self._stop),
                "vocabulary": _as_bytes(self._vocabulary),
                "idf": self._idf,
                "axes": self._axes,
            },
        )

    @classmethod
    def from_state(cls, bundle: Bundle) -> LsaEncoder:
        """The encoder that `state` described: it gives the same vectors, bit for bit."""
        try:
            encoder = cls(**bundle.params)
            stop, vocabulary = _as_words(bundle.arrays["stop"]), _as_words(bundle.arrays["vocabulary"])
            idf, axes = bundle.arrays["idf"], bundle.arrays["axes"]
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise _corrupt(f"cannot be understood ({error})") from error
        _check_learnt(vocabulary, idf, axes, encoder._components)
        encoder._learnt(stop, vocabulary, idf, axes)
        return encoder

    def _settings(self) -> dict[str, Any]:
        return {"components": self._components, "stop_words": self._stop_words, "seed": self._seed}

    def _learnt(self, stop: list[str], vocabulary: list[str], idf: Floats, axes: Floats) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        # Made of the saved parts alone, also just after fitting: so saved and fitted cannot differ.
        analyze = partial(terms, stop=frozenset(stop))
        vectorizer = TfidfVectorizer(analyzer=analyze, sublinear_tf=True, vocabulary=vocabulary, dtype=np.float32)
        vectorizer.idf_ = idf
        parts = (_as_bytes(stop), _as_bytes(["", ""]), _as_bytes(vocabulary), idf, axes)
        content = b"".join(part.tobytes() for part in parts)
        self._stop, self._vocabulary, self._idf, self._axes = stop, vocabulary, idf, axes
        self._vectorizer = vectorizer
        self._fingerprint = fingerprint_of(
            encoder="lsa", learnt=hashlib.sha256(content).hexdigest(), **self._settings()
        )

    def _need_fit(self) -> None:
        if not self.fitted:
            raise StateError("lsa learns from the corpus: call fit(texts) before encoding")


def _weigh(rows: list[str], stop: list[str]) -> tuple[list[str], Floats, Any]:
    """The vocabulary, its weights (idf squared) and the corpus as a sparse matrix (texts × terms)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    analyze = partial(terms, stop=frozenset(stop))
    for rarest in (2, 1) if len(rows) >= _LARGE else (1,):
        vectorizer = TfidfVectorizer(
            analyzer=analyze, sublinear_tf=True, min_df=rarest, max_features=_MOST_TERMS, dtype=np.float32
        )
        try:
            matrix = vectorizer.fit_transform(rows)
        except ValueError:  # no term is left: try again with the rare ones, or give up below
            continue
        idf = np.asarray(vectorizer.idf_, np.float32)
        return list(vectorizer.get_feature_names_out()), idf * idf, normalize(matrix.multiply(idf).tocsr())
    raise EmptyTextError(
        f"none of the {len(rows)} texts holds a word that lsa could learn from (letters or digits, not "
        "only stop words): add other texts first, or use another encoder"
    )


def _principal_axes(matrix: Any, components: int, seed: int) -> Floats:
    """The leading right singular vectors of `matrix` as columns (terms × dimensions)."""
    from sklearn.utils.extmath import randomized_svd

    wanted = min(components, *matrix.shape)
    _, sizes, rows = randomized_svd(matrix, wanted, n_iter=2, random_state=seed)
    # Directions the corpus does not have (repeated texts, say) come back as noise of no size.
    there = int(np.count_nonzero(sizes > 1e-5 * sizes[0]))
    return np.ascontiguousarray(rows[:there].T, dtype=np.float32)


def _stop_list(name: str, rows: list[str]) -> list[str]:
    """The words to leave out, sorted; they are saved with the rest, so that no later list can differ."""
    if name == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)
    if name == "none" or len(rows) < _LARGE:
        return []
    counts = Counter(word for text in rows for word in set(words(text)))
    return sorted(word for word, count in counts.items() if count > _COMMON * len(rows))


def _as_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ParameterError(f"seed must be a whole number from 0 to 2**32 - 1, got {seed!r}")
    return seed


def _check_learnt(vocabulary: list[str], idf: Floats, axes: Floats, components: int) -> None:
    """What comes from a file may be anything: only what `fit` could have learnt is let through."""
    if idf.dtype != np.float32 or axes.dtype != np.float32 or idf.ndim != 1 or axes.ndim != 2:
        raise _corrupt(f"has weights of {idf.dtype} {idf.shape} and axes of {axes.dtype} {axes.shape}")
    if not 0 < len(vocabulary) == len(idf) == len(axes):
        raise _corrupt(
            f"has {len(vocabulary)} words, {len(idf)} weights and {len(axes)} rows of axes: the same number is needed"
        )
    if len(set(vocabulary)) < len(vocabulary):
        raise _corrupt("has a word twice")
    if not 1 <= axes.shape[1] <= components:
        raise _corrupt(f"has {axes.shape[1]} axes, where 1 to {components} are possible")
    # Axes have unit length, and a weight is the square of a logarithm. NaN is below nothing.
    if not (np.abs(axes).max() < 1.01 and np.abs(idf).max() < 1e6):
        raise _corrupt("has numbers that nothing could have taught it")


def _corrupt(what: str) -> CorruptError:
    return CorruptError(f"the saved lsa encoder {what}: restore it from a copy or build the index again")


def _as_bytes(some: list[str]) -> npt.NDArray[np.uint8]:
    """Words as an array, for the disk; no word holds a line feed."""
    return np.frombuffer("\n".join(some).encode(), np.uint8).copy()


def _as_words(array: npt.NDArray[np.uint8]) -> list[str]:
    if array.dtype != np.uint8:
        raise ValueError(f"words are kept as bytes, not as {array.dtype}")
    return array.tobytes().decode().split("\n") if array.size else []
