"""Gossamer as a part of other programs: each module needs an extra of its own, and is imported only when asked for."""
