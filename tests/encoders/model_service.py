"""A server that speaks the embedding protocols of OpenAI and Ollama, and can be busy, slow to allow, or wrong."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], Any]
"""Status, headers, and the body as JSON."""


class ModelService(ThreadingHTTPServer):
    """Gives each text the vector of its vowel counts; keeps what it was asked, and when."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.times: list[float] = []
        self.answers: list[Answer] = []
        """Given before any vectors, one to each request."""
        self.most = 1_000
        """Texts in a request; more are refused with 413."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


def vector(text: str, dim: int = 5) -> list[float]:
    return [float(text.count(vowel)) for vowel in "aeiou"][:dim]


class _Handler(BaseHTTPRequestHandler):
    server: ModelService

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, self.headers.get("Authorization")))
        self.server.times.append(time.monotonic())
        if self.server.answers:
            self._send(*self.server.answers.pop(0))
        elif len(body["input"]) > self.server.most:
            self._send(413, {}, {"error": {"message": "too many inputs"}})
        else:
            vectors = [vector(text, body.get("dimensions", 5)) for text in body["input"]]
            rows = [{"index": row, "embedding": each} for row, each in enumerate(vectors)]
            self._send(200, {}, {"embeddings": vectors} if self.path == "/api/embed" else {"data": rows[::-1]})

    def _send(self, status: int, headers: dict[str, str], body: Any) -> None:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(sent))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None: ...
