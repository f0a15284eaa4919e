"""The API conforms to its OpenAPI document: requests that it allows, and some that it forbids, with all roles in turn.

No request ends in a fault of the gateway, every status and content type is one that the document names, and every
answer fits its schema.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import cycle
from typing import Any

import pytest
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
from tests.gateway.conftest import RunningGateway
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


# Hypothesis takes the dice of the gateway, which runs in this process, for its own strategies'.
@pytest.mark.proof
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.usefixtures("own_gateway")
async def test_the_document_is_true(gateway: RunningGateway, seed: int) -> None:
    known = await _something_of_everything(gateway)
    keys = {role: (await gateway.client(role, name=f"fuzz-{role}")).headers["Authorization"] for role in Role}
    await asyncio.to_thread(_fuzz, gateway.url, keys, known, seed)


async def _something_of_everything(gateway: RunningGateway) -> dict[str, Any]:
    """Ids of things that exist, by the name of the parameter."""
    admin = await gateway.client(Role.ADMIN, name="ada")
    await admin.put("/v1/budgets/session:s2", json={"limit_tokens": 10, "mode": "approval"})
    short = {"key": "short", "path": ["session:s2"], "tokens": 50, "nano_usd": 0}
    open_hold = {"key": "open", "path": ["session:s1", "task:t1"], "tokens": 50, "nano_usd": 0}
    agent = {"id": "a", "model": "priced-model", "instructions": "Answer."}
    task = {"session_id": "s1", "task_id": "t1", "input": "Go.", "agents": [agent]}
    message = {"role": "user", "content": "Hello."}
    approval, hold, _, _, key = [
        (await admin.post(path, json=body, timeout=60)).json()
        for path, body in (
            ("/v1/holds", short),
            ("/v1/holds", open_hold),
            ("/v1/tasks", task),
            ("/v1/sessions/s1/messages", {"messages": [message], "user_id": "u1"}),
            ("/v1/keys", {"name": "other", "role": "viewer"}),
        )
    ]
    return {
        "approval_id": approval["approval_id"],
        "hold_id": hold["hold_id"],
        "key_id": key["key_id"],
        "scope": "session:s1",
        "seq": 1,
        "session_id": "s1",
        "task_id": "t1",
        "user_id": "u1",
    }


def _fuzz(url: str, keys: Mapping[Role, str], known: dict[str, Any], seed: int) -> None:
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
