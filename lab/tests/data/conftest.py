"""Fixtures that several folders share."""

from __future__ import annotations

from hypothesis import settings

from kitchen import folder, small

__all__ = ["folder", "small"]

settings.register_profile("gossamer", deadline=None, derandomize=True)
settings.load_profile("gossamer")
