"""Research on Gossamer: the paper's experiments, evaluation of defaults, and benchmarks against other systems."""
