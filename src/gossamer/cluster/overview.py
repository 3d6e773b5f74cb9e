"""What the pages and routes of a server ask of a corpus as a whole, of all shards together.

Labels, the outline of the tree, concepts that a query fits, and how unusual a query is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gossamer.array_types import Floats
from gossamer.cluster.concepts import Forest, Upper, global_id, local_id
from gossamer.cluster.connection import Connection
from gossamer.cluster.description import Folder
from gossamer.errors import UnknownIdError
from gossamer.results import ConceptMatch, IndexInfo, Novelty, Outline

_Row = tuple[int, int | None, int, int, int]
"""Id, parent, size, depth and number of children of one concept of an outline."""


def outline_of(
    connection: Connection, forest: Forest, root: int | None, depth: int | None, min_size: int, most: int | None
) -> Outline:
    """The part of the tree below a concept, the root without one; at most `most` concepts, shared among the shards by
    their sizes."""
    if root is not None and local_id(root)[1] is not None:
        number, shard = local_id(root)
        assert shard is not None
        return _outline(_of_shard(connection, forest, shard, None, number, depth, min_size, most))
    here = forest.top if root is None else forest.place(root)
    rows: list[_Row] = []
    for each, level, parent in _opened(forest, here, None, depth, min_size):
        if each.shard is None:
            rows.append((forest.id_of(each), parent, forest.size(each), len(each.path) - 1, len(each.children)))
            continue
        share = None if most is None else max(1, most * forest.size(each) // max(1, forest.size(here)) - 1)
        left = None if depth is None else depth - level
        rows += _of_shard(connection, forest, each.shard, parent, None, left, min_size, share)
    return _outline(rows)


def _opened(
    forest: Forest, here: Upper, parent: int | None, depth: int | None, min_size: int, level: int = 0
) -> list[tuple[Upper, int, int | None]]:
    """The concepts of the router and the shards below one, with their levels and parents, large ones first."""
    found: list[tuple[Upper, int, int | None]] = [(here, level, parent)]
    if here.shard is None and (depth is None or level < depth):
        for child in sorted(here.children, key=lambda child: -forest.size(child)):
            if forest.size(child) >= min_size:
                found += _opened(forest, child, forest.id_of(here), depth, min_size, level + 1)
    return found


def _of_shard(
    connection: Connection,
    forest: Forest,
    shard: int,
    parent: int | None,
    root: int | None,
    depth: int | None,
    min_size: int,
    most: int | None,
) -> list[_Row]:
    """The outline of the tree of one shard, or of a part of it, as rows of the cluster's."""
    found: Outline = connection.insist(shard, "outline", root, depth, min_size, most)
    above = len(forest.above(shard))
    columns = zip(found.ids, found.parents, found.sizes, found.depths, found.children, strict=True)
    return [
        (global_id(id, shard), parent if up is None else global_id(up, shard), size, at + above, children)
        for id, up, size, at, children in columns
    ]


def _outline(rows: Sequence[_Row]) -> Outline:
    columns = [tuple(row[at] for row in rows) for at in range(5)]
    return Outline(*columns)  # type: ignore[arg-type]


def labels_of(connection: Connection, forest: Forest | None, ids: Iterable[int] | None) -> dict[int, str]:
    """The labels of some concepts, or of all that are shown and are no single documents."""
    if forest is None and not ids:
        return {}
    found = {concept.id: concept.label for concept in forest.uppers()} if forest is not None and ids is None else {}
    numbers: dict[int, list[int]] = {}
    for id in ids or ():
        number, shard = local_id(id)
        concept = None if forest is None or shard is not None else forest.upper(id)
        if concept is not None:
            found[id] = concept.label
        elif shard is None or forest is None or shard not in forest.shards:
            raise UnknownIdError(f"there is no concept {id!r} in the cluster")
        else:
            numbers.setdefault(shard, []).append(number)
    for shard in forest.shards if forest is not None and ids is None else numbers:
        labels: dict[int, str] = connection.insist(shard, "labels", numbers.get(shard))
        found |= {global_id(number, shard): label for number, label in labels.items()}
    return found


def matches_of(connection: Connection, forest: Forest, vector: Floats, k: int) -> list[ConceptMatch]:
    """At most k concepts that a query fits, best first.

    A shard measures P(c)^⅓ · [log p(x|c) − log p(x|root)] from its own root. To that is added what the root of the
    shard gains over that of the cluster, and P(c) becomes the share of all passages.
    """
    space = connection.known.space
    assert space is not None
    x = space.project(vector[None])[0]
    start = forest.top.moments.log_p(x, space.acuity)
    found: list[ConceptMatch] = []
    for shard, matches in connection.ask_all("find_concepts", vector, k, shards=forest.shards).of.items():
        place = forest.place_of(shard)
        gained = place.moments.log_p(x, space.acuity) - start
        for match in matches:
            share = match.concept.size / forest.size(place)
            within = match.score / share ** (1 / 3)
            score = (match.concept.size / forest.size(forest.top)) ** (1 / 3) * (within + gained)
            found.append(ConceptMatch(forest.lifted(match.concept, shard), score, forest.path(match.path, shard)))
    return sorted(found, key=lambda match: (-match.score, match.concept.id))[:k]


def novelty_of(connection: Connection, forest: Forest, vector: Floats) -> Novelty:
    """How unusual a query is, among the documents of the shard that has the nearest one."""
    each: dict[int, Novelty] = connection.ask_all("novelty", vector, shards=forest.shards).of
    shard = max(each, key=lambda shard: (each[shard].score, -shard))
    found = each[shard]
    return replace(found, nearest=None if found.nearest is None else forest.lifted(found.nearest, shard))


def info_of(connection: Connection, folder: Folder) -> IndexInfo:
    """What all shards hold and take together."""
    description = connection.refresh().description
    each: list[IndexInfo] = [info for info, _ in connection.ask_all("info").of.values()]

    def added(parts: Iterable[dict[str, int]]) -> dict[str, int]:
        sums: dict[str, int] = {}
        for part in parts:
            for name, size in part.items():
                sums[name] = sums.get(name, 0) + size
        return sums

    own = sum(file.stat().st_size for file in folder.path.glob("*") if file.is_file())
    disk = {**added(info.disk for info in each), "placements": own}
    space = connection.known.space
    return IndexInfo(
        path=str(folder.path),
        documents=connection.ask_keeper("count"),
        passages=sum(info.passages for info in each),
        concepts=sum(info.concepts for info in each),
        encoder=description.encoder,
        dim=description.dim or None,
        whitened=space is not None and space.whitener is not None,
        operation=connection.ask_keeper("operation"),
        snapshots=(),
        bytes=sum(info.bytes for info in each) + own,
        disk=disk,
        memory=added(info.memory for info in each),
        created=min((info.created for info in each), default=""),
        written_by=min((info.written_by for info in each), default=""),
        degraded=next((info.degraded for info in each if info.degraded), None),
    )
