"""Where data is found, where results are kept, and vectors in .npy files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gossamer.cli.evaluation import data_folder
from gossamer.errors import DiskError, InputError
from gossamer_lab.engine import Floats, as_vectors, cache_folder


def found_folder(given: Path | None) -> Path | None:
    """The data folder, or None where none was named and none is at the usual places."""
    try:
        return data_folder(given)
    except DiskError:
        if given is not None:
            raise
        return None


def kept(given: Path | None) -> Path:
    """The folder of rankings, whiteners and vectors computed before."""
    folder = given or cache_folder() / "eval"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def load_vectors(path: Path) -> Floats:
    """The rows of a .npy file as float32."""
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise DiskError(f"there are no vectors at {path}: give the path of a .npy file") from None
    except (ValueError, EOFError, OSError) as error:
        raise DiskError(f"{path} cannot be read as a .npy file: {error}") from error
    if array.ndim != 2 or not len(array):
        raise InputError(f"{path} holds an array of shape {array.shape}: expected one row a vector")
    return as_vectors(array, array.shape[1], what=str(path))
