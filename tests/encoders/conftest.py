"""The model hub is never asked by these tests: where it cannot be reached, it is asked for half a minute."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # huggingface_hub reads it once, when it is imported
