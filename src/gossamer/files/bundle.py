"""A bundle on disk: a folder with a manifest (JSON) and one file of arrays (safetensors). Never pickle.

Writing is atomic: the arrays go into a file named after their content, then the manifest, which names
that file, is renamed into place. A crash leaves the old bundle or the new one. Reading checks the
format version, the manifest's checksum, and the length and SHA-256 of the arrays.

A checksum detects damage, not forgery. So settings and arrays are read through methods that check types, shapes and
ranges, and raise `CorruptError`.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown  # long and deep values are shortened
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.checks import as_place
from gossamer.errors import CorruptError, DiskError, FormatVersionError, NotAnIndexError
from gossamer.files import tensors
from gossamer.version import __version__

FORMAT = "gossamer"
FORMAT_VERSION = 5
"""Version 1: manifest.json and one safetensors file. Version 2: an index of vectors has a structure, the clock of its
renewals and a history of its concepts. Version 3: moments of concepts over leaves alone are left out. Version 4:
moments of any concept that follow from its children are. Version 5: the root's are there, with the scatter of all and
the entry points of searches. Every version ever released stays readable."""

MANIFEST = "manifest.json"

CURE: Final = "restore it from a copy or build it again"
"""What to do about a saved bundle that cannot be used."""

_LARGEST_MANIFEST = 1 << 26
"""The most bytes of a manifest; real ones have a few thousand."""

_PIECE: Final = 1 << 20
"""Bytes of a file that are read at once to compute its checksum."""

_FILE_NAME = re.compile(r"arrays-[0-9a-f]{1,64}\.safetensors")

_MOST = 2**62
"""The largest saved integer: the sum of two still fits in 64 bits."""

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Bundle:
    """Settings and arrays."""

    params: dict[str, Any]
    arrays: Arrays

    def part(self, name: str) -> Bundle:
        """The bundle that `fold` included under `name`."""
        prefix = f"{name}."
        params = self._setting(name)
        if not isinstance(params, dict):
            raise CorruptError(f"the saved settings of {name!r} are {shown(params)}, not named values: {CURE}")
        return Bundle(
            params=params,
            arrays={key.removeprefix(prefix): a for key, a in self.arrays.items() if key.startswith(prefix)},
        )

    def whole(self, name: str, least: int = 0, most: int = _MOST) -> int:
        """The setting `name`, which must be an integer from `least` to `most`."""
        value = self._setting(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise CorruptError(
                f"the saved {name!r} is {shown(value)}, not a whole number from {least} to {most}: {CURE}"
            )
        return value

    def number(self, name: str, least: float, most: float) -> float:
        """The setting `name`, which must be a number from `least` to `most`, both finite."""
        value = self._setting(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
            raise CorruptError(f"the saved {name!r} is {shown(value)}, not a number from {least} to {most}: {CURE}")
        return float(value)

    def flag(self, name: str, default: bool | None = None) -> bool:
        """The setting `name`, which must be true or false; `default`, if given, is used if it was not saved."""
        value = self._setting(name) if default is None else self.params.get(name, default)
        if not isinstance(value, bool):
            raise CorruptError(f"the saved {name!r} is {shown(value)}, not true or false: {CURE}")
        return value

    def array(self, name: str, dtype: npt.DTypeLike, *shape: int | None) -> npt.NDArray[Any]:
        """The array `name`, which must have this dtype and shape; None means any length."""
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
        """The array `name`, whose values must also be finite and from `least` to `most`."""
        array = self.array(name, dtype, *shape)
        if array.size:
            low, high = array.min(), array.max()  # NaN if there is one
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


def fold(parts: Mapping[str, Bundle], params: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Bundle:
    """A bundle that contains others under their names, beside settings and arrays of its own."""
    return Bundle(
        params={**params, **{name: part.params for name, part in parts.items()}},
        arrays={**arrays, **{f"{name}.{key}": a for name, part in parts.items() for key, a in part.arrays.items()}},
    )


def write_bundle(path: str | os.PathLike[str], kind: str, bundle: Bundle) -> None:
    """Write `bundle` into the folder `path`, replacing a bundle that is there; durable on return."""
    folder = Path(as_place(path))
    _check_free(folder, kind)
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "kind": kind,
        "written_by": __version__,
        "params": bundle.params,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        manifest["arrays"] = arrays = _write_durably(
            folder, "arrays-{digest:.16}.safetensors", tensors.pieces(bundle.arrays)
        )
        manifest["checksum"] = checksum(manifest)
        _write_durably(folder, MANIFEST, [json.dumps(manifest, indent=1, sort_keys=True).encode()])
        _sync_folder(folder)
    except OSError as error:
        raise DiskError(
            f"could not write {folder}: {error.strerror or error}; what was there before is untouched"
        ) from error
    for stale in folder.glob("arrays-*.safetensors"):
        if stale.name != arrays["file"]:
            with suppress(OSError):  # a reader may have it open (Windows); the next write deletes it
                stale.unlink()


def _check_free(folder: Path, kind: str) -> None:
    """Raise unless there is nothing at `folder`, or a bundle of this kind, which may be damaged."""
    if folder.exists() and not folder.is_dir():
        raise NotAnIndexError(f"{folder} is a file; choose another path or remove it")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / MANIFEST).exists():
        raise NotAnIndexError(f"{folder} exists and is not a Gossamer folder; choose another path or empty it")
    try:
        found = read_manifest(folder)["kind"]
    except CorruptError:
        return
    if found != kind:
        raise NotAnIndexError(f"{folder} holds a {found:.80}, not a {kind}; choose another path or remove it")


def read_bundle(path: str | os.PathLike[str], kind: str) -> Bundle:
    """Read the bundle of `kind` at `path`; the error says what is wrong with it."""
    with verifying(path, kind) as bundle:
        return bundle


@contextmanager
def verifying(path: str | os.PathLike[str], kind: str) -> Iterator[Bundle]:
    """A bundle whose arrays are compared with their checksum while the block runs, in another thread.

    What the block makes of them is to be used only if no error comes out of it.
    """
    folder = Path(as_place(path))
    manifest = read_manifest(folder)
    if manifest["kind"] != kind:
        raise NotAnIndexError(f"{folder} holds a {manifest['kind']:.80}, not a {kind}")
    described = manifest["arrays"]
    file = folder / described["file"]
    with ThreadPoolExecutor(1) as pool:
        with _errors_of(file):
            _check_size(file, described["bytes"])
            arrays: Arrays = tensors.mapped(file)
        try:
            verified = pool.submit(_verify, file, described["sha256"])
        except RuntimeError:  # the interpreter is ending, and takes no more work: this is a function of atexit
            with _errors_of(file):
                _verify(file, described["sha256"])
            verified = Future()
            verified.set_result(None)
        try:
            yield Bundle(params=manifest["params"], arrays=arrays)
        finally:  # an error of the block comes from the damage, if there is any
            with _errors_of(file):
                verified.result()


@contextmanager
def _errors_of(file: Path) -> Iterator[None]:
    """Say of what could not be read that it is in `file`."""
    try:
        yield
    except CorruptError:
        raise
    except FileNotFoundError as error:
        raise CorruptError(f"{file} is missing: restore the folder from a copy or build it again") from error
    except tensors.TensorError as error:
        raise CorruptError(f"{file} cannot be read ({shown(error)}): {CURE}") from error
    except OSError as error:
        raise DiskError(f"could not read {file}: {error.strerror or error}") from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a bundle, after checks of its format version and checksum."""
    file = folder / MANIFEST
    try:
        manifest = json.loads(_read(file, _LARGEST_MANIFEST))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotAnIndexError(
            f"{folder} was not written by save: it has no {MANIFEST} (Index.open opens an Index)"
        ) from error
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
            f"{folder} is in format version {shown(version)}, and this Gossamer reads up to {FORMAT_VERSION}: "
            "upgrade with pip install --upgrade gossamer"
        )
    try:
        sound = manifest.get("checksum") == checksum(manifest)
    except (ValueError, RecursionError):  # a lone surrogate, or nested too deeply
        sound = False
    if not sound:
        raise CorruptError(f"{file} was altered after it was written: {CURE}")
    if not _is_complete(manifest):
        raise CorruptError(f"{file} does not say what kind of bundle it is of, with which settings and arrays: {CURE}")
    return manifest


def _is_complete(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest has everything that is read from it, with the right types."""
    described = manifest.get("arrays")
    return (
        isinstance(manifest.get("kind"), str)
        and isinstance(manifest.get("params"), dict)
        and isinstance(described, dict)
        and isinstance(described.get("file"), str)
        and _FILE_NAME.fullmatch(described["file"]) is not None  # a file name, never a path
        and isinstance(described.get("bytes"), int)
        and isinstance(described.get("sha256"), str)
    )


def _read(file: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes."""
    with _opened(file, most) as opened:
        return opened.read()


def _check_size(file: Path, size: int) -> None:
    """Raise `CorruptError` unless a file has this size."""
    with _opened(file, size) as opened:
        found = os.fstat(opened.fileno()).st_size
    if found != size:
        raise CorruptError(f"{file} has {found} bytes where {size} were written: {CURE}")


def _verify(file: Path, sha256: str) -> None:
    """Raise `CorruptError` unless a file has this checksum."""
    found = hashlib.sha256()
    with file.open("rb", buffering=0) as opened:
        while piece := opened.read(_PIECE):
            found.update(piece)
    if found.hexdigest() != sha256:
        raise CorruptError(f"{file} was altered after it was written: {CURE}")


def _opened(file: Path, most: int) -> io.FileIO:
    """A regular file of at most `most` bytes: a pipe might never end, a huge file fill the memory."""
    about = file.stat()
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
        raise CorruptError(f"{file} is not a regular file: {CURE}")
    if about.st_size > most:
        raise CorruptError(f"{file} has {about.st_size} bytes where at most {most} are expected: {CURE}")
    return file.open("rb", buffering=0)


def checksum(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest without its checksum."""
    content = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _write_durably(folder: Path, name: str, content: Iterable[bytes | memoryview]) -> dict[str, Any]:
    """Write a file under a temporary name, sync it and rename it to `name`, in which {digest} means its SHA-256."""
    draft = folder / f".draft.{os.getpid()}"
    size, sha256 = 0, hashlib.sha256()
    try:
        with draft.open("wb") as out:
            for piece in content:
                out.write(piece)
                sha256.update(piece)
                size += len(piece)
            out.flush()
            os.fsync(out.fileno())
        digest = sha256.hexdigest()
        final = name.format(digest=digest)
        draft.replace(folder / final)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return {"file": final, "bytes": size, "sha256": digest}


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # on Windows a folder cannot be opened, and the rename is durable
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
