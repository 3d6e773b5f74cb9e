"""Ray: imported when it is first needed, started on this machine or joined; its failures in our words."""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from gossamer.errors import GossamerError, MissingExtraError, UnreachableError

T = TypeVar("T")

_log = logging.getLogger("gossamer.cluster")

LOOPBACK: Final = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"
"""The address of a Ray cluster on one machine. On Linux Ray takes 127.0.0.1 for the machine's address in its network,
and looks for the cluster there when a second program joins."""

PATIENCE: Final = 10.0
"""Seconds that a query waits for a shard before it goes on without it."""

RETRIED: Final = 60.0
"""Seconds that a change waits for a shard that is being restarted."""

_PAUSE: Final = 0.1

CONCURRENCY: Final = 8
"""Calls that one actor works on at a time."""


def ray() -> Any:
    """The module `ray`. Its reports of usage are off, unless the environment wants them: nothing of ours phones home.

    It is imported here and nowhere else: importing takes about a second.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns about a later version
    try:
        import ray as module
    except ImportError as error:
        raise MissingExtraError("A cluster", "ray") from error
    return module


def ray_data() -> Any:
    """The module `ray.data`, which needs pyarrow and pandas besides."""
    ray()
    try:
        import ray.data as module
    except ImportError as error:
        raise MissingExtraError("Reading datasets by Ray", "ray") from error
    return module


def start(address: str | None) -> bool:
    """Join the Ray cluster at `address`, or start one on this machine alone; returns whether one was started.

    A program that has joined one already goes on with that one.
    """
    module = ray()
    if module.is_initialized():
        return False
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:  # without the dashboard, which would be a second server
        options |= {"include_dashboard": False, "_node_ip_address": LOOPBACK}
    elif address.startswith("127."):
        options["_node_ip_address"] = address.partition(":")[0]
    try:
        module.init(address=address or "local", **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UnreachableError(f"there is no Ray cluster at {address or 'this machine'} ({error})") from error
    return address is None


def address() -> str:
    """Where the Ray cluster is that this program has joined."""
    found: str = ray().get_runtime_context().gcs_address
    return found


def create_actor(kind: type, name: str, namespace: str, *args: Any, spread: bool = False) -> Any:
    """The actor of this name, made where it is not there yet. Ray makes it again, anywhere, whenever it dies.

    It takes no share of a processor in Ray's books: how many shards a machine takes is said by its memory.
    """
    options: dict[str, Any] = {
        "name": name, "namespace": namespace, "lifetime": "detached", "get_if_exists": True, "max_restarts": -1,
        "max_concurrency": CONCURRENCY, "num_cpus": 0, "max_task_retries": 0,
    }  # fmt: skip
    if spread:
        options["scheduling_strategy"] = "SPREAD"
    return ray().remote(kind).options(**options).remote(*args)


def find_actor(name: str, namespace: str) -> Any | None:
    """The actor of this name; None where there is none."""
    try:
        return ray().get_actor(name, namespace)
    except ValueError:
        return None


def end_actor(handle: Any, method: str, patience: float = 30.0) -> None:
    """Let an actor close its files by a method, then end it for good."""
    module = ray()
    try:
        module.get(getattr(handle, method).remote(), timeout=patience)
    except Exception as error:  # what it had acknowledged is durable however it ends
        _log.info("an actor is ended without closing its files: %r", error)
    module.kill(handle, no_restart=True)


def result(ref: Any, timeout: float | None = None) -> Any:
    """What a call returned; its own error where it raised one. `is_absence` tells what else may be raised."""
    module = ray()
    try:
        return module.get(ref, timeout=timeout)
    except module.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, Exception):
            raise cause from None
        raise


def is_absence(error: BaseException) -> bool:
    """Whether an error says that an actor, or its node, is not there now; nothing is known of what it did."""
    exceptions = ray().exceptions
    gone = exceptions.RayActorError, exceptions.GetTimeoutError, exceptions.WorkerCrashedError
    return isinstance(error, (*gone, exceptions.NodeDiedError, exceptions.ObjectLostError))


def insisting(call: Callable[[], Any], what: str, patience: float = RETRIED) -> Any:
    """What a call returns once the actor is there, which Ray may be restarting. The call must bear being repeated."""
    until, pause = time.monotonic() + patience, _PAUSE
    while True:
        try:
            return result(call(), timeout=max(1.0, until - time.monotonic()))
        except Exception as error:
            if isinstance(error, GossamerError) or not is_absence(error):
                raise
            if time.monotonic() > until:
                raise UnreachableError(f"{what} did not come back within {patience:.0f} s: {error}") from error
        time.sleep(pause)
        pause = min(1.0, 2.0 * pause)


def insisting_on_all(calls: Sequence[tuple[str, Callable[[], Any]]], patience: float = RETRIED) -> list[Any]:
    """What several calls return, made side by side; each is repeated by itself where its actor is away."""
    refs = [call() for _, call in calls]
    found = []
    for (what, call), ref in zip(calls, refs, strict=True):
        try:
            found.append(result(ref, timeout=patience))
        except Exception as error:
            if isinstance(error, GossamerError) or not is_absence(error):
                raise
            found.append(insisting(call, what, patience))
    return found


def packed(method: str, arguments: Sequence[Any]) -> bytes:
    """A call of a shard in one piece; functions in it travel with their code."""
    try:
        return pickle.dumps((method, arguments), protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        found: bytes = ray().cloudpickle.dumps((method, arguments))
        return found


def answers_of(
    actors: Mapping[int, Sequence[Any]], calls: Mapping[int, bytes], patience: float = PATIENCE
) -> tuple[dict[int, Any], list[int]]:
    """What shards answer to packed calls, made side by side, and the shards that did not answer.

    `actors`: of each shard those that can answer, the one to ask first at the front.
    """
    module, until = ray(), time.monotonic() + patience
    refs = {shard: actors[shard][0].call.remote(call) for shard, call in calls.items()}
    try:
        replies = module.get(list(refs.values()), timeout=patience)
        return {shard: pickle.loads(reply) for shard, reply in zip(refs, replies, strict=True)}, []
    except Exception as error:  # look at each by itself
        if not isinstance(error, module.exceptions.RayError):
            raise
    found: dict[int, Any] = {}
    missing: list[int] = []
    for shard, ref in refs.items():
        for other in [ref, *actors[shard][1:]]:
            try:
                again = other if other is ref else other.call.remote(calls[shard])
                found[shard] = pickle.loads(result(again, timeout=max(0.01, until - time.monotonic())))
                break
            except Exception as error:
                if isinstance(error, GossamerError) or not is_absence(error):
                    raise
        else:
            missing.append(shard)
    return found, missing
