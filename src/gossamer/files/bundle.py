"""A bundle on disk: a folder with a manifest (JSON) and one file of arrays (safetensors). Never pickle.

Writing is atomic: the arrays go into a file named after their content, then the manifest, which names
that file, is renamed into place. A crash leaves the old bundle or the new one. Reading checks the
format version, the manifest's own checksum, and the length and SHA-256 of the arrays.

A checksum shows damage, not malice: whoever writes a file can write its checksum too. So a bundle hands
out its settings and arrays through methods that check types, shapes and ranges, and raise `CorruptError`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import reprlib
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.errors import CorruptError, DiskError, FormatVersionError, NotAnIndexError
from gossamer.files import tensors
from gossamer.version import __version__

FORMAT = "gossamer"
FORMAT_VERSION = 1
"""Version 1: manifest.json + one safetensors file. Every version ever shipped stays readable."""

MANIFEST = "manifest.json"

CURE: Final = "restore it from a copy or build it again"
"""What to do about anything saved that cannot be used."""

_LARGEST_MANIFEST = 1 << 26
"""Bytes; real manifests have a few thousand."""

_FILE_NAME = re.compile(r"arrays-[0-9a-f]{1,64}\.safetensors")

_MOST = 2**62
"""No whole number that is saved is larger: sums of two still fit in 64 bits."""

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Bundle:
    """What a bundle holds: its settings and its arrays."""

    params: dict[str, Any]
    arrays: Arrays

    def part(self, name: str) -> Bundle:
        """The bundle that was folded in under `name` with `fold`."""
        prefix = f"{name}."
        params = self._setting(name)
        if not isinstance(params, dict):
            raise CorruptError(f"the saved settings of {name!r} are {_shown(params)}, not named values: {CURE}")
        return Bundle(
            params=params,
            arrays={key.removeprefix(prefix): a for key, a in self.arrays.items() if key.startswith(prefix)},
        )

    def whole(self, name: str, least: int = 0, most: int = _MOST) -> int:
        """The setting `name`, which must be a whole number from `least` to `most`."""
        value = self._setting(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise CorruptError(
                f"the saved {name!r} is {_shown(value)}, not a whole number from {least} to {most}: {CURE}"
            )
        return value

    def number(self, name: str, least: float, most: float) -> float:
        """The setting `name`, which must be a number from `least` to `most`; these must be finite."""
        value = self._setting(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
            raise CorruptError(f"the saved {name!r} is {_shown(value)}, not a number from {least} to {most}: {CURE}")
        return float(value)

    def flag(self, name: str, default: bool | None = None) -> bool:
        """The setting `name`, which must be true or false; `default`, if there is one, where it was not saved."""
        value = self._setting(name) if default is None else self.params.get(name, default)
        if not isinstance(value, bool):
            raise CorruptError(f"the saved {name!r} is {_shown(value)}, not true or false: {CURE}")
        return value

    def array(self, name: str, dtype: npt.DTypeLike, *shape: int | None) -> npt.NDArray[Any]:
        """The array `name`, which must have this dtype and shape; None stands for any length."""
        if name not in self.arrays:
            raise CorruptError(f"what was saved lacks {name!r}: {CURE}")
        array = self.arrays[name]
        fits = len(shape) == array.ndim and all(
            wanted is None or wanted == length for wanted, length in zip(shape, array.shape, strict=True)
        )
        if array.dtype != dtype or not fits:
            lengths = ", ".join("any" if wanted is None else str(wanted) for wanted in shape)
            raise CorruptError(
                f"the saved array {name!r} has dtype {array.dtype} and shape {array.shape} where {np.dtype(dtype)} "
                f"and ({lengths}) are expected: {CURE}"
            )
        return array

    def numbers(
        self, name: str, dtype: npt.DTypeLike, *shape: int | None, least: float = -math.inf, most: float = math.inf
    ) -> npt.NDArray[Any]:
        """The same of an array whose values must all be finite, and from `least` to `most`."""
        array = self.array(name, dtype, *shape)
        if array.size:
            low, high = array.min(), array.max()  # NaN where there is one
            if not (math.isfinite(low) and math.isfinite(high) and least <= low and high <= most):
                bounds = "" if (least, most) == (-math.inf, math.inf) else f" from {least} to {most}"
                raise CorruptError(
                    f"the saved array {name!r} holds values from {low} to {high} where finite numbers{bounds} are "
                    f"expected: {CURE}"
                )
        return array

    def _setting(self, name: str) -> Any:
        if name not in self.params:
            raise CorruptError(f"what was saved lacks {name!r}: {CURE}")
        return self.params[name]


def _shown(value: object) -> str:
    """A value from a file for an error message: not all of it, where it is long or deep."""
    return reprlib.repr(value)


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
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise NotAnIndexError(f"{folder} is a file; choose another path or remove it")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise NotAnIndexError(f"{folder} exists and is not a Gossamer folder; choose another path or empty it")
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "kind": kind,
        "written_by": __version__,
        "params": bundle.params,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        size, digest = 0, hashlib.sha256()
        with _written_durably(folder / ".arrays") as (out, final):
            for piece in tensors.pieces(bundle.arrays):
                out.write(piece)
                digest.update(piece)
                size += len(piece)
            name = f"arrays-{digest.hexdigest()[:16]}.safetensors"
            final.append(folder / name)
        manifest["arrays"] = {"file": name, "bytes": size, "sha256": digest.hexdigest()}
        manifest["checksum"] = _checksum(manifest)
        with _written_durably(folder / MANIFEST) as (out, _):
            out.write(json.dumps(manifest, indent=1, sort_keys=True).encode())
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
    folder = Path(path)
    manifest = read_manifest(folder)
    if manifest["kind"] != kind:
        raise NotAnIndexError(f"{folder} holds a {manifest['kind']:.80}, not a {kind}")
    described = manifest["arrays"]
    file = folder / described["file"]
    try:
        blob = _read(file, described["bytes"])
    except FileNotFoundError as error:
        raise CorruptError(f"{file} is missing: restore the folder from a copy or build it again") from error
    except CorruptError:
        raise
    except OSError as error:
        raise DiskError(f"could not read {file}: {error.strerror or error}") from error
    if len(blob) != described["bytes"]:
        raise CorruptError(f"{file} has {len(blob)} bytes where {described['bytes']} were written: {CURE}")
    if hashlib.sha256(blob).hexdigest() != described["sha256"]:
        raise CorruptError(f"{file} was altered after it was written: {CURE}")
    try:
        arrays: Arrays = tensors.read(blob)
    except tensors.TensorError as error:
        raise CorruptError(f"{file} cannot be read ({_shown(error)}): {CURE}") from error
    return Bundle(params=manifest["params"], arrays=arrays)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a bundle, checked against its own checksum and our format version."""
    file = folder / MANIFEST
    try:
        manifest = json.loads(_read(file, _LARGEST_MANIFEST))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotAnIndexError(f"{folder} is not a Gossamer folder: it has no {MANIFEST}") from error
    except CorruptError:
        raise
    except OSError as error:
        raise DiskError(f"could not read {file}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"{file} is not readable JSON: {CURE}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise NotAnIndexError(f"{file} does not describe a Gossamer folder")
    version = manifest.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise FormatVersionError(
            f"{folder} is in format version {_shown(version)}, and this Gossamer reads up to {FORMAT_VERSION}: "
            "upgrade with pip install --upgrade gossamer"
        )
    try:
        sound = manifest.get("checksum") == _checksum(manifest)
    except (ValueError, RecursionError):  # half a character, or nested too deeply to be written again
        sound = False
    if not sound:
        raise CorruptError(f"{file} was altered after it was written: {CURE}")
    if not _is_complete(manifest):
        raise CorruptError(f"{file} does not say what kind of bundle it is of, with which settings and arrays: {CURE}")
    return manifest


def _is_complete(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest holds everything that is read of it, each of the right type."""
    described = manifest.get("arrays")
    return (
        isinstance(manifest.get("kind"), str)
        and isinstance(manifest.get("params"), dict)
        and isinstance(described, dict)
        and isinstance(described.get("file"), str)
        and _FILE_NAME.fullmatch(described["file"]) is not None  # a name, never a path that leads elsewhere
        and isinstance(described.get("bytes"), int)
        and isinstance(described.get("sha256"), str)
    )


def _read(file: Path, most: int) -> bytearray:
    """The content of a regular file of at most `most` bytes: a pipe would never end, and a giant fill the memory."""
    about = file.stat()
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
        raise CorruptError(f"{file} is not a regular file: {CURE}")
    if about.st_size > most:
        raise CorruptError(f"{file} has {about.st_size} bytes where at most {most} are expected: {CURE}")
    with file.open("rb", buffering=0) as opened:
        content = bytearray(about.st_size)
        view, filled = memoryview(content), 0
        while filled < len(content) and (count := opened.readinto(view[filled:])):
            filled += count
        view.release()
        del content[filled:]
    return content


def _checksum(manifest: Mapping[str, Any]) -> str:
    content = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def _written_durably(file: Path) -> Iterator[tuple[BinaryIO, list[Path]]]:
    """A file to write to, which is then put in the place of `file`, or of the last name that was added to the list."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    names = [file]
    try:
        with beside.open("wb") as out:
            yield out, names
            out.flush()
            os.fsync(out.fileno())
        beside.replace(names[-1])
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
