"""What a cluster is, as its folder says it.

cluster.json        `Description`: settings, shards, and which concept of the router lies on which shard
space/              whitener and acuity of all shards
router/             the concepts of the router
encoder/            what an encoder that learns has learnt
placement.sqlite    on which shard each document is, and changes that are under way (`placement`)
shards/<n>.gsm      the index of each shard
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from gossamer.errors import CorruptError, FormatVersionError, NotAnIndexError
from gossamer.version import __version__

FORMAT: Final = "gossamer-cluster"
FORMAT_VERSION: Final = 1

SHARDS: Final = 1_000
"""The most shards of a cluster: ids of concepts contain the shard."""


@dataclass(frozen=True)
class Folder:
    """The paths in the folder of a cluster."""

    path: Path

    @property
    def description(self) -> Path:
        """Settings, shards and assignment."""
        return self.path / "cluster.json"

    @property
    def space(self) -> Path:
        """Whitener and acuity."""
        return self.path / "space"

    @property
    def router(self) -> Path:
        """The concepts of the router."""
        return self.path / "router"

    @property
    def encoder(self) -> Path:
        """What an encoder has learnt."""
        return self.path / "encoder"

    @property
    def placement(self) -> Path:
        """The database of placements."""
        return self.path / "placement.sqlite"

    def shard(self, number: int) -> Path:
        """The index of a shard."""
        return self.path / "shards" / f"{number:03d}.gsm"


@dataclass(frozen=True)
class Description:
    """A cluster: what its parts have in common, and which concepts are on which shard.

    encoder, fingerprint, dim       of the encoder; dim is 0 until the first documents
    max_tokens, overlap, language   how texts are split and words stemmed
    shards, replicas                how many there are; replicas of each shard
    version                         grows with each change of what follows
    assignment                      the shard of each concept of the router; empty before the first documents
    leaving                         (concept, shard): documents of that concept are being moved away from that shard
    curve                           (share of the ten nearest found, slack): see `router`
    """

    identity: str
    encoder: str
    fingerprint: str
    max_tokens: int | None
    overlap: int
    language: str
    shards: int
    replicas: int = 0
    dim: int = 0
    version: int = 0
    assignment: tuple[int, ...] = ()
    leaving: tuple[tuple[int, int], ...] = ()
    curve: tuple[tuple[float, float], ...] = ()
    written_by: str = field(default=__version__)

    @property
    def is_routed(self) -> bool:
        """Whether there is a router: there is none before the first documents."""
        return bool(self.assignment)

    @property
    def holders(self) -> list[tuple[int, ...]]:
        """The shards that hold documents of each concept: one, or two while they are moved."""
        found: list[tuple[int, ...]] = [(shard,) for shard in self.assignment]
        for concept, shard in self.leaving:
            found[concept] = (*found[concept], shard)
        return found

    def changed(self, **changes: Any) -> Description:
        """The next version, with these changes."""
        return replace(self, version=self.version + 1, **changes)

    def write(self, folder: Folder) -> None:
        """Write cluster.json; durable on return. A crash leaves the old one or the new one."""
        content = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(self)}
        draft = folder.path / ".cluster.json"
        with draft.open("w") as file:
            json.dump(content, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, folder.description)
        handle = os.open(folder.path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    @classmethod
    def read(cls, folder: Folder) -> Description:
        """What cluster.json says."""
        try:
            content = json.loads(folder.description.read_text())
        except FileNotFoundError as error:
            raise NotAnIndexError(
                f"there is no cluster at {folder.path}: make one with Cluster.create, or gossamer cluster index"
            ) from error
        except ValueError as error:
            raise CorruptError(f"{folder.description} is damaged ({error}): restore it from a backup") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise NotAnIndexError(f"{folder.description} was made by another program")
        if content.get("format_version", 0) > FORMAT_VERSION:
            raise FormatVersionError(
                f"{folder.path} is in format version {content['format_version']}, and this Gossamer reads up to "
                f"{FORMAT_VERSION}: upgrade with pip install --upgrade gossamer"
            )
        return cls.parse(content, folder)

    @classmethod
    def parse(cls, content: Mapping[str, Any], folder: Folder) -> Description:
        """The description in the values of cluster.json."""
        try:
            values = {each.name: content[each.name] for each in fields(cls)}
            for name in ("leaving", "curve"):
                values[name] = tuple((first, second) for first, second in values[name])
            values["assignment"] = tuple(map(int, values["assignment"]))
            found = cls(**values)
            fits = all(0 <= shard < found.shards for shard in found.assignment) and 1 <= found.shards <= SHARDS
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptError(f"{folder.description} lacks or garbles {error}: restore it from a backup") from error
        if not fits:
            raise CorruptError(f"{folder.description} names shards that are not there: restore it from a backup")
        return found
