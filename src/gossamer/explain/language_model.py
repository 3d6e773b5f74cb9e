"""A language model that names concepts: "openai:<model>" or "ollama:<model>" → a labeller.

openai   any server that speaks OpenAI's protocol: POST $OPENAI_BASE_URL/chat/completions, with the key in
         $OPENAI_API_KEY where it wants one
ollama   POST $OLLAMA_HOST/api/chat, on this machine unless the variable says otherwise

One concept is one call: its terms, the beginnings of a few documents, and the labels of the concepts above, beside and
below it are sent, nothing else. Calls are made in the background, and no more than a limited number, none after three
failures in a row: the label of a concept is then its own terms. Keys are read when a call is made, and neither stored
nor logged.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from gossamer.errors import ParameterError, ServiceError
from gossamer.explain.naming import Labeller
from gossamer.plain_text import one_line
from gossamer.results import LabelRequest

_log = logging.getLogger("gossamer.explain")

CALLS: Final = 1000
"""Calls that a labeller makes, at most."""
SECONDS: Final = 30.0
"""The longest wait for one answer."""
_FAILURES: Final = 3
"""Failures in a row after which no more calls are made."""

_TASK: Final = (
    "You name groups of texts for a table of contents. Answer with the name alone: two to five words, in the language "
    "of the texts, no quotes, no full stop. Be specific: the name must tell this group from others beside it."
)


def as_labeller(labeller: Labeller | str | None) -> Labeller | None:
    """A labeller of one's own, or the one that a name such as "openai:gpt-4o-mini" or "ollama:llama3.2" stands for."""
    if labeller is None or callable(labeller):
        return labeller
    kind, _, model = labeller.partition(":") if isinstance(labeller, str) else ("", "", "")
    if kind not in ("openai", "ollama") or not model:
        raise ParameterError(f'labeller must be "openai:<model>", "ollama:<model>" or a callable, got {labeller!r}')
    return LanguageModel(kind, model)


@dataclass
class LanguageModel:
    """Asks a server for the name of each concept. Safe for use from many threads."""

    kind: str
    model: str
    calls: int = CALLS
    """Calls that are left."""
    _failures: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """By which the same model is known again: names that it gave are kept."""
        return f"{self.kind}:{self.model}"

    def __call__(self, request: LabelRequest) -> str:
        """The name of a concept, or the suggestion where no more calls are made."""
        with self._lock:
            if self.calls <= 0 or self._failures >= _FAILURES:
                return request.suggestion
            self.calls -= 1
        try:
            answer = self._answer(prompt(request))
        except BaseException:
            with self._lock:
                self._failures += 1
                if self._failures == _FAILURES:
                    _log.warning("%s:%s failed %d times: concepts keep their terms", self.kind, self.model, _FAILURES)
            raise
        with self._lock:
            self._failures = 0
        return one_line(answer).strip(" \"'“”.")

    def _answer(self, text: str) -> str:
        messages = [{"role": "system", "content": _TASK}, {"role": "user", "content": text}]
        if self.kind == "ollama":
            host = os.environ.get("OLLAMA_HOST") or "127.0.0.1:11434"
            url = host if "://" in host else f"http://{host}"
            body = {"model": self.model, "messages": messages, "stream": False, "options": {"temperature": 0}}
            found = _post(f"{url.rstrip('/')}/api/chat", body, {})
            return str(found["message"]["content"])
        url = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        key = os.environ.get("OPENAI_API_KEY")
        body = {"model": self.model, "messages": messages, "temperature": 0}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        found = _post(f"{url.rstrip('/')}/chat/completions", body, headers)
        return str(found["choices"][0]["message"]["content"])


def prompt(request: LabelRequest) -> str:
    """What is sent of a concept."""
    lines = [f"Terms: {', '.join(request.terms)}"] if request.terms else []
    if request.parent:
        lines.append(f"It is part of: {request.parent}")
    if request.siblings:
        lines.append(f"Beside it are: {'; '.join(request.siblings)}")
    if request.parts:
        lines.append(f"Its parts: {'; '.join(request.parts)}")
    lines += ["Texts:", *(f"- {text}" for text in request.exemplars), f"The group has {request.size} texts. Its name:"]
    return "\n".join(lines)


def _post(url: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
    if not url.startswith(("http://", "https://")):
        raise ParameterError(f"the address of a language model begins with http:// or https://, got {url!r}")
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    try:
        with urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)
    except HTTPError as error:
        raise ServiceError(f"{url} answered {error.code} {error.reason}") from None  # its request holds the key
