"""Fixtures that several folders share."""

from __future__ import annotations

from hypothesis import settings

from cli.conftest import run
from kitchen import small

__all__ = ["run", "small"]

settings.register_profile("gossamer", deadline=None, derandomize=True)
settings.load_profile("gossamer")
