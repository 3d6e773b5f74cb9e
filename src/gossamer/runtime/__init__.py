"""How code runs: compiled kernels, threads, locks between threads, deadlines and Ctrl-C."""
