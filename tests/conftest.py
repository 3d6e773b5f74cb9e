"""Settings shared by all tests."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

# Before NumPy is loaded, here and in processes that tests start. The threads of OpenBLAS wait in a loop, and with a
# worker for each core that costs: tests of renewals and whitening took 34 s of CPU with two threads, 24 s with one.
# Tests of its threads ask for them with `threadpool_limits`.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A job that a shell starts in the background inherits an ignored Ctrl-C; tests of Ctrl-C need the usual handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Compiling a kernel inside an example must not count against it, and CI must not depend on luck.
settings.register_profile("gossamer", deadline=None, derandomize=True)
settings.load_profile("gossamer")
