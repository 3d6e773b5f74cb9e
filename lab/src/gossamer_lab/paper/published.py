"""The figures that the paper prints, cell by cell: in percent, and for times in milliseconds a query.

In its nDCG is what the authors' program calls so, see `evaluate.measures.authors_ndcg`. Every figure is also in a log
that the authors publish with their program (github.com/Teachable-AI-Lab/RAG-Cobweb, folder `outputs`). Where an earlier
log has another figure, `SUPERSEDED` tells it; `LOGGED` holds figures that are in the logs alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from gossamer_lab.evaluate.measures import PRINTED

Kind = Literal["encoder", "encoder-decoder", "decoder"]
"""What a model is: the paper has one of each."""

THEIRS: Final[dict[Kind, str]] = {
    "encoder": "all-roberta-large-v1", "encoder-decoder": "gtr-t5-large", "decoder": "gpt2",
}  # fmt: skip
"""The authors' model of each kind."""

SHORT: Final[dict[Kind, str]] = {"encoder": "RoBERTa", "encoder-decoder": "T5", "decoder": "GPT-2"}
METHODS: Final = ("dot@raw", "best-first@raw", "path-sum@raw", "dot@paper", "best-first@paper", "path-sum@paper")
"""The six methods of the paper. Those over raw vectors stand in print with a dagger."""


@dataclass(frozen=True)
class Cell:
    """One printed figure."""

    table: str
    collection: str
    kind: Kind
    documents: int
    method: str
    measure: str
    value: float


_TABLES: Final = {
    # by depth and method: recall, MRR and nDCG of the encoder, the encoder-decoder and the decoder; 10,000 documents
    "1": ("qqp", """
@5  dot@raw            86.80   74.23   77.07   84.90   73.75   76.18    0.00    0.00    0.00
@5  best-first@raw     11.10    8.11    8.93   11.10    7.85    8.74   18.00   13.86   14.86
@5  path-sum@raw       56.30   44.06   46.91   53.40   40.97   44.05   20.40   14.78   15.90
@5  dot@paper          86.70   74.40   77.43   84.70   73.66   76.04   19.90   10.61   12.85
@5  best-first@paper   85.90   73.62   76.37   84.60   72.83   75.38   35.10   26.38   28.18
@5  path-sum@paper     84.90   73.22   75.57   84.00   72.97   75.42   33.60   24.82   26.58
@10 dot@raw            91.30   74.84   77.18   90.00   74.47   76.76    0.20    0.02    0.08
@10 best-first@raw     14.60    8.54   10.01   13.80    8.23    9.45   21.70   14.34   15.80
@10 path-sum@raw       69.60   45.81   50.54   63.10   42.27   46.27   24.80   15.37   16.81
@10 dot@paper          91.40   75.02   77.69   90.70   74.47   76.98   27.80   11.61   14.75
@10 best-first@paper   91.00   74.30   76.75   89.90   73.57   75.95   42.00   27.30   29.74
@10 path-sum@paper     90.60   74.01   76.27   89.30   73.71   76.09   40.80   25.74   28.25"""),
    "2": ("msmarco", """
@5  dot@raw            89.70   62.15   66.53   92.50   64.35   68.66    0.00    0.00    0.00
@5  best-first@raw     13.70    8.79    9.70   18.40   12.07   13.17    0.60    0.32    0.40
@5  path-sum@raw       72.80   47.45   52.29   73.70   47.82   53.13    0.60    0.32    0.39
@5  dot@paper          88.90   60.98   66.17   88.30   57.97   63.33    0.40    0.20    0.25
@5  best-first@paper   87.80   59.58   64.32   88.90   61.32   65.62    0.40    0.18    0.25
@5  path-sum@paper     80.70   55.04   59.22   81.00   54.88   59.30    0.60    0.18    0.29
@10 dot@raw            98.90   63.48   65.93   99.30   65.31   66.99    0.00    0.00    0.00
@10 best-first@raw     17.50    9.29   10.47   24.20   12.85   14.50    0.70    0.33    0.40
@10 path-sum@raw       85.60   49.21   53.60   86.50   49.63   54.43    1.00    0.38    0.52
@10 dot@paper          98.30   62.36   65.73   98.60   59.41   62.84    0.50    0.21    0.26
@10 best-first@paper   97.00   60.91   63.67   98.60   62.73   65.20    0.90    0.25    0.41
@10 path-sum@paper     88.70   56.21   58.46   89.50   56.10   58.71    1.00    0.23    0.39"""),
}  # fmt: skip

_SIZES: Final = {
    # by depth and method: recall and MRR at 5,000, 10,000, 20,000 and 40,000 documents
    "3": ("qqp", "encoder", """
@10 dot@raw            96.60   80.22   91.30   74.84   88.48   69.93   87.28   68.35
@10 best-first@paper   96.60   80.03   91.00   74.30   87.92   69.28   87.10   67.80
@10 path-sum@paper     96.00   78.93   90.60   74.01   87.12   68.36   86.00   66.77"""),
    "C, QQP": ("qqp", "encoder-decoder", """
@5  dot@raw            87.60   77.26   84.90   73.75   80.88   68.96   79.60   67.23
@5  best-first@paper   86.80   76.68   84.60   72.83   80.64   68.44   78.95   66.55
@5  path-sum@paper     85.60   75.07   84.00   72.97   79.48   67.43   78.25   66.29
@10 dot@raw            93.20   78.02   90.00   74.47   86.64   69.73   85.88   68.05
@10 best-first@paper   93.60   77.60   89.90   73.57   85.84   69.15   85.65   67.43
@10 path-sum@paper     90.20   75.70   89.30   73.71   85.24   68.21   85.02   67.19"""),
    "C, MS MARCO": ("msmarco", "encoder-decoder", """
@5  dot@raw            92.40   62.40   92.50   64.35   92.81   66.15   91.80   65.02
@5  best-first@paper   88.20   58.55   88.90   61.32   90.47   62.91   89.38   61.62
@5  path-sum@paper     81.20   53.90   81.00   54.88   83.98   57.98   81.27   55.72
@10 dot@raw            99.80   63.45   99.30   65.31   98.95   67.04   98.22   65.95
@10 best-first@paper   98.40   60.05   98.60   62.73   97.41   63.90   97.20   62.74
@10 path-sum@paper     89.80   55.13   89.50   56.10   89.92   58.84   88.85   56.80"""),
}  # fmt: skip

_TIMES: Final = {
    "4": ("msmarco", "encoder-decoder", (1_000, 5_000, 7_500, 10_000, 20_000), """
dot@raw             0.40    1.27    1.31    3.03    5.91
best-first@paper  164.45  724.52 1006.42 1524.63 3087.39
path-sum@paper      1.69   11.54   14.37   27.25   52.63"""),
    "C, latency": ("qqp", "encoder", (1_000, 5_000, 10_000, 20_000), """
dot@raw             0.19    2.05    3.96    6.05
best-first@paper  225.52  702.78 1418.06 2129.69
path-sum@paper      1.41   15.03   53.05  139.81"""),
}  # fmt: skip

SCALED_SIZES: Final = (5_000, 10_000, 20_000, 40_000)
LATENCY: Final = "ms"
"""The measure of the tables of latency."""

# Figures of the authors' logs that are not in print, as (collection, kind, documents, method): recall@5, MRR@5 and
# nDCG@5, then the same at 10.
LOGGED: Final[dict[tuple[str, Kind, int, str], tuple[float, ...]]] = {
    ("qqp", "decoder", 10_000, "l2@raw"): (18.10, 13.96, 14.98, 21.70, 14.42, 15.88),
    ("qqp", "decoder", 10_000, "l2@paper"): (35.30, 27.12, 28.88, 42.10, 28.03, 30.48),
    ("msmarco", "decoder", 10_000, "l2@raw"): (0.60, 0.32, 0.40, 0.70, 0.33, 0.40),
    ("msmarco", "decoder", 10_000, "l2@paper"): (0.50, 0.20, 0.29, 1.00, 0.27, 0.45),
    ("msmarco", "encoder-decoder", 7_500, "l2@paper"): (88.89, 60.52, 64.80, 98.68, 61.96, 64.28),
    ("msmarco", "encoder-decoder", 7_500, "best-first@paper"): (88.89, 60.52, 64.80, 98.68, 61.96, 64.28),
    ("qqp", "encoder", 10_000, "path-sum-decay@paper"): (2.50, 1.23, 1.61, 4.20, 1.44, 2.17),
    ("qqp", "encoder", 10_000, "path-sum-increase@paper"): (53.90, 48.89, 49.92, 56.10, 49.19, 50.12),
    ("msmarco", "encoder", 10_000, "path-sum-decay@paper"): (0.50, 0.30, 0.35, 1.50, 0.44, 0.71),
    ("msmarco", "encoder", 10_000, "path-sum-increase@paper"): (28.50, 22.15, 23.22, 32.20, 22.64, 23.71),
}  # fmt: skip

# Printed cells for which an earlier log has another figure: table, documents, method, measure, that figure, its commit.
SUPERSEDED: Final = (
    ("2", 10_000, "best-first@paper", "Recall@5", 79.80, "70cc8ff8"),
    ("2", 10_000, "best-first@raw", "Recall@5", 35.30, "70cc8ff8"),
    ("2", 10_000, "path-sum@paper", "Recall@5", 82.90, "70cc8ff8"),
    ("2", 10_000, "dot@paper", "MRR@5", 60.88, "70cc8ff8"),
    ("3", 5_000, "dot@raw", "Recall@10", 96.80, "5288e1c4"),
    ("3", 5_000, "best-first@paper", "Recall@10", 95.60, "5288e1c4"),
    ("3", 20_000, "dot@raw", "Recall@10", 87.60, "5cd0e391"),
    ("3", 20_000, "best-first@paper", "Recall@10", 87.16, "5cd0e391"),
    ("3", 20_000, "path-sum@paper", "Recall@10", 86.28, "5cd0e391"),
    ("C, latency", 1_000, "best-first@paper", LATENCY, 274.17, "5288e1c4"),
    ("C, latency", 5_000, "best-first@paper", LATENCY, 1087.41, "5288e1c4"),
    ("C, latency", 20_000, "best-first@paper", LATENCY, 1932.73, "5cd0e391"),
)


@cache
def cells() -> tuple[Cell, ...]:
    """Every printed figure."""
    return tuple(_cells())


def _cells() -> Iterator[Cell]:
    for table, (collection, text) in _TABLES.items():
        for depth, method, values in _rows(text):
            for place, kind in enumerate(THEIRS):
                names = (f"Recall{depth}", f"MRR{depth}", f"nDCG{depth} (authors)")
                for measure, value in zip(names, values[3 * place : 3 * place + 3], strict=True):
                    yield Cell(table, collection, kind, 10_000, method, measure, value)
    for table, (collection, kind_name, text) in _SIZES.items():
        kind = _kind(kind_name)
        for depth, method, values in _rows(text):
            for place, size in enumerate(SCALED_SIZES):
                for measure, value in zip((f"Recall{depth}", f"MRR{depth}"), values[2 * place :], strict=False):
                    yield Cell(table, collection, kind, size, method, measure, value)
    for table, (collection, kind_name, sizes, text) in _TIMES.items():
        for line in text.split("\n")[1:]:
            method, *numbers = line.split()
            for size, number in zip(sizes, numbers, strict=True):
                yield Cell(table, collection, _kind(kind_name), size, method, LATENCY, float(number))


def _rows(text: str) -> Iterator[tuple[str, str, list[float]]]:
    """Depth, method and figures of each line."""
    for line in text.split("\n")[1:]:
        depth, method, *numbers = line.split()
        yield depth, method, [float(number) for number in numbers]


def _kind(name: str) -> Kind:
    return next(kind for kind in THEIRS if kind == name)


def printed(collection: str, kind: Kind, documents: int) -> dict[tuple[str, str], float]:
    """The printed figures but times, by method and measure, for one collection, kind of model and size."""
    return {
        (cell.method, cell.measure): cell.value
        for cell in cells()
        if (cell.collection, cell.kind, cell.documents) == (collection, kind, documents) and cell.measure != LATENCY
    }


def logged(collection: str, kind: Kind, documents: int) -> dict[tuple[str, str], float]:
    """The figures that only a log of the authors has, by method and measure."""
    return {
        (method, measure): value
        for (name, of, size, method), values in LOGGED.items()
        if (name, of, size) == (collection, kind, documents)
        for measure, value in zip(PRINTED, values, strict=True)
    }


def latency(collection: str) -> dict[tuple[str, int], float]:
    """Printed milliseconds a query by method and number of documents."""
    return {
        (cell.method, cell.documents): cell.value
        for cell in cells()
        if cell.collection == collection and cell.measure == LATENCY
    }


def kind_of(model: str) -> Kind:
    """The kind of a model, by its name: a T5 is an encoder–decoder, the language models known here are decoders."""
    name = model.lower()
    if "t5" in name:
        return "encoder-decoder"
    return "decoder" if any(part in name for part in ("gpt", "smol", "llama", "qwen", "mistral")) else "encoder"
