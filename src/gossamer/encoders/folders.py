"""Fingerprints of models that are folders or files on this machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

_SAMPLES = 16
_SAMPLE_BYTES = 1 << 16


def identity(model: str) -> str:
    """What tells a model from others: its hub name, or for one on disk a hash of its content.

    A folder may be moved and must stay the same model, or be trained further and must not. Reading gigabytes
    to find out would take longer than opening the index, so each file is known by its size and by sixteen
    samples spread over it: training changes all weights, and these show it.
    """
    path = Path(model).expanduser()
    if path.is_file():
        return _sampled(path)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and _matters(file.relative_to(path)))
        lines = [f"{file.relative_to(path).as_posix()} {_sampled(file)}" for file in files]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return model


def _matters(file: Path) -> bool:
    """Weights, vocabularies and settings; not the README, nor what version control keeps beside them."""
    hidden = any(part.startswith(".") for part in file.parts)
    return not hidden and file.suffix in {".json", ".txt", ".model", ".safetensors", ".bin", ".gguf"}


def _sampled(file: Path) -> str:
    size = file.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with file.open("rb") as content:
        if size <= _SAMPLES * _SAMPLE_BYTES:
            digest.update(content.read())
        else:
            for sample in range(_SAMPLES):
                content.seek(sample * (size - _SAMPLE_BYTES) // (_SAMPLES - 1))
                digest.update(content.read(_SAMPLE_BYTES))
    return digest.hexdigest()
