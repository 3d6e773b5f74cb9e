"""How code runs: compiled kernels, threads, locks between threads, deadlines, Ctrl-C and forks."""
