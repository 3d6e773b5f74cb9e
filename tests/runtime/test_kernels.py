"""Python code must not call a subkernel: it has no wrapper for Python, and the interpreter would crash."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import gossamer
from gossamer.runtime.kernel_cache import KERNEL_ROOMS

_SOURCES = sorted([*Path(gossamer.__file__).parent.rglob("*.py"), *Path(__file__).parent.parent.rglob("*.py")])
_KERNELS = {"kernel", "ordered_kernel", "subkernel", "ordered_subkernel"}
_SUBKERNELS = {"subkernel", "ordered_subkernel"}


def _decorated(module: ast.Module, decorators: set[str]) -> set[str]:
    return {
        node.name
        for node in module.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id in decorators for mark in node.decorator_list)
    }


def _names_in_python(module: ast.Module) -> Iterator[str]:
    """Every name that code outside kernels uses, imports aside."""
    kernels = _decorated(module, _KERNELS)
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in kernels:
            continue
        names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
        yield from (name.id for name in names if isinstance(name.ctx, ast.Load))


def _visible(module: ast.Module, path: Path, homes: dict[str, set[str]]) -> set[str]:
    """The subkernels that this module has defined or imported."""
    found = set(homes[str(path)])
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gossamer."):
            home = Path(gossamer.__file__).parent.joinpath(*node.module.split(".")[1:]).with_suffix(".py")
            found |= {alias.asname or alias.name for alias in node.names if alias.name in homes.get(str(home), set())}
    return found


def test_python_calls_no_subkernel() -> None:
    modules = {path: ast.parse(path.read_text()) for path in _SOURCES}
    homes = {str(path): _decorated(module, _SUBKERNELS) for path, module in modules.items()}
    assert sum(map(len, homes.values())) > 50
    for path, module in modules.items():
        called = _visible(module, path, homes) & set(_names_in_python(module))
        assert not called, f"{path.name} calls {sorted(called)} from Python: make them kernels"


def test_every_kernel_is_in_a_room_whose_sources_are_hashed() -> None:
    """Else a cached kernel would not be compiled again when that room changes."""
    package = Path(gossamer.__file__).parent
    rooms = {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if _decorated(ast.parse(path.read_text()), _KERNELS)
    }
    assert rooms <= set(KERNEL_ROOMS)


def test_the_check_sees_a_call() -> None:
    module = ast.parse("@subkernel\ndef f(): ...\n@kernel\ndef g(): f()\ndef h(): f()\n")
    assert "f" in set(_names_in_python(module))
    assert _decorated(module, _SUBKERNELS) == {"f"}
