"""A query to a cluster: which shards are asked, in which rounds, and how their answers become one.

By meaning alone there is one round: the shards that `router` chooses are searched. With words there are two before it,
to all shards, since a rare word may be anywhere: frequencies of the words are added up, then the best documents by BM25
are asked for with these sums, which gives the best BM25 of all and with it the weight of words. A shard that was not
chosen, and that holds a document which words lift among the best seen so far, is searched too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from gossamer.array_types import Floats
from gossamer.cluster import runtime
from gossamer.cluster.concepts import Forest, Upper, local_id
from gossamer.cluster.connection import Answers, Connection, as_seen_by
from gossamer.cluster.results import ClusterHits
from gossamer.cluster.router import RECALL, RECALL_WITH_WORDS, least_by_shard, slack_for
from gossamer.errors import ParameterError, UnknownIdError
from gossamer.index.part import Corpus, SearchOptions, group_in, has_conditions, words_in
from gossamer.results import ConceptStep, Explanation, Hit, Rival

_BY_WORDS: Final = 10
"""Documents that are best by words, of each shard, at least."""

_ATTEMPTS: Final = 3
"""How often a search starts again because the description of the cluster has changed."""


@dataclass(frozen=True)
class Asked:
    """Queries to a cluster, checked and encoded."""

    texts: list[str | None]
    vectors: Floats
    k: int
    options: dict[str, Any]
    """As `Index.search` takes them, without `rerank`."""

    @property
    def recall(self) -> float:
        """The share of the nearest to aim for."""
        wanted = self.options.get("recall")
        default = RECALL_WITH_WORDS if self.with_words else RECALL
        return default if wanted is None else float(wanted)

    @property
    def with_words(self) -> bool:
        """Whether words count."""
        return bool(self.options.get("hybrid", True)) and any(self.texts)


def search(connection: Connection, asked: Asked) -> list[ClusterHits]:
    """The answers to each query."""
    for _ in range(_ATTEMPTS):
        found, outdated = _search(connection, asked)
        if not outdated:
            break
        connection.refresh()
    return found


def check_options(options: Mapping[str, Any], k: int) -> None:
    """Raise where an option of `Index.search` is wrong, or has no meaning over several shards."""
    SearchOptions.checked(k, dict(options))  # type: ignore[arg-type]
    refused = {"method": options.get("method", "guided") != "guided", "diversity": bool(options.get("diversity"))}
    for name, is_given in refused.items():
        if is_given:
            raise ParameterError(f"a cluster cannot search with {name} yet: leave it out, or search a single index")


def _search(connection: Connection, asked: Asked) -> tuple[list[ClusterHits], bool]:
    known = connection.known
    shards, queries = known.description.shards, range(len(asked.texts))
    forest = connection.forest()
    if forest is None:
        return [ClusterHits(shards=shards) for _ in queries], False
    options, scope = _scoped(forest, asked, known.shards)
    chosen = _chosen(connection, asked, scope)
    corpora, missing, outdated = _corpora(connection, asked, scope, chosen)
    calls: dict[int, bytes] = {}
    rows: dict[int, list[int]] = {}
    for shard in scope:
        wanted = [at for at in queries if shard in chosen[at]]
        if wanted:
            rows[shard] = wanted
            texts, own = [asked.texts[at] for at in wanted], None if corpora is None else [corpora[at] for at in wanted]
            calls[shard] = runtime.packed("search", (texts, asked.vectors[wanted], asked.k, options, own))
    answers = connection.ask(calls)
    found = []
    for at in queries:
        parts = [(shard, each[rows[shard].index(at)]) for shard, each in answers.of.items() if at in rows[shard]]
        away = {shard for shard in answers.missing if at in rows[shard]} | missing
        found.append(_merged(connection, forest, asked, parts, away, shards))
    return found, outdated or answers.outdated


def _scoped(forest: Forest, asked: Asked, shards: Sequence[int]) -> tuple[dict[str, Any], list[int]]:
    """The options for shards, and the shards that can have answers."""
    options = dict(asked.options)
    within = options.get("within")
    if within is None:
        return options, list(shards)
    number, shard = local_id(within)
    if shard is not None:
        if shard not in shards:
            raise UnknownIdError(f"there is no concept {within!r}: the cluster has {len(shards)} shards")
        return {**options, "within": number}, [shard]
    below = forest.shards_below(within)
    if below is None:
        raise UnknownIdError(f"there is no concept {within!r}: there never was, or the cluster changed since")
    return {**options, "within": None}, sorted(below)


def _chosen(connection: Connection, asked: Asked, scope: list[int]) -> list[set[int]]:
    """The shards that can have the nearest documents, for each query; all where nothing tells them apart."""
    known = connection.known
    router, space, description = known.router, known.space, known.description
    slack = slack_for(description.curve, asked.recall)
    restricted = asked.options.get("where") is not None
    if router is None or space is None or space.whitener is None or restricted or np.isinf(slack) or len(scope) == 1:
        return [set(scope) for _ in asked.texts]
    estimates = router.estimates(space.project(asked.vectors), connection.members())
    least = least_by_shard(estimates, description.holders, description.shards)[:, scope]
    near = least <= least.min(axis=1, keepdims=True) + slack
    found = [{shard for shard, wanted in zip(scope, row, strict=True) if wanted} for row in near.tolist()]
    words = asked.options.get("hybrid", True)
    return [
        set(scope) if words and text and has_conditions(text) else each
        for text, each in zip(asked.texts, found, strict=True)
    ]


def _corpora(
    connection: Connection, asked: Asked, scope: Sequence[int], chosen: list[set[int]]
) -> tuple[list[Corpus] | None, set[int], bool]:
    """What words count in the whole cluster, for each query; the shards that did not say; whether all is outdated.

    Shards are added to those chosen where words lift their documents.
    """
    if not asked.with_words:
        return None, set(), False
    found = _best(connection, asked, scope, chosen, *_counted(connection, asked.texts, anew=False))
    if found is None:  # what was known of words is of an earlier state
        found = _best(connection, asked, scope, chosen, *_counted(connection, asked.texts, anew=True))
    return found or ([Corpus() for _ in asked.texts], set(), False)


def _counted(
    connection: Connection, texts: Sequence[str | None], *, anew: bool
) -> tuple[list[Corpus], set[int], bool, dict[int, int] | None]:
    """The corpus as each query sees it; the shards that did not say; whether all is outdated; and, where something was
    known already, the operations of the shards at which that holds."""
    frequencies = connection.frequencies
    if anew:
        frequencies.forget()
    state, known = frequencies.state
    words = [words_in(text or "") for text in texts]
    everything = dict.fromkeys(word for own in words for word in own or ())
    missing = [word for word in everything if word not in known]
    whole = [text or "" for text, own in zip(texts, words, strict=True) if own is None]
    if not missing and not whole:
        return [as_seen_by(own or (), known) for own in words], set(), False, state
    answers = connection.ask_all("corpus", [*missing, *whole])
    found = [sum((each[at] for each in answers.of.values()), Corpus()) for at in range(len(missing) + len(whole))]
    if answers.operations != state and len(missing) < len(everything):
        return _counted(connection, texts, anew=True)
    fresh = dict(zip(missing, found, strict=False))
    frequencies.note(answers.operations, fresh)
    both, rest = {**known, **fresh}, iter(found[len(missing) :])
    corpora = [next(rest) if own is None else as_seen_by(own, both) for own in words]
    return corpora, set(answers.missing), answers.outdated, answers.operations


def _best(
    connection: Connection,
    asked: Asked,
    scope: Sequence[int],
    chosen: list[set[int]],
    corpora: list[Corpus],
    missing: set[int],
    outdated: bool,
    operations: dict[int, int] | None,
) -> tuple[list[Corpus], set[int], bool] | None:
    """The corpora with the best BM25 of all shards; None where shards have changed since `operations`."""
    hybrid, k = asked.options.get("hybrid", True), max(_BY_WORDS, asked.k)
    shards = [shard for shard in connection.known.shards if shard not in missing]
    second = connection.ask_all("best_by_words", asked.texts, asked.vectors, corpora, k, hybrid, shards=shards)
    if operations is not None and any(operations.get(shard) != at for shard, at in second.operations.items()):
        connection.frequencies.forget()
        return None
    corpora = list(corpora)
    for at, corpus in enumerate(corpora):
        best = [Corpus(best=tuple(each[at].bm25[:_BY_WORDS].tolist())) for each in second.of.values()]
        top = sum(best, Corpus()).best
        corpora[at] = replace(corpus, best=top)
        if top and asked.texts[at]:
            chosen[at] |= _lifted(second, at, corpora[at], asked) & set(scope)
    return corpora, {*missing, *second.missing}, outdated or second.outdated


def _lifted(second: Answers, at: int, corpus: Corpus, asked: Asked) -> set[int]:
    """The shards with a document that words put among the k best that any shard has named so far."""
    hybrid = asked.options.get("hybrid", True)
    weight = corpus.weight("auto" if hybrid is True else float(hybrid))
    scores = {shard: each[at].dense + weight * each[at].bm25 / corpus.best[0] for shard, each in second.of.items()}
    everything = np.sort(np.concatenate(list(scores.values())))[::-1]
    last = everything[min(asked.k, len(everything)) - 1]
    return {shard for shard, own in scores.items() if len(own) and own.max() >= last}


def _merged(
    connection: Connection,
    forest: Forest,
    asked: Asked,
    parts: Sequence[tuple[int, tuple[list[Hit], int, tuple[str, ...]]]],
    missing: set[int],
    shards: int,
) -> ClusterHits:
    """The k best of what shards answered, with their paths from the root of the cluster."""
    ranked = [(shard, hit) for shard, (hits, _, _) in parts for hit in hits]
    ranked.sort(key=lambda each: (-each[1].score, each[1].id))
    ranked = _each_once(connection, ranked)
    field = asked.options.get("group_by")
    if field is not None:
        best: dict[str, tuple[int, Hit]] = {}
        for shard, hit in ranked:
            group = group_in(hit.metadata, field)
            best.setdefault(f"id {hit.id}" if group is None else f"group {group}", (shard, hit))
        ranked = list(best.values())
    hits = [replace(hit, path=forest.path(hit.path, shard)) for shard, hit in ranked[: asked.k]]
    told = [set(warnings) for shard, (_, _, warnings) in parts if connection.sizes.get(shard)]
    warnings = tuple(sorted(set.intersection(*told))) if told else ()
    return ClusterHits(
        hits,
        visited=sum(visited for _, (_, visited, _) in parts),
        warnings=warnings,
        asked=tuple(sorted(shard for shard, _ in parts)),
        missing=tuple(sorted(missing)),
        shards=shards,
    )


def _each_once(connection: Connection, ranked: list[tuple[int, Hit]]) -> list[tuple[int, Hit]]:
    """Without the copies of documents that are just being moved: the one where the keeper has placed it counts."""
    seen = {hit.id for _, hit in ranked}
    if len(seen) == len(ranked):
        return ranked
    counted: dict[str, int] = {}
    for _, hit in ranked:
        counted[hit.id] = counted.get(hit.id, 0) + 1
    twice = [id for id, times in counted.items() if times > 1]
    places = connection.ask_keeper("places", twice)
    return [(shard, hit) for shard, hit in ranked if counted[hit.id] == 1 or places.get(hit.id, (shard,))[0] == shard]


# -- explaining ------------------------------------------------------------------------------------------


def explain(
    connection: Connection, query: str | None, vector: Floats, id: str, k: int, hybrid: bool | float
) -> Explanation:
    """Why a document scores as it does, its rank among all documents of all shards."""
    place = connection.ask_keeper("places", [id])
    forest = connection.forest()
    if id not in place or forest is None:
        count = connection.ask_keeper("count")
        raise UnknownIdError(f"id {id!r} is not in the cluster, which holds {count:,} documents")
    shard = place[id][0]
    asked = Asked([query], vector[None], max(k, 2), {"hybrid": hybrid, "recall": 1.0})
    corpora = _corpora(connection, asked, connection.known.shards, [set()])[0]
    corpus = None if corpora is None else corpora[0]
    local: Explanation = connection.insist(shard, "explain", query, vector, id, k, hybrid, corpus)
    others = [each for each in connection.known.shards if each != shard]
    stands = connection.ask_all("standing", query, vector, id, local.score, hybrid, corpus, shards=others).of.values()
    rank = local.rank + sum(each.before for each in stands)
    best = search(connection, asked)[0]
    other = next((at for at, hit in enumerate(best) if hit.id != id), None)
    path = _global_path(connection, forest, shard, local, vector)
    ids = [step.concept.id for step in path]
    rival, parting = None, None
    if other is not None:
        hit = best[other]
        theirs = [each.id for each in hit.path]
        both = list(zip(ids, theirs, strict=False))
        parting = next((at for at, (one, two) in enumerate(both) if one != two), None)
        if parting is None and len(ids) != len(theirs):
            parting = len(both)
        concept = hit.path[-1 if parting is None else min(parting, len(hit.path) - 1)]
        rival = Rival(hit.id, " ".join(hit.passage.split())[:200], 2 if rank == 1 else 1, hit.score, concept)
    same = rival is not None and local.rival is not None and rival.id == local.rival.id
    missing = max(0.0, best[k - 1].score - local.score) if rank > k and len(best) >= k else 0.0
    return replace(
        local,
        rank=rank,
        of=local.of + sum(each.documents for each in stands),
        base=local.dense - local.opening - sum(step.contribution for step in path),
        path=path,
        rival=rival,
        decided_at=parting,
        query_terms=local.query_terms if same else (),
        document_terms=local.document_terms if same else (),
        missing=missing,
    )


def _global_path(
    connection: Connection, forest: Forest, shard: int, local: Explanation, vector: Floats
) -> tuple[ConceptStep, ...]:
    """The steps from the root of the cluster: the upper ones by the moments of the router."""
    space = connection.known.space
    assert space is not None
    x = space.project(vector[None])[0]
    above = forest.above(shard)
    steps: list[ConceptStep] = []
    factor = next((step.contribution / step.gain for step in local.path if step.gain), 0.0)
    chain = [*(forest.place(concept.id) for concept in above), forest.place_of(shard)] if above else []
    before: float | None = None
    for at, here in enumerate(chain):
        is_shard = here.shard is not None
        concept = forest.lifted(local.path[0].concept, shard) if is_shard else above[at]
        log_p = local.path[0].log_p if is_shard else here.moments.log_p(x, space.acuity)
        beside = [each for each in (chain[at - 1].children if at else []) if each is not here]
        rival = max(beside, key=lambda each: each.moments.log_p(x, space.acuity), default=None)
        margin = None if rival is None else log_p - rival.moments.log_p(x, space.acuity)
        gain = 0.0 if before is None else log_p - before
        shown = None if rival is None else _concept_of(forest, rival)
        steps.append(ConceptStep(concept, log_p, gain, factor * gain, margin, shown))
        before = log_p
    lower = local.path[1:] if chain else local.path
    for step in lower:
        rival_concept = None if step.rival is None else forest.lifted(step.rival, shard)
        steps.append(replace(step, concept=forest.lifted(step.concept, shard), rival=rival_concept))
    return tuple(steps)


def _concept_of(forest: Forest, here: Upper) -> Any:
    if here.shard is not None:
        return forest.root_of(here.shard)
    return forest.upper(forest.id_of(here))
