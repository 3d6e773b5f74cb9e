"""Attacks on an index: kills, power cuts, Ctrl-C, failing system calls and allocations, damaged and crafted files.

    python -m torture             everything, at the size that docs/reliability.md reports
    python -m torture flips 200   one attack, so many times

Each attack is a function `attack(count, seed, folder)` that returns an `Outcome`, and what it found wrong as sentences.
Run from the folder `tests`; the test suite runs each of them a few times.
"""
