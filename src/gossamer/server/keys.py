"""API keys: random tokens, printed once and kept as salted hashes in a file.

A token is ``gsm_<id>_<secret>``. The secret has 256 random bits, so it cannot be guessed from its hash, however fast
the hash is: a salted SHA-256 is enough. A slow hash (scrypt) protects passwords that people choose; here it would only
let anyone keep the server busy by sending wrong keys.
"""

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, TypeAlias, get_args

from gossamer.errors import CorruptError, DiskError, ParameterError, UnknownIdError

Scope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""From narrow to wide: each allows all that those before it allow."""

_VERSION: Final = 1


@dataclass(frozen=True)
class Key:
    """What the file keeps of a key: enough to recognise its token, not enough to make it."""

    id: str
    scope: Scope
    note: str
    created: str
    salt: str
    hash: str

    def allows(self, scope: Scope) -> bool:
        """Whether this key allows `scope`."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


_NOBODY: Final = Key("", "read", "", "", "00" * 16, "00" * 32)
"""Compared with if no key has the id, so that an unknown id takes as long as a wrong secret."""


def new_key(scope: Scope, note: str = "") -> tuple[Key, str]:
    """A new key and its token, which is not kept."""
    if scope not in SCOPES:
        raise ParameterError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    id, secret, salt = secrets.token_hex(4), secrets.token_urlsafe(32), secrets.token_hex(16)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Key(id, scope, note, created, salt, _hash(salt, secret)), f"gsm_{id}_{secret}"


def find_key(keys: Iterable[Key], token: str) -> Key | None:
    """The key that `token` belongs to, or None; takes the same time for both."""
    mark, _, rest = token.partition("_")
    id, _, secret = rest.partition("_")
    named = next((key for key in keys if key.id == id), _NOBODY)
    right = hmac.compare_digest(_hash(named.salt, secret), named.hash)
    return named if right and mark == "gsm" and named is not _NOBODY else None


def _hash(salt: str, secret: str) -> str:
    return hashlib.sha256(bytes.fromhex(salt) + secret.encode("utf-8", "replace")).hexdigest()


# -- the file --------------------------------------------------------------------------------------


def read_keys(path: Path) -> list[Key]:
    """The keys of a file; raises `DiskError` if it cannot be read."""
    try:
        text = path.read_text()
    except OSError as error:
        raise DiskError(
            f"the key file {path} cannot be read ({error.strerror}): make one with gossamer keys"
        ) from error
    try:
        found: Any = json.loads(text)
        version, keys = found["version"], [Key(**each) for each in found["keys"]]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptError(f"{path} is not a key file: make one with gossamer keys new {path}") from error
    if version != _VERSION:
        raise CorruptError(f"{path} has version {version}, and {_VERSION} is known: upgrade Gossamer")
    if any(key.scope not in SCOPES for key in keys):
        raise CorruptError(f"{path} holds a scope that is none of {', '.join(SCOPES)}: repair it")
    return keys


def add_key(path: Path, scope: Scope, note: str = "") -> tuple[Key, str]:
    """Add a new key to a file, which is created if missing; returns the key and its token."""
    keys = read_keys(path) if path.exists() else []
    key, token = new_key(scope, note)
    _write(path, [*keys, key])
    return key, token


def remove_key(path: Path, id: str) -> Key:
    """Remove a key from a file: its token is not valid any more."""
    keys = read_keys(path)
    gone = next((key for key in keys if key.id == id), None)
    if gone is None:
        raise UnknownIdError(
            f"there is no key {id!r} in {path}, which holds {len(keys)}: see gossamer keys list {path}"
        )
    _write(path, [key for key in keys if key.id != id])
    return gone


def _write(path: Path, keys: list[Key]) -> None:
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    text = json.dumps({"version": _VERSION, "keys": [asdict(key) for key in keys]}, indent=2)
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise DiskError(f"the key file {path} cannot be written ({error.strerror}): choose another place") from error


class KeyRing:
    """The keys of a running server. The file is read again when it has changed, checked every `seconds`."""

    def __init__(self, path: Path, *, seconds: float = 1.0) -> None:
        self._path = path
        self._seconds = seconds
        self._lock = Lock()
        self._stamp = self._stamp_now()
        self._keys = read_keys(path)
        self._checked = time.monotonic()

    def find(self, token: str) -> Key | None:
        """The key of a token, or None."""
        self._reload()
        return find_key(self._keys, token)

    def __len__(self) -> int:
        return len(self._keys)

    def _reload(self) -> None:
        if time.monotonic() - self._checked < self._seconds:
            return
        with self._lock:
            self._checked = time.monotonic()
            stamp = self._stamp_now()
            if stamp == self._stamp:
                return
            try:
                self._keys = read_keys(self._path)
            except DiskError:
                self._keys = []  # a broken file allows nothing
            self._stamp = stamp

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
