"""What `Index.plane` returns: documents as points, and the regions that concepts take up; also as bytes, for a browser.

The bytes: the length of a header as four bytes, the header in JSON, padded with spaces to a multiple of four bytes,
then columns of unsigned 16-bit numbers, one number for each point: x and y, in 65,535ths of the unit square, and for
each level the place of the point's region in the header's list, or 65,535 if it lies in none. All little-endian.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from gossamer.plain_text import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LARGEST: Final = 65_535
"""The largest number of 16 bits."""


@dataclass(frozen=True)
class Region:
    """The part of the plane that a concept takes up.

    >>> coarse = ix.plane().regions[0]
    >>> sum(region.size for region in coarse)
    18
    """

    concept: int
    """The id of the concept."""
    label: str
    """Empty where labels were not asked for."""
    size: int
    """Documents in it."""
    x: float
    """Its middle: the medians of its points."""
    y: float
    radius: float
    """The distance from its middle within which nine tenths of its points lie."""


@dataclass(frozen=True, eq=False, repr=False)
class Plane:
    """Documents as points of the unit square: near each other where they are alike.

    >>> plane = ix.plane()
    >>> plane.ids[0], plane.positions.shape
    ('fox', (18, 2))
    >>> plane
    Plane(18 documents, 2 regions, operation 1)
    """

    ids: tuple[str, ...]
    """In order of arrival. Entry n of all of these belongs to the same document."""
    positions: npt.NDArray[np.float32]
    """Shape (documents, 2)."""
    concepts: npt.NDArray[np.int32]
    """Shape (documents, levels): the concept that a document lies in, from the first level below the root down; -1
    where its path is shorter."""
    regions: tuple[tuple[Region, ...], ...]
    """The concepts of each level, large ones first."""
    operation: int
    """The state of the index that it shows, as `info().operation` counts them."""
    seconds: float = 0.0
    """Time it took, 0 if it was known."""

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        regions = counted(sum(map(len, self.regions)), "region")
        return f"Plane({counted(len(self.positions), 'document')}, {regions}, operation {self.operation:,})"

    def to_bytes(self, *, ids: bool = True) -> bytes:
        """The plane in the format described above; without `ids`, its points have none.

        >>> int.from_bytes(ix.plane().to_bytes()[:4], "little") > 100
        True
        """
        import numpy as np

        header: dict[str, Any] = {
            "version": 1,
            "operation": self.operation,
            "points": len(self),
            "levels": [[asdict(region) for region in level] for level in self.regions],
        }
        if ids:
            header["ids"] = self.ids
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        text = text.ljust(-(-len(text) // 4) * 4)
        columns = [np.rint(self.positions[:, axis] * _LARGEST) for axis in range(2)]
        for level, regions in enumerate(self.regions):
            place = {region.concept: at for at, region in enumerate(regions[:_LARGEST])}
            named, of = np.unique(self.concepts[:, level], return_inverse=True)
            columns.append(np.array([place.get(int(id), _LARGEST) for id in named], np.float64)[of.ravel()])
        return b"".join([len(text).to_bytes(4, "little"), text, *(each.astype("<u2").tobytes() for each in columns)])

    @classmethod
    def from_bytes(cls, content: bytes) -> Plane:
        """The plane that `to_bytes` wrote; positions are rounded to 1/65,535. `ValueError` if it is none.

        >>> len(Plane.from_bytes(ix.plane().to_bytes()))
        18
        """
        import numpy as np

        start = 4 + int.from_bytes(content[:4], "little")
        header = json.loads(content[4:start])
        regions = tuple(tuple(Region(**region) for region in level) for level in header["levels"])
        n = int(header["points"])
        columns = np.frombuffer(content, "<u2", offset=start).reshape(2 + len(regions), n)
        concepts = np.full((n, len(regions)), -1, np.int32)
        for level, (column, listed) in enumerate(zip(columns[2:], regions, strict=True)):
            named = np.array([*(region.concept for region in listed), -1], np.int32)
            concepts[:, level] = named[np.minimum(column, len(listed))]
        positions = (columns[:2].T / _LARGEST).astype(np.float32)
        return cls(tuple(header.get("ids", ())), positions, concepts, regions, int(header["operation"]))
