"""`python -m gossamer` is `gossamer`."""

from gossamer.cli import main

if __name__ == "__main__":
    main()
