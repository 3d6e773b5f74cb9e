"""The signatures that kernels are compiled for, so that they can be compiled before they are called.

`signatures.json` lists them in the order in which processes that help to compile take them: what a search needs comes
first, and kernels that share subkernels stand together, since each process compiles the subkernels it needs. Arrays are
written as in Numba ("float32[:, ::1]"), with "const" before one that is read-only, and a named tuple by its class; the
types of its fields are given once. `tests/runtime/test_signatures.py` calls kernels as programs do and fails if the
file is not current; run as a program, it writes the file.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numba

FILE: Final = Path(__file__).with_name("signatures.json")

_ARRAY: Final = re.compile(r"(const )?(\w+)\[(.*)\]")
_types: Any = numba.types


def all_signatures() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every kernel ("tree/scoring.log_ps") with the types of its arguments, once for each signature."""
    content = json.loads(FILE.read_text())

    @cache
    def parsed(text: str) -> Any:
        """The Numba type that is written so."""
        if text in content["tuples"]:
            fields = tuple(map(parsed, content["tuples"][text].values()))
            return _types.BaseTuple.from_types(fields, find(text.partition(" ")[0]))
        if array := _ARRAY.fullmatch(text):
            const, kind, dims = array.groups()
            axes = dims.split(", ")
            layout = "C" if axes[-1] == "::1" else "F" if axes[0] == "::1" else "A"
            return _types.Array(parsed(kind), len(axes), layout, readonly=const is not None)
        return getattr(_types, {"bool": "boolean"}.get(text, text))

    for kernel, signatures in content["kernels"].items():
        for signature in signatures:
            yield kernel, tuple(map(parsed, signature))


def find(name: str) -> Any:
    """A kernel (a Numba dispatcher) or the class of a named tuple, by its name in the file."""
    module, _, function = name.replace("/", ".").rpartition(".")
    return getattr(import_module(f"gossamer.{module}"), function)


class Writer:
    """Types as text; collects the named tuples among them."""

    def __init__(self) -> None:
        self.tuples: dict[str, dict[str, str]] = {}

    def text(self, kind: Any) -> str:
        """One type as text."""
        if isinstance(kind, _types.Array):
            axes = [":"] * kind.ndim
            if kind.layout != "A":
                axes[-1 if kind.layout == "C" else 0] = "::1"
            return f"{'' if kind.mutable else 'const '}{kind.dtype.name}[{', '.join(axes)}]"
        if isinstance(kind, _types.BaseNamedTuple):
            return self._named(kind)
        return str(kind.name)

    def _named(self, kind: Any) -> str:
        """The name of its class, with a number if the same class has been seen with fields of other types."""
        made_by: type = kind.instance_class
        fields = dict(zip(kind.fields, map(self.text, kind.types), strict=True))
        module = made_by.__module__.removeprefix("gossamer.").replace(".", "/")
        name = whole = f"{module}.{made_by.__qualname__}"
        number = 1
        while self.tuples.setdefault(name, fields) != fields:
            number += 1
            name = f"{whole} {number}"
        return name
