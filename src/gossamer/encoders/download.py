"""One file over HTTP, taken up again where it stopped."""

from __future__ import annotations

import http.client
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from gossamer.encoders.protocol import Progress

_SECONDS = 10
"""To connect, and between two pieces: a network that drops packets silently must not hang us for minutes."""

_PIECE = 1 << 16


class DownloadError(Exception):
    """The file could not be had; what has come so far is kept for the next try."""


def download(url: str, part: Path, size: int, progress: Progress | None = None) -> None:
    """Bring `part` to `size` bytes, asking only for those that are missing.

    A broken connection is tried again as long as each try brings something.
    """
    if _length(part) > size:
        part.unlink()
    while (have := _length(part)) < size:
        try:
            _append(url, part, have, size, progress)
            reason = "the connection was closed"
        except HTTPError as error:
            if error.code == 416:  # nothing comes after what we have, so it is no beginning of this file
                part.unlink(missing_ok=True)
            raise DownloadError(f"HTTP {error.code} {error.reason}") from error
        except URLError as error:
            reason = str(error.reason)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
        got = _length(part)
        if got < size and got <= have:
            raise DownloadError(f"{reason}, with {got:,} of {size:,} bytes here")


def _append(url: str, part: Path, have: int, size: int, progress: Progress | None) -> None:
    """One request for the bytes from `have` on; stops at `size` whatever the server sends."""
    request = Request(url, headers={"User-Agent": "gossamer", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urlopen(request, timeout=_SECONDS) as answer:
        if have and not (answer.headers.get("Content-Range") or "").startswith(f"bytes {have}-"):
            have = 0  # the server sends the whole file: begin again
        with part.open("ab" if have else "wb") as out:
            while have < size and (piece := answer.read(min(_PIECE, size - have))):
                out.write(piece)
                have += len(piece)
                if progress is not None:
                    progress(have, size)


def _length(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
