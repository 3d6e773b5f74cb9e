"""Gossamer as a search model of MTEB (version 2): `mteb.evaluate(GossamerSearch(), tasks)` runs retrieval tasks.

The corpus is indexed and searched by an `Index` in memory, hybrid unless told otherwise. MTEB calls `index` and
`search`; its `SearchProtocol` says what they take.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gossamer.errors import StateError
from gossamer.index import EncoderSpec, Index
from gossamer.integrations.common import library
from gossamer.results import Hits
from gossamer.version import __version__

if TYPE_CHECKING:
    from mteb.models import ModelMeta

_ANSWERS = 64_000
"""Answers that are held in memory at once: as many queries are searched as one batch."""


class GossamerSearch:
    """A model with MTEB's `SearchProtocol`."""

    def __init__(
        self, encoder: EncoderSpec = "minilm", *, hybrid: bool | float = True, depth: int | None = None
    ) -> None:
        """`encoder` and `hybrid` are those of `Index` and `Index.search`.

        `depth` limits the answers to each query: MTEB asks for 1,000, which its measures at 10 do not need.
        """
        self.encoder = encoder
        self.hybrid = hybrid
        self.depth = depth
        self._index: Index | None = None

    def index(self, corpus: Iterable[Mapping[str, Any]], **kwargs: Any) -> None:
        """Index the documents of a task: `id`, `text` and perhaps `title` of each; those without text are left out."""
        if self._index is not None:
            self._index.close()
        rows = ((str(row["id"]), _joined(row.get("title"), row["text"])) for row in corpus)
        texts = {id: text for id, text in rows if text}
        self._index = Index(self.encoder)
        self._index.add(list(texts.values()), list(texts), [{"id": id} for id in texts])
        self._index.settle()

    def search(
        self,
        queries: Iterable[Mapping[str, Any]],
        *,
        top_k: int,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> dict[str, dict[str, float]]:
        """Scores by query and document, at most `top_k` of each query; with `top_ranked`, of these documents alone."""
        if self._index is None:
            raise StateError("there is nothing to search: call index(corpus) first, as mteb.evaluate does")
        texts = {str(row["id"]): _joined(_as_text(row["text"]), row.get("instruction")) for row in queries}
        k = top_k if self.depth is None else min(top_k, self.depth)
        if top_ranked is not None:
            listed = {id: {"id": {"$in": list(top_ranked[id])}} for id in texts}
            found = [self._index.search(text, k, hybrid=self.hybrid, where=listed[id]) for id, text in texts.items()]
        else:
            asked, found, size = list(texts.values()), [], max(1, _ANSWERS // k)
            for start in range(0, len(asked), size):
                found += self._index.search(asked[start : start + size], k, hybrid=self.hybrid)
        return {id: _scores(hits) for id, hits in zip(texts, found, strict=True)}

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """What MTEB calls the model in its results."""
        models = library("mteb.models", "The integration with MTEB", "mteb")
        name = self.encoder if isinstance(self.encoder, str) else getattr(self.encoder, "name", "callable")
        method = "dense" if self.hybrid is False else "hybrid" if self.hybrid is True else f"hybrid-{self.hybrid}"
        plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in f"{name}-{method}")
        meta: ModelMeta = models.ModelMeta.create_empty({"name": f"gossamer/{plain}", "revision": __version__})
        return meta


def _joined(first: str | None, second: str | None) -> str:
    return f"{first or ''} {second or ''}".strip()


def _as_text(query: Any) -> str:
    """A query, or the turns of a conversation one after the other."""
    if isinstance(query, str):
        return query
    turns = [query] if isinstance(query, Mapping) else query
    return "\n".join(str(turn["content"]) if isinstance(turn, Mapping) else str(turn) for turn in turns)


def _scores(hits: Hits) -> dict[str, float]:
    """Scores that differ in float32: trec_eval, which MTEB uses, would order equal ones by the ids of documents."""
    scores = np.array([hit.score for hit in hits], np.float32)
    for at in np.flatnonzero(scores[1:] >= scores[:-1]) + 1:
        while at < len(scores) and scores[at] >= scores[at - 1]:
            scores[at] = np.nextafter(scores[at - 1], np.float32(-math.inf))
            at += 1
    return dict(zip([hit.id for hit in hits], scores.tolist(), strict=True))
