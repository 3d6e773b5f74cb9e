"""The README's code runs and prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from gossamer.encoders import load_encoder
from gossamer.errors import MissingExtraError, ModelUnavailableError

README = (Path(__file__).parents[1] / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n+```\n(.*?)```", README, re.DOTALL)


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.model
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example(code: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(code.strip().splitlines()) <= 15
    if "Index.create" in code:
        try:
            load_encoder("minilm").encode(["a word"])
        except (ModelUnavailableError, MissingExtraError) as error:
            pytest.skip(f"minilm is not to be had here: {error}")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == output
