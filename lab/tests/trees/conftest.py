"""Settings of Hypothesis."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("gossamer", deadline=None, derandomize=True)
settings.load_profile("gossamer")
