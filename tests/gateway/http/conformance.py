"""Requests by an OpenAPI document, drawn by Schemathesis, and what is wrong about their answers.

Only the test that needs it imports this: Schemathesis takes a second to import, in each process of a run.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import cycle
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from purser.gateway.access.roles import Role
from purser.gateway.http.openapi import operations
from tests.support.runs.proof import sized

AnyCase = Case[Any]
Operation = APIOperation[Any, Any, Any, Any]
EXAMPLES = sized(1, 10)
"""Requests that the document allows, and as many that it forbids, for each endpoint: as admin and as another role."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
STREAM = "/v1/events"
"""Answers for as long as the client listens: looked at up to its headers."""
WAITS_FOR_A_WORKER = "/v1/sessions/{session_id}/compress"
"""Of a session that exists; there is no worker here."""


def fuzz(url: str, keys: Mapping[Role, str], known: dict[str, Any], seed: int) -> None:
    """Fails if an answer contradicts the document.

    Args:
        keys: The `Authorization` of each role.
        known: Ids of things that exist, by the name of the parameter.
    """
    document = requests.get(f"{url}/openapi.json", timeout=60).json()
    for _, _, operation in operations(document):
        del operation["security"]  # else a wrong key is one of the ways to be wrong, and this sends a right one
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=url)
    others = cycle(sorted(keys.keys() - {Role.ADMIN}))
    found = [
        f"{operation.label}: {failure}"
        for operation in _operations(schema)
        for failure in _failures(operation, url, keys, others, known, seed)
    ]
    assert not found, "\n\n".join(found)


def _operations(schema: Any) -> list[Operation]:
    return [result.ok() for result in schema.get_all_operations()]


def _failures(
    operation: Operation, url: str, keys: Mapping[Role, str], others: Iterator[Role], known: dict[str, Any], seed: int
) -> Iterator[str]:
    """What an endpoint answers to requests that are right, also about things that exist, and to ones that are not."""
    right, wrong = (operation.as_strategy(generation_mode=mode) for mode in GenerationMode)

    def about_known(case: AnyCase) -> AnyCase:
        if case.path != WAITS_FOR_A_WORKER:
            case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
        return case

    cases = [(st.one_of(right, right.map(about_known)), CHECKS), (wrong, [*CHECKS, negative_data_rejection])]
    for strategy, checks in cases:
        drawn = [(case, role) for case in _drawn(strategy, seed) for role in (Role.ADMIN, next(others))]
        for case, role in drawn:
            headers = {"Authorization": keys[role]}
            try:
                if case.path == STREAM:
                    _look_at_the_stream(case, url, headers)
                else:
                    case.call_and_validate(headers=headers, checks=checks, timeout=30)
            except (Exception, BaseExceptionGroup) as failure:
                yield f"as {role}: {failure}"


def _drawn(strategy: st.SearchStrategy[AnyCase], seed: int) -> list[AnyCase]:
    """Requests, without what hypothesis does about failures: answers depend on what was sent before."""
    drawn: list[AnyCase] = []

    @seeded(seed)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def draw(case: AnyCase) -> None:
        drawn.append(case)

    with suppress(Unsatisfiable):  # nothing can be wrong about a request without a parameter
        draw()
    return drawn


def _look_at_the_stream(case: AnyCase, url: str, headers: dict[str, str]) -> None:
    request = case.as_transport_kwargs(base_url=url, headers=headers)
    with requests.request(**request, stream=True, timeout=30) as answer:
        expected = "text/event-stream" if answer.ok else "application/problem+json"
        assert answer.status_code < 500
        assert answer.headers["content-type"].startswith(expected)
