"""What was opened before a fork belongs to the parent."""

from __future__ import annotations

import os

import pytest

from gossamer.errors import ForkedError
from gossamer.runtime.process import OpenedIn


def test_the_process_that_opened_it() -> None:
    opened = OpenedIn()
    opened.check()
    assert opened.is_current()


def test_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = OpenedIn()
    monkeypatch.setattr(os, "getpid", lambda: opened.id + 1)
    assert not opened.is_current()
    with pytest.raises(ForkedError, match=f"opened in process {opened.id} and is used in its child {opened.id + 1}"):
        opened.check()
