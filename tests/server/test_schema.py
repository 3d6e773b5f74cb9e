"""The description of the API is true: schemathesis makes requests of it, and every answer is as described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from server.running import Running, running, small_index

schemathesis.serializer.alias("application/x-ndjson", "text/plain")


@pytest.fixture(scope="module")
def served() -> Iterator[Running]:
    with running({"main": small_index(40)}) as found:
        yield found


@pytest.fixture(scope="module")
def operations(served: Running) -> list[Any]:
    schema: Any = schemathesis.openapi.from_url(f"{served.url}/v1/openapi.json")
    found = [operation.ok() for operation in schema.get_all_operations()]
    # Under /v1/indexes/{name} are the same routes once more; a name made up is refused by all alike, so one is enough.
    return [each for each in found if "{name}" not in each.path or each.path.endswith("/search")]


def test_every_answer_is_as_described(operations: list[Any]) -> None:
    """Requests as they should be, and such as they should not be: none is a server's error, each answer is declared."""
    assert len(operations) == 33
    failures = []
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                _hold(operation, mode)
            except Unsatisfiable:  # nothing about it can be wrong
                assert mode is GenerationMode.NEGATIVE
            except BaseExceptionGroup as error:
                failures.append(str(error))
    assert not failures, "\n".join(failures)


def _hold(operation: Any, mode: GenerationMode) -> None:
    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=8, suppress_health_check=list(HealthCheck), database=None)
    def holds(case: Any) -> None:
        # A schema cannot say that a text must not be blank, or what a filter means.
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    holds()
