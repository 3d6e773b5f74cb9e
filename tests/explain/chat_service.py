"""A local server that answers every chat with a name, by the protocols of OpenAI and Ollama."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any


class Server(ThreadingHTTPServer):
    """Answers every chat with a name; keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.failing = False
        self.answer = ' "Baking bread".\n'
        self.silence = Lock()
        """No answer is given while it is held."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, self.headers.get("Authorization")))
        if self.server.failing:
            self.send_error(500)
            return
        with self.server.silence:
            pass
        message = {"role": "assistant", "content": self.server.answer}
        found = {"message": message} if self.path == "/api/chat" else {"choices": [{"message": message}]}
        sent = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None: ...
