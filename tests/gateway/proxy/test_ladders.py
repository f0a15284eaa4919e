"""Ladders in the proxy: a call takes the steps that its ask reaches, and says so."""

from typing import Any

import httpx
import openai
import pytest

from purser.gateway.access.roles import Role
from tests.gateway.proxy.conftest import HELLO, Proxy

LADDER = [{"ratio": 0.5, "model": ["gpt-4o-mini"]}, {"ratio": 0.8, "output": 300, "compression": 0.5}]
"""The second step leaves the model to the first, and the messages alone."""


async def called(proxy: Proxy, cap: int, **headers: str) -> tuple[httpx.Headers, Any]:
    """The headers of an answer, and the reply."""
    client = await proxy.openai(purser_session="s1", **headers)
    raw = await client.chat.completions.with_raw_response.create(model="gpt-4o", messages=HELLO, max_tokens=cap)
    return raw.headers, raw.parse()


async def test_a_call_below_the_first_step_is_sent_as_it_is(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=10_000, ladder=LADDER)
    headers, reply = await called(proxy, 500)
    assert "purser-ladder" not in headers
    assert reply.model == "gpt-4o"


@pytest.mark.usefixtures("own_gateway")  # which counts its steps
async def test_a_call_takes_the_cheaper_model_and_less_output_and_says_so(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=1_000, ladder=LADDER)
    headers, reply = await called(proxy, 900)
    [served] = proxy.provider.served()
    assert (served.arrival.model, served.arrival.messages) == ("gpt-4o-mini", 1)
    assert (headers["purser-model"], headers["purser-max-tokens"], reply.model) == ("gpt-4o-mini", "300", "gpt-4o-mini")
    assert headers["purser-ladder"] == "step 2 of session:s1: model gpt-4o-mini, 300 output tokens"
    hold = (await admin.get(f"/v1/holds/{headers['purser-hold-id']}")).json()
    assert (hold["model"], hold["charged"]["tokens"]) == ("gpt-4o-mini", served.charged_tokens)
    shown = (await admin.get("/v1/budgets/session:s1")).json()
    assert (shown["tokens"]["spent"], shown["tokens"]["held"]) == (served.charged_tokens, 0)
    metrics = (await admin.get(proxy.gateway.metrics_url)).text
    assert 'purser_ladder_steps_total{kind="session",step="2"} 1.0' in metrics
    assert await proxy.gateway.pool.fetchval("select count(*) from holds") == 1, "an ask without the steps is undone"


async def test_a_call_that_would_be_refused_is_answered_on_a_step(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=400, ladder=[{"ratio": 0.9, "output": 0.3}])
    headers, reply = await called(proxy, 1_000)
    assert headers["purser-max-tokens"] == "300"
    assert reply.choices[0].finish_reason == "stop"


async def test_a_refusal_names_the_steps_that_did_not_help(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=100, ladder=[{"ratio": 0.5, "output": 300}])
    with pytest.raises(openai.APIStatusError) as refused:
        await called(proxy, 1_000)
    assert refused.value.response.headers["purser-ladder"] == "step 1 of session:s1: 300 output tokens"
    assert proxy.provider.served() == ()


@pytest.mark.parametrize(("headers", "cap"), [({}, "256"), ({"purser_min_output": "600"}, "600")])
async def test_a_step_leaves_the_output_that_a_call_needs(proxy: Proxy, headers: dict[str, str], cap: str) -> None:
    await proxy.limited(limit_tokens=2_000, ladder=[{"ratio": 0.1, "output": 5}])
    assert (await called(proxy, 900, **headers))[0]["purser-max-tokens"] == cap


async def test_the_same_idempotency_key_joins_the_call_on_its_steps(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=1_000, ladder=LADDER)
    hold = await called(proxy, 900, idempotency_key="order-1")
    again = await called(proxy, 900, idempotency_key="order-1")
    assert hold[1].model == again[1].model == "gpt-4o-mini"
    client = await proxy.openai(purser_session="s1", idempotency_key="order-1")
    with pytest.raises(openai.UnprocessableEntityError) as reused:
        await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=300)
    assert reused.value.code == "idempotency_mismatch", "the key is bound to the ask as it was made"
    await admin.aclose()


async def test_a_message_of_anthropic_takes_steps_too_streamed_and_not(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=1_000, mode="soft", ladder=LADDER)
    http = await proxy.gateway.client(Role.AGENT)
    http.headers.update({"Purser-Session": "s1", "Purser-Api-Base": proxy.provider.api_base})
    body = {"model": "gpt-4o", "messages": HELLO, "max_tokens": 900}
    for stream in (False, True):
        answer = await http.post("/anthropic/v1/messages", json=body | {"stream": stream})
        assert answer.status_code == 200, answer.text
        assert answer.headers["purser-ladder"] == "step 2 of session:s1: model gpt-4o-mini, 300 output tokens"
        assert '"model": "gpt-4o-mini"' in answer.text
    assert [served.arrival.model for served in proxy.provider.served()] == ["gpt-4o-mini"] * 2
