"""Where data is looked for, and where what was computed is kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from gossamer.encoders.models import cache_folder
from gossamer.errors import DiskError
from gossamer_lab.bench.data import FOLDER_VARIABLE

_BESIDE: Final = Path("../shared")


def data_folder(given: Path | None = None) -> Path:
    """The folder that holds `data/` and `embeddings/`: the one given, or $GOSSAMER_DATA, or ../shared.

    Either of the two inside it may be named as well.
    """
    named = given or (Path(os.environ[FOLDER_VARIABLE]) if os.environ.get(FOLDER_VARIABLE) else None)
    folder = named or _BESIDE
    if not folder.is_dir():
        raise DiskError(f"there is no folder of data at {folder}: name one with --data or ${FOLDER_VARIABLE}")
    return folder.parent if folder.name in ("data", "embeddings") else folder


def found_folder(given: Path | None = None) -> Path | None:
    """The same, or None where there is none and none was named."""
    try:
        return data_folder(given)
    except DiskError:
        if given is not None:
            raise
        return None


def kept(given: Path | None = None) -> Path:
    """The folder of rankings, whiteners and vectors computed before."""
    folder = given or cache_folder() / "eval"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
