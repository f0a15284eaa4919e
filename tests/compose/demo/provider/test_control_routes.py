"""The control endpoints, for tests that run outside the process of the provider."""

import asyncio

import pytest
from httpx import AsyncClient, Response

from purser.compose.demo.provider import Provider

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


async def ask(http: AsyncClient, request_id: str = "hold-1") -> Response:
    return await http.post("/v1/chat/completions", json=CHAT, headers={"X-Client-Request-Id": request_id})


async def test_rules_and_faults_can_be_given_while_it_serves(http: AsyncClient) -> None:
    command = {"rules": [{"reply": {"content": "scripted"}}], "faults": [{"kind": "server_error"}]}
    assert (await http.post("/_control", json=command)).json() == {"rules": 1, "faults": 1}
    assert (await ask(http)).status_code == 500
    assert (await ask(http)).json()["choices"][0]["message"]["content"] == "scripted"


async def test_a_later_rule_goes_before_an_earlier_one_and_clear_forgets_both(http: AsyncClient) -> None:
    for text in ("first", "second"):
        await http.post("/_control", json={"rules": [{"reply": {"content": text}}]})
    assert (await ask(http)).json()["choices"][0]["message"]["content"] == "second"
    await http.post("/_control", json={"clear": True})
    assert (await ask(http)).json()["choices"][0]["message"]["content"].startswith("You said")


async def test_a_request_can_be_held_and_continued_from_outside(http: AsyncClient, provider: Provider) -> None:
    await http.post("/_control/hold", json={"match": {"request_id": "h1"}})
    asking = asyncio.create_task(ask(http, "h1-3"))
    async with asyncio.timeout(60):
        await provider.control.wait_held()
    assert (await http.get("/_control/waiting")).json() == [
        {"seq": 1, "model": "m", "recording": None, "agent": None, "request_id": "h1-3"}
    ]
    assert (await http.post("/_control/continue", json={"request_id": "other"})).json() == {"continued": 0}
    assert not asking.done()
    assert (await http.post("/_control/continue")).json() == {"continued": 1}
    assert (await asking).status_code == 200


async def test_the_log_of_requests_can_be_read(http: AsyncClient) -> None:
    total = (await ask(http)).json()["usage"]["total_tokens"]
    (served,) = (await http.get("/_control/served")).json()
    assert served["charged_tokens"] == total
    assert served["end"]["outcome"] == "answered"


@pytest.mark.parametrize(
    ("command", "field"),
    [
        ({"faults": [{"kind": "explode"}]}, "faults.0.kind"),
        ({"faults": [{"kind": "server_error", "after_chunks": 1}]}, "after_chunks"),
        ({"faults": [{"kind": "drop", "times": 0}]}, "faults.0.times"),
        ({"fault": []}, "fault"),
    ],
)
async def test_an_invalid_command_is_refused_by_field_and_changes_nothing(
    http: AsyncClient, command: dict[str, object], field: str
) -> None:
    answer = await http.post("/_control", json=command | {"rules": [{"reply": {"content": "changed"}}]})
    assert answer.status_code == 400
    assert field in answer.json()["error"]
    assert (await ask(http)).json()["choices"][0]["message"]["content"] != "changed"
