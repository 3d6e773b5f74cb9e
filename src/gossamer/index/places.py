"""Where the passages of an index lie in the plane: cached while it is open, and saved with it.

Saved places are derived: where they are missing, damaged or of another index, they are computed again. Passages that
came since have none, and those that are gone do no harm, since numbers of passages are not used again.
"""

import logging
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats, Longs
from gossamer.checks import LARGEST
from gossamer.errors import GossamerError
from gossamer.files.bundle import Bundle, read_bundle, write_bundle
from gossamer.results import Plane
from gossamer.store import Store

_log = logging.getLogger("gossamer.index")

_SAVED: Final = 0.01
"""Share of points that came since places were saved, above which they are saved again."""

_KIND: Final = "plane"


@dataclass(frozen=True)
class Places:
    """Where passages lie. The arrays belong together, in order of passage."""

    passages: Longs
    positions: Floats
    unit: float
    """See `Layout`."""
    loose: int
    """Points that were placed one by one since the last layout."""
    coherence: float
    """How well concepts kept together after the last layout: see `plane.layout.coherence`."""
    operation: int


class PlaneCache:
    """The plane of an index as it was last asked for. One thread at a time computes it; others wait for that one."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.plane: Plane | None = None
        self.places: Places | None = None
        self.saved: Places | None = None
        self.loaded = False

    def clear(self) -> None:
        """Forget everything; what was saved is read again."""
        self.plane = self.places = self.saved = None
        self.loaded = False


def is_outdated(places: Places, saved: Places | None) -> bool:
    """Whether places should be saved: all have moved since, or more than a few are new."""
    moved = saved is None or places.loose < saved.loose
    return moved or places.loose - saved.loose > _SAVED * len(places.passages)  # type: ignore[union-attr]


def load(store: Store, operation: int) -> Places | None:
    """The places that were saved with an index; None where there are none that can be used."""
    if store.layout is None or not store.layout.plane.exists():
        return None
    try:
        bundle = read_bundle(store.layout.plane, _KIND)
        if bundle.params.get("identity") != store.settings.identity or bundle.whole("operation") > operation:
            return None
        passages = bundle.array("passages", np.int64, None)
        positions = bundle.numbers("positions", np.float32, len(passages), 2, least=0.0, most=1.0)
        if (np.diff(passages) <= 0).any():
            return None
        unit = bundle.number("unit", 0.0, LARGEST)
        coherence = bundle.number("coherence", 0.0, 1.0)
        return Places(passages, positions, unit, bundle.whole("loose"), coherence, bundle.whole("operation"))
    except (GossamerError, OSError) as error:
        _log.warning("the plane of %s is laid out again: %s", store.where, error)
        return None


def save(store: Store, places: Places) -> bool:
    """Save places with an index that is open for writing, unless another process is writing or has written since.

    Where that fails, they are computed again another time.
    """
    if store.layout is None:
        return False
    params = {
        "identity": store.settings.identity, "operation": places.operation, "unit": places.unit, "loose": places.loose,
        "coherence": places.coherence,
    }  # fmt: skip
    arrays: dict[str, npt.NDArray[Any]] = {"passages": places.passages, "positions": places.positions}
    try:
        with store.turn_at(places.operation) as mine:
            if mine:
                write_bundle(store.layout.plane, _KIND, Bundle(params, arrays))
            return mine
    except (GossamerError, OSError, MemoryError) as error:
        _log.warning("the plane of %s was not saved: %s", store.where, error)
        return False
