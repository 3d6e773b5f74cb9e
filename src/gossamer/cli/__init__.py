"""The command line. Each command is a function of the same name; `app` lists them all.

app           the list of commands                   command       what all commands share: --debug, errors, Ctrl-C
options       options that several commands take     screen        standard output and standard error
opening       opening an index and its encoder       formatting    passages, paths and counts as a terminal shows them
index         `gossamer index`                       ingest        how it adds records, batch by batch
maintenance   info, delete, compact, and the like    extensions    commands of other packages
demo          `gossamer demo`                        stdlib        its documents
"""


def main() -> None:
    """Entry point of `gossamer`."""
    import gc
    import sys

    gc.set_threshold(1_000_000)  # imports make many objects and no garbage: looking for it takes 0.1 s

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows another

    try:
        from gossamer.cli.app import app

        app(prog_name="gossamer")
    except KeyboardInterrupt:  # while modules are imported; a command handles its own
        print("stopped", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # what is left goes with the process: looking through it once more takes 0.15 s
