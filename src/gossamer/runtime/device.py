"""`device=`: where PyTorch computes. None stands for the compiled kernels, which need no PyTorch."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from gossamer.errors import MissingExtraError, ParameterError


def as_device(device: Any) -> str | None:
    """The name of a device that can be used here, "cuda", "cuda:1" or "cpu"; None stays None."""
    if device is None:
        return None
    name = str(device)
    kind, _, number = name.partition(":")
    if kind not in ("cuda", "cpu") or (number and not number.isdecimal()):
        raise ParameterError(f'device must be "cuda", "cuda:<number>", "cpu" or None, got {device!r}')
    if find_spec("torch") is None:
        raise MissingExtraError(f"device={name!r}", "gpu")
    import torch

    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise ParameterError(
            f"device={name!r}: PyTorch {torch.__version__} sees {torch.cuda.device_count()} such devices here; leave "
            "device out to use the processor"
        )
    return name
