"""A bundle on disk: a folder with a manifest (JSON) and one file of arrays (safetensors). Never pickle.

Writing is atomic: the arrays go into a file named after their content, then the manifest, which names
that file, is renamed into place. A crash leaves the old bundle or the new one. Reading checks the
format version, the manifest's own checksum, and the length and SHA-256 of the arrays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.errors import CorruptError, DiskError, FormatVersionError, NotAnIndexError
from gossamer.version import __version__

FORMAT = "gossamer"
FORMAT_VERSION = 1
"""Version 1: manifest.json + one safetensors file. Every version ever shipped stays readable."""

MANIFEST = "manifest.json"

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Bundle:
    """What a bundle holds: its settings and its arrays."""

    params: dict[str, Any]
    arrays: Arrays

    def part(self, name: str) -> Bundle:
        """The bundle that was folded in under `name` with `fold`."""
        prefix = f"{name}."
        return Bundle(
            params=self.params[name],
            arrays={key.removeprefix(prefix): a for key, a in self.arrays.items() if key.startswith(prefix)},
        )


def fold(parts: Mapping[str, Bundle], params: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Bundle:
    """One bundle that holds others under their names, beside settings and arrays of its own."""
    return Bundle(
        params={**params, **{name: part.params for name, part in parts.items()}},
        arrays={
            **arrays,
            **{f"{name}.{key}": a for name, part in parts.items() for key, a in part.arrays.items()},
        },
    )


def write_bundle(path: str | os.PathLike[str], kind: str, bundle: Bundle) -> None:
    """Write `bundle` into the folder `path`, replacing a bundle that is there; durable on return."""
    from safetensors.numpy import save

    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise NotAnIndexError(f"{folder} is a file; choose another path or remove it")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise NotAnIndexError(f"{folder} exists and is not a Gossamer folder; choose another path or empty it")
    blob = save({name: np.ascontiguousarray(array) for name, array in bundle.arrays.items()})
    digest = hashlib.sha256(blob).hexdigest()
    name = f"arrays-{digest[:16]}.safetensors"
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "kind": kind,
        "written_by": __version__,
        "params": bundle.params,
        "arrays": {"file": name, "bytes": len(blob), "sha256": digest},
    }
    manifest["checksum"] = _checksum(manifest)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_durably(folder / name, blob)
        _write_durably(folder / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode())
        _sync_folder(folder)
    except OSError as error:
        raise DiskError(
            f"could not write {folder}: {error.strerror or error}; what was there before is untouched"
        ) from error
    for stale in folder.glob("arrays-*.safetensors"):
        if stale.name != name:
            with suppress(OSError):  # a reader on another system may hold it open; it goes next time
                stale.unlink()


def read_bundle(path: str | os.PathLike[str], kind: str) -> Bundle:
    """Read the bundle of `kind` at `path`, or say what is wrong with it."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    folder = Path(path)
    manifest = read_manifest(folder)
    if manifest["kind"] != kind:
        raise NotAnIndexError(f"{folder} holds a {manifest['kind']}, not a {kind}")
    described = manifest["arrays"]
    file = folder / described["file"]
    try:
        blob = file.read_bytes()
    except FileNotFoundError as error:
        raise CorruptError(f"{file} is missing: restore the folder from a copy or build it again") from error
    except OSError as error:
        raise DiskError(f"could not read {file}: {error.strerror or error}") from error
    if len(blob) != described["bytes"]:
        raise CorruptError(
            f"{file} has {len(blob)} bytes where {described['bytes']} were written: "
            "restore it from a copy or build it again"
        )
    if hashlib.sha256(blob).hexdigest() != described["sha256"]:
        raise CorruptError(f"{file} was altered after it was written: restore it from a copy or build it again")
    try:
        arrays: Arrays = load(blob)
    except SafetensorError as error:
        raise CorruptError(f"{file} cannot be read: {error}") from error
    return Bundle(params=manifest["params"], arrays=arrays)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a bundle, checked against its own checksum and our format version."""
    file = folder / MANIFEST
    try:
        manifest = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotAnIndexError(f"{folder} is not a Gossamer folder: it has no {MANIFEST}") from error
    except OSError as error:
        raise DiskError(f"could not read {file}: {error.strerror or error}") from error
    except ValueError as error:
        raise CorruptError(f"{file} is not readable JSON: restore it from a copy or build it again") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise NotAnIndexError(f"{file} does not describe a Gossamer folder")
    version = manifest.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise FormatVersionError(
            f"{folder} is in format version {version}, and this Gossamer reads up to {FORMAT_VERSION}: "
            "upgrade with pip install --upgrade gossamer"
        )
    if manifest.get("checksum") != _checksum(manifest):
        raise CorruptError(f"{file} was altered after it was written: restore it from a copy or build it again")
    return manifest


def _checksum(manifest: Mapping[str, Any]) -> str:
    content = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _write_durably(file: Path, blob: bytes) -> None:
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with beside.open("wb") as out:
            out.write(blob)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened, and the rename is already durable
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
