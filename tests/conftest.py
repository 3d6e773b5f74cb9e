"""Settings shared by all tests."""

from __future__ import annotations

from hypothesis import settings

# Compiling a kernel inside an example must not count against it, and CI must not depend on luck.
settings.register_profile("gossamer", deadline=None, derandomize=True)
settings.load_profile("gossamer")
