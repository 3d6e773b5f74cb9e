"""The authors' own figures, in percent.

They come from the logs that the authors publish with their program (github.com/Teachable-AI-Lab/RAG-Cobweb, folder
`outputs`, at the commits named below). The six figures of recall@5 on QQP with 10,000 documents and RoBERTa-large are
those printed in the paper; whether every other line of a log is in the paper too was not checked. nDCG is computed in
the authors' own way, see `evaluate.measures.authors_ndcg`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MEASURES: Final = ("Recall@5", "Recall@10", "MRR@5", "MRR@10", "nDCG@5 (authors)", "nDCG@10 (authors)")


@dataclass(frozen=True)
class Log:
    """One log: a collection, a model, a number of documents, and lines by method."""

    collection: str
    model: str
    documents: int
    queries: int
    commit: str
    lines: dict[str, tuple[float, ...]]
    milliseconds: dict[str, float]

    def figures(self, method: str) -> dict[str, float]:
        """The measures of a method; empty if the log has no line of it."""
        return dict(zip(_MEASURES, self.lines.get(method, ()), strict=False))


_LOGS: Final = (
    Log(
        "qqp", "all-roberta-large-v1", 10_000, 1_000, "ba459786",
        {
            "dot@raw": (86.8, 91.3, 74.23, 74.84, 77.07, 77.18),
            "dot@paper": (86.7, 91.4, 74.40, 75.02, 77.43, 77.69),
            "best-first@raw": (11.1, 14.6, 8.11, 8.54, 8.93, 10.01),
            "best-first@paper": (85.9, 91.0, 73.62, 74.30, 76.37, 76.75),
            "path-sum@raw": (56.3, 69.6, 44.06, 45.81, 46.91, 50.54),
            "path-sum@paper": (84.9, 90.6, 73.22, 74.01, 75.57, 76.27),
        },
        {
            "dot@raw": 3.96, "dot@paper": 1.55, "best-first@raw": 7.99, "best-first@paper": 1418.06,
            "path-sum@raw": 68.19, "path-sum@paper": 53.05,
        },
    ),
    Log(
        "qqp", "gtr-t5-large", 10_000, 1_000, "62e4c155",
        {
            "dot@raw": (84.9, 90.0, 73.75, 74.47, 76.18, 76.76),
            "dot@paper": (84.7, 90.7, 73.66, 74.47, 76.04, 76.98),
            "best-first@raw": (11.1, 13.8, 7.85, 8.23, 8.74, 9.45),
            "best-first@paper": (84.6, 89.9, 72.83, 73.57, 75.38, 75.95),
            "path-sum@raw": (53.4, 63.1, 40.97, 42.27, 44.05, 46.27),
            "path-sum@paper": (84.0, 89.3, 72.97, 73.71, 75.42, 76.09),
        },
        {},
    ),
    Log(
        "qqp", "gpt2", 10_000, 1_000, "a2b3c157",
        {
            "dot@raw": (0.0, 0.2, 0.0, 0.02, 0.0, 0.08),
            "dot@paper": (19.9, 27.8, 10.61, 11.61, 12.85, 14.75),
            "l2@raw": (18.1, 21.7, 13.96, 14.42, 14.98, 15.88),
            "l2@paper": (35.3, 42.1, 27.12, 28.03, 28.88, 30.48),
            "hnsw@raw": (29.3, 34.2, 23.20, 23.86, 24.55, 25.66),
            "hnsw@paper": (36.6, 43.9, 27.62, 28.58, 29.70, 31.41),
            "best-first@raw": (18.0, 21.7, 13.86, 14.34, 14.86, 15.80),
            "best-first@paper": (35.1, 42.0, 26.38, 27.30, 28.18, 29.74),
            "path-sum@raw": (20.4, 24.8, 14.78, 15.37, 15.90, 16.81),
            "path-sum@paper": (33.6, 40.8, 24.82, 25.74, 26.58, 28.25),
        },
        {},
    ),
    Log(
        "msmarco", "all-roberta-large-v1", 10_000, 1_000, "70cc8ff8",
        {
            "dot@raw": (89.7, 98.9, 62.15, 63.48, 66.53, 65.93),
            "dot@paper": (88.9, 98.3, 60.88, 62.25, 66.06, 65.61),
            "best-first@raw": (35.3, 39.5, 23.99, 24.54, 26.07, 26.04),
            "best-first@paper": (79.8, 86.9, 54.42, 55.45, 58.36, 57.25),
            "path-sum@paper": (82.9, 90.9, 55.65, 56.77, 59.92, 58.89),
        },
        {},
    ),
    Log(
        "qqp", "all-roberta-large-v1", 1_000, 500, "5288e1c4",
        {
            "dot@raw": (99.0, 100.0), "dot@paper": (99.0, 99.8), "best-first@raw": (59.0, 60.8),
            "best-first@paper": (98.2, 99.0), "path-sum@paper": (99.6, 100.0),
        },
        {
            "dot@raw": 0.17, "dot@paper": 0.08, "best-first@raw": 8.04, "best-first@paper": 274.17,
            "path-sum@paper": 1.32,
        },
    ),
    Log(
        "qqp", "all-roberta-large-v1", 5_000, 500, "5288e1c4",
        {
            "dot@raw": (91.8, 96.8), "dot@paper": (91.8, 96.4), "best-first@raw": (28.8, 33.0),
            "best-first@paper": (91.2, 95.6), "path-sum@paper": (90.8, 96.0),
        },
        {
            "dot@raw": 0.70, "dot@paper": 0.36, "best-first@raw": 9.04, "best-first@paper": 1087.41,
            "path-sum@paper": 8.24,
        },
    ),
    Log(
        "qqp", "all-roberta-large-v1", 20_000, 2_500, "5cd0e391",
        {
            "dot@raw": (80.68, 87.60), "dot@paper": (80.64, 87.84), "best-first@raw": (10.92, 14.04),
            "best-first@paper": (80.32, 87.16), "path-sum@raw": (54.0, 65.88), "path-sum@paper": (79.6, 86.28),
        },
        {
            "dot@raw": 5.55, "dot@paper": 2.32, "best-first@raw": 16.13, "best-first@paper": 1932.73,
            "path-sum@raw": 179.25, "path-sum@paper": 108.84,
        },
    ),
    Log(
        "qqp", "all-roberta-large-v1", 40_000, 4_000, "5cd0e391",
        {"dot@raw": (81.33, 87.28), "path-sum@paper": (79.57, 86.0)},
        {"dot@raw": 12.92, "path-sum@paper": 214.56},
    ),
    Log(
        "msmarco", "all-roberta-large-v1", 5_000, 500, "7c12e14e",
        {
            "dot@raw": (88.4, 99.2), "dot@paper": (86.8, 98.2), "best-first@raw": (45.6, 51.8),
            "best-first@paper": (79.6, 86.8), "path-sum@paper": (79.2, 86.0),
        },
        {},
    ),
    Log(
        "msmarco", "all-roberta-large-v1", 20_000, 2_500, "ba459786",
        {"dot@raw": (90.47, 97.8), "best-first@paper": (87.97, 94.41), "path-sum@paper": (82.04, 88.37)},
        {},
    ),
)  # fmt: skip

_STANDS_FOR: Final = {"minilm": "all-roberta-large-v1", "t5": "gtr-t5-large", "smollm2": "gpt2"}
"""The authors' model of the same architecture, by our model."""


def log_for(collection: str, model: str, documents: int) -> Log | None:
    """The authors' log of the same collection and size with their model of the same architecture, if there is one."""
    theirs = _STANDS_FOR.get(model, model)
    same = [log for log in _LOGS if (log.collection, log.model, log.documents) == (collection, theirs, documents)]
    return same[0] if same else None
