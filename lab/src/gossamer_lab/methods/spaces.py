"""The vectors that methods search, by name: as they came, or whitened by one recipe or another."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from gossamer import Whitener
from gossamer.errors import InputError
from gossamer_lab.engine import Floats


@dataclass(frozen=True)
class Space:
    """Vectors, and the tree that is grown over them."""

    name: str
    preset: Literal["default", "paper"]
    whitener: dict[str, object] | Literal["preset"] | None
    """Parameters of a `Whitener`; None takes vectors as they are, "preset" leaves the choice to the index."""
    about: str
    structure: Literal["preset", "living", "cobweb"] = "preset"
    like: str = ""
    """The space whose vectors these are, if it is another."""
    queries: bool = False
    """Whether the whitener is fitted on the queries as well, which an index does not know."""


_PAPER: Final[dict[str, object]] = {"n_components": 0.96, "strength": 1.0, "sphere": False}
_ICA: Final[dict[str, object]] = {**_PAPER, "ica": True}

SPACES: Final = {
    space.name: space
    for space in (
        Space("raw", "paper", None, "as they came; trees with the paper's acuity"),
        Space("paper", "paper", _ICA, "PCA and ICA, full whitening"),
        Space("pca", "paper", _PAPER, "the paper's without ICA's rotation, which changes no distance"),
        Space("both", "paper", _ICA, "the paper's, fitted on documents and queries", queries=True),
        Space("living", "default", _ICA, "the paper's vectors; living trees", "living", like="paper"),
        Space("pca-living", "default", _PAPER, "the paper's vectors without ICA; living trees", "living", like="pca"),
        Space("default", "default", "preset", "what an index does by default"),
        Space("cobweb", "default", None, "the default's vectors; Cobweb trees", "cobweb", like="default"),
    )
}


_WITHOUT_ICA: Final = {"paper": "pca", "both": "pca", "living": "pca-living"}


def without_ica(method: str) -> str:
    """A method over the same vectors, but for ICA's rotation: ``path-sum@living`` becomes ``path-sum@pca-living``."""
    ranker, _, space = method.partition("@")
    return f"{ranker}@{_WITHOUT_ICA.get(space, space)}"


def space_of(name: str) -> Space:
    """A space by its name."""
    if name not in SPACES:
        raise InputError(f"there are no vectors called {name!r}: choose one of {', '.join(SPACES)}")
    return SPACES[name]


def fit(recipe: dict[str, object], E: Floats, cache: Path) -> Whitener:
    """A whitener fitted on E. One with ICA, which takes a minute, is kept by content."""
    whitener = Whitener(**recipe)  # type: ignore[arg-type]
    if not whitener.ica:
        return whitener.fit(E)
    digest = hashlib.blake2b(np.ascontiguousarray(E).data, digest_size=16)
    digest.update(repr((E.shape, sorted(recipe.items()))).encode())
    path = cache / "whiteners" / digest.hexdigest()
    if path.is_dir():
        return Whitener.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ICA that has not converged changes no distance
        whitener.fit(E)
    path.parent.mkdir(parents=True, exist_ok=True)
    whitener.save(path)
    return whitener
