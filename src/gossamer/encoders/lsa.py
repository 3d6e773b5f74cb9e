"""Latent semantic analysis: an encoder learnt from the corpus itself, with nothing to download.

TF-IDF over words and pairs of words (Salton and Buckley 1988: sublinear term frequency, smoothed idf,
unit length), then a truncated singular value decomposition (Deerwester et al. 1990). The SVD is the
randomised one of Halko, Martinsson and Tropp (2011) with a fixed seed.

Two things differ from the textbook, since the axes of an SVD follow whatever is frequent, and in questions
that is "what is the" and not their subject: idf is squared, and words in over a fifth of all texts are left out.
Recall@10, cosine (QQP 10k, Cranfield, SciFact): textbook .50 .43 .61, squared idf .60 .46 .72, both .67 .46 .74.
The two were chosen among 18 variants by these same queries, so expect a little less elsewhere.

Axes are rounded to one byte a number, with a scale for each term, which changes none of these figures by more than
.002: they are most of what is saved. Capping the terms at 8 for each text instead costs up to .014.

Words are runs of letters, digits and marks, in any script. Scripts written without spaces (Chinese, Japanese, Thai,
Lao, Burmese, Khmer) are split into characters, so that pairs of neighbours take the place of words.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.checks import one_of, positive
from gossamer.encoders.protocol import CheckedEncoder, Kind, check_texts, fingerprint_of
from gossamer.errors import CorruptError, EmptyTextError, ParameterError, StateError
from gossamer.files.bundle import CURE, Bundle
from gossamer.results.progress import Progress

_MOST_TERMS = 50_000
"""The most frequent terms are kept: 50 MB of axes at 256 dimensions in memory, a quarter of that when saved."""

_SEVERAL = 100
"""From this many texts on, pairs of words that occur in one text are dropped: most pairs do, and they help little."""

_LARGE = 1_000
"""From this many texts on, terms that occur in one text are dropped, and frequent words are stop words."""

_COMMON = 0.2
"""The share of texts above which a word is a stop word."""

_BLOCK = 2_048
"""Texts encoded at a time, between two reports of progress."""


class LsaEncoder(CheckedEncoder):
    """Fitted on the texts of the index, deterministic, any language.

    Vectors have unit length and at most `components` dimensions: fewer if the corpus has fewer independent
    directions. A text without a known word gets the **zero vector**, which is equally far from everything.

    `stop_words`: words to leave out: those in over a fifth of the texts of a large corpus, whatever its
    language ("auto"), a list of English ones ("english"), or none ("none").
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
        self._terms: dict[str, int] = {}
        self._fingerprint = fingerprint_of(encoder="lsa", **self._settings())

    @property
    def fitted(self) -> bool:
        """Whether `fit` was called or a state was loaded."""
        return bool(self._vocabulary)

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
        """A hash of the settings and of what was learnt: it changes with the corpus."""
        return self._fingerprint

    def fit(self, texts: Sequence[str]) -> LsaEncoder:
        """Learn vocabulary, weights and axes from `texts`; what was learnt before is discarded."""
        rows = check_texts(texts)
        if not rows:
            raise EmptyTextError("lsa cannot be fitted on no texts: give at least one")
        stop = _stop_list(self._stop_words, rows)
        found = _weigh(rows, stop)
        if found is None and self._stop_words == "auto":  # texts from a form share nearly all their words
            stop = []
            found = _weigh(rows, stop)
        if found is None:
            raise EmptyTextError(
                f"none of the {len(rows)} texts holds a word that lsa could learn from (letters or digits, not "
                "only stop words): add other texts first, or use another encoder"
            )
        vocabulary, idf, matrix = found
        axes = _unpacked(*_packed(_principal_axes(matrix, self._components, self._seed)))
        self._set_state(stop, vocabulary, idf, axes)
        return self

    def _vectors(self, texts: list[str], kind: Kind, progress: Progress | None) -> Floats:
        """Unit vectors, the same for documents and queries; zero if no word is known."""
        self._need_fit()
        vectors = np.zeros((len(texts), self.dim), np.float32)
        stop = frozenset(self._stop)
        for start in range(0, len(texts), _BLOCK):
            for row, text in enumerate(texts[start : start + _BLOCK], start):
                self._encode(text, stop, vectors[row])
            if progress is not None:
                progress(min(start + _BLOCK, len(texts)), len(texts))
        return vectors

    def _encode(self, text: str, stop: frozenset[str], out: Floats) -> None:
        """Write the unit vector of a text, Σ (1 + log count)·weight·axis over its terms, to `out`, which holds zeros.

        scikit-learn's TfidfVectorizer gives the same, but takes a second to import.
        """
        known = self._terms
        counts = Counter([known[term] for term in terms(text, stop) if term in known])
        if not counts:
            return
        places = np.sort(np.fromiter(counts, np.int64, len(counts)))
        weights = 1.0 + np.log(np.array([counts[place] for place in places.tolist()], np.float32))
        weights *= self._idf[places]
        weights /= np.linalg.norm(weights)
        vector = np.add.reduce(self._axes[places] * weights[:, None], axis=0)  # term after term
        length = np.linalg.norm(vector)
        if length > 1e-6:  # a vector shorter than rounding errors has no meaningful direction
            np.divide(vector, length, out=out)

    def state(self) -> Bundle:
        """Everything that was learnt, as plain arrays."""
        self._need_fit()
        arrays: dict[str, npt.NDArray[Any]]
        arrays = {"stop": _as_bytes(self._stop), "vocabulary": _as_bytes(self._vocabulary), "idf": self._idf}
        codes, scales = _packed(self._axes)
        if np.array_equal(_unpacked(codes, scales), self._axes):
            arrays |= {"axes": codes, "scales": scales}
        else:  # loaded from a state of earlier versions, which did not round
            arrays["axes"] = self._axes
        return Bundle(params=self._settings(), arrays=arrays)

    @classmethod
    def from_state(cls, bundle: Bundle) -> LsaEncoder:
        """The encoder whose `state` was saved: it gives the same vectors, bit for bit.

        Raises CorruptError for a state that `fit` cannot have produced.
        """
        try:
            encoder = cls(**bundle.params)
            stop, vocabulary = (_as_words(bundle.array(name, np.uint8, None)) for name in ("stop", "vocabulary"))
        except (TypeError, ValueError) as error:  # settings of another type or range, or bytes that are not UTF-8
            raise CorruptError(f"the saved lsa encoder cannot be understood ({error}): {CURE}") from error
        # A weight is the square of a logarithm, and axes have unit length.
        idf = bundle.numbers("idf", np.float32, len(vocabulary), least=0, most=1e6)
        if "scales" in bundle.arrays:
            scales = bundle.numbers("scales", np.float32, len(vocabulary), least=0, most=_LARGEST_SCALE)
            axes = _unpacked(bundle.array("axes", np.int8, len(vocabulary), None), scales)
        else:  # saved by an earlier version
            axes = bundle.numbers("axes", np.float32, len(vocabulary), None, least=-1.01, most=1.01)
        if not 1 <= axes.shape[1] <= encoder._components or len(set(vocabulary)) < len(idf):
            raise CorruptError(
                f"the saved lsa encoder has {axes.shape[1]} axes, where 1 to {encoder._components} are possible, and "
                f"{len(set(vocabulary))} different words for {len(idf)} weights: {CURE}"
            )
        encoder._set_state(stop, vocabulary, idf, axes)
        return encoder

    def _settings(self) -> dict[str, Any]:
        return {"components": self._components, "stop_words": self._stop_words, "seed": self._seed}

    def _set_state(self, stop: list[str], vocabulary: list[str], idf: Floats, axes: Floats) -> None:
        parts = (_as_bytes(stop), _as_bytes(["", ""]), _as_bytes(vocabulary), idf, axes)
        content = b"".join(part.tobytes() for part in parts)
        self._stop, self._vocabulary, self._idf, self._axes = stop, vocabulary, idf, axes
        self._terms = {term: place for place, term in enumerate(vocabulary)}
        self._fingerprint = fingerprint_of(
            encoder="lsa", learnt=hashlib.sha256(content).hexdigest(), **self._settings()
        )

    def _need_fit(self) -> None:
        if not self.fitted:
            raise StateError("lsa learns from the corpus: call fit(texts) before encoding")


def _weigh(rows: list[str], stop: list[str]) -> tuple[list[str], Floats, Any] | None:
    """The vocabulary, its weights (idf squared) and the corpus as a sparse matrix (texts × terms); None if no term is
    left."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    analyze: Callable[[str], list[str]] = partial(terms, stop=frozenset(stop))
    if _SEVERAL <= len(rows) < _LARGE:
        analyze = _without_lone_pairs(analyze, rows)
    for rarest in (2, 1) if len(rows) >= _LARGE else (1,):
        vectorizer = TfidfVectorizer(
            analyzer=analyze, sublinear_tf=True, min_df=rarest, max_features=_MOST_TERMS, dtype=np.float32
        )
        try:
            matrix = vectorizer.fit_transform(rows)
        except ValueError:  # no term is left: try again with the rare ones, or give up
            continue
        idf = np.asarray(vectorizer.idf_, np.float32)
        return list(vectorizer.get_feature_names_out()), idf * idf, normalize(matrix.multiply(idf).tocsr())
    return None


def _without_lone_pairs(analyze: Callable[[str], list[str]], rows: list[str]) -> Callable[[str], list[str]]:
    """`analyze` without the pairs of words that occur in just one of `rows`."""
    counts = Counter(term for text in rows for term in set(analyze(text)) if " " in term)
    return lambda text: [term for term in analyze(text) if " " not in term or counts[term] > 1]


def _principal_axes(matrix: Any, components: int, seed: int) -> Floats:
    """The leading right singular vectors of `matrix` as columns (terms × dimensions)."""
    from sklearn.utils.extmath import randomized_svd

    wanted = min(components, *matrix.shape)
    _, sizes, rows = randomized_svd(matrix, wanted, n_iter=2, random_state=seed)
    # Directions that the corpus does not have (because of repeated texts, say) are noise with singular values near 0.
    there = int(np.count_nonzero(sizes > 1e-5 * sizes[0]))
    return np.ascontiguousarray(rows[:there].T, dtype=np.float32)


_LARGEST_SCALE = 2.0**-6
"""The scale of axes with a value of 1, the largest that a unit vector can have."""


def _packed(axes: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Axes as whole numbers from -127 to 127 times a scale for each term.

    Scales are powers of two, so that packing what was unpacked changes nothing.
    """
    largest = np.abs(axes).max(axis=1)
    scales = np.exp2(np.ceil(np.log2(np.maximum(largest, 1e-30) / 127))).astype(np.float32)
    return np.rint(axes / scales[:, None]).astype(np.int8), scales


def _unpacked(codes: npt.NDArray[np.int8], scales: Floats) -> Floats:
    axes: Floats = codes * scales[:, None]
    return axes


def _stop_list(name: str, rows: list[str]) -> list[str]:
    """The words to leave out, sorted. They are saved, so that another version of the list changes nothing."""
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


def _as_bytes(some: list[str]) -> npt.NDArray[np.uint8]:
    """Words as an array that can be saved; no word contains a line feed."""
    return np.frombuffer("\n".join(some).encode(), np.uint8).copy()


def _as_words(array: npt.NDArray[np.uint8]) -> list[str]:
    return array.tobytes().decode().split("\n") if array.size else []


_SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # 々 and similar marks
    (0x3040, 0x30FF),  # hiragana, katakana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
"""Code points of scripts written without spaces."""


class _Table(dict[int, str]):
    """A table for `str.translate` that is filled on demand: a lookup is faster than computing the category."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character)[0] not in "LNM":
            value = " "
        elif any(first <= code <= last for first, last in _SPACELESS):
            value = f" {character} "
        else:
            value = character
        self[code] = value
        return value


_TABLE = _Table()


def words(text: str) -> list[str]:
    """The words of `text`, in order, case-folded and normalised (NFKC).

    >>> words("Don't panic, ＴＯＫＹＯ! 東京都")
    ['don', 't', 'panic', 'tokyo', '東', '京', '都']
    """
    return unicodedata.normalize("NFKC", text).casefold().translate(_TABLE).split()


def terms(text: str, stop: Container[str] = ()) -> list[str]:
    """Words and pairs of neighbouring words, without the words in `stop`.

    >>> terms("the red fox", stop={"the"})
    ['red', 'fox', 'red fox']
    """
    kept = [word for word in words(text) if word not in stop]
    return kept + [f"{left} {right}" for left, right in pairwise(kept)]
