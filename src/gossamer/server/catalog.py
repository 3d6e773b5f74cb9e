"""The indexes that are served, by name. A name in a request is looked up here; it never becomes a path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer.errors import ParameterError
from gossamer.server.problems import Refusal

if TYPE_CHECKING:
    from gossamer.index import Index

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Served:
    """An index, its name, and whether the server takes changes to it."""

    name: str
    index: Index
    writable: bool = True


class Catalog:
    """The indexes of a server. A request that names no index means the first."""

    def __init__(self, indexes: Mapping[str, Index], *, read_only: bool = False) -> None:
        if not indexes:
            raise ParameterError("there is nothing to serve: give at least 1 index")
        for name in indexes:
            check_name(name)
        self._served = {name: Served(name, index, not read_only) for name, index in indexes.items()}
        self.first = next(iter(self._served.values()))

    def get(self, name: str | None) -> Served:
        """The index of that name, or the first one."""
        if name is None:
            return self.first
        if name not in self._served:
            raise Refusal(404, f"there is no index {name!r} here, but {', '.join(self._served)}", "unknown-index")
        return self._served[name]

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def close(self) -> None:
        """Close all indexes. Closing twice does nothing."""
        for served in self:
            served.index.close()


def check_name(name: str) -> str:
    """Return `name`; raise `ParameterError` if it cannot be part of an address."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"{name!r} cannot be the name of an index: use letters, digits, '.', '_' and '-', at most 64 of them, "
            "as in NAME=PATH"
        )
    return name


def name_and_path(given: str) -> tuple[str, Path]:
    """Split NAME=PATH. For a path alone, its last part is the name: "news" for news.gsm."""
    name, equals, rest = given.partition("=")
    if equals and _NAME.fullmatch(name):
        return name, Path(rest)
    path = Path(given)
    stem = path.resolve().name.removesuffix(".gsm")
    return check_name(re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "index"), path
