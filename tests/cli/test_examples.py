"""The examples run."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="installed without the examples")


def test_quickstart() -> None:
    done = subprocess.run([sys.executable, EXAMPLES / "quickstart.py"], capture_output=True, text=True, check=True)
    assert "wolf: A pack of wolves hunts deer" in done.stdout
    assert "cake scores" in done.stdout


def test_command_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line, and `gossamer` in this process: a new one each time would take half a minute."""
    monkeypatch.chdir(tmp_path)
    outputs: list[str] = []
    for line in (EXAMPLES / "command_line.sh").read_text().partition("\nmkdir ")[2].splitlines():
        words = shlex.split(f"mkdir {line}" if not outputs else line, comments=True)
        if words[:1] == ["gossamer"]:
            outputs.append(run(*words[1:]).stdout)
        elif words:
            outputs.append("")
            subprocess.run(["sh", "-c", f"mkdir {line}" if len(outputs) == 1 else line], check=True)
    told = " ".join("".join(outputs).split())
    assert "5 added, 0 replaced, 0 unchanged" in told
    assert "0 added, 1 replaced, 3 unchanged, 1 pruned" in told
    assert '"documents": 3' in told
