"""A server of its own process, to be killed: prints its address when it is ready. See test_stopping."""

from __future__ import annotations

import sys
import time
from typing import Any

from bag import encode
from gossamer import Index
from gossamer.errors import ClosedError
from gossamer.server.app import create_app
from gossamer.server.catalog import Catalog
from gossamer.server.run import Address, run


def slowly(texts: list[str]) -> Any:
    """Texts that begin with "slow" take half a second."""
    if texts[0].startswith("slow"):
        print("slow", flush=True)
        time.sleep(0.5)
    return encode(texts)


def main(path: str) -> None:
    index = Index.open(path, slowly)
    run(create_app(Catalog({"main": index})), Address(port=0), on_ready=lambda url: print(url, flush=True))
    try:
        print("open", len(index), flush=True)
    except ClosedError:
        print("closed", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
