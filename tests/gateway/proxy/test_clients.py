"""Many clients on one budget, and LiteLLM's router before the proxy: no overspending, no repeated refusal."""

import asyncio
from typing import Any

import openai
import pytest

from purser.budget.postgres.audit.audit import audit
from tests.gateway.proxy.conftest import HELLO, Proxy

CALLERS = 50
LIMIT, CAP = 600, 50


async def test_many_clients_at_once_overspend_nothing(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=LIMIT, mode="hard")
    client = (await proxy.openai(purser_session="s1", prefer="wait=0")).with_options(max_retries=0)

    async def call() -> int:
        try:
            await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=CAP)
        except openai.APIStatusError as refused:
            return refused.status_code
        return 200

    answers = await asyncio.gather(*(call() for _ in range(CALLERS)))
    served = sum(one.charged_tokens for one in proxy.provider.served())
    assert {200} < set(answers) <= {200, 402, 429}
    assert answers.count(200) == len(proxy.provider.served())
    assert (served, 0) == await proxy.spent()
    assert served <= LIMIT
    assert (await audit(proxy.gateway.pool)).ok


@pytest.mark.parametrize(
    ("policy", "named", "requests"),
    [
        ({"limit_tokens": 10, "mode": "hard"}, "may spend 10 tokens", 1),
        ({"limit_tokens": 10, "mode": "approval"}, "approvals", 1),
        # The router repeats 403 as often as it is told to, whatever the answer says.
        ({"frozen": True}, "session:s1", 3),
    ],
)
async def test_the_router_of_litellm_asks_once_for_what_is_refused_and_shows_why(
    proxy: Proxy, policy: dict[str, Any], named: str, requests: int
) -> None:
    from litellm import Router  # takes seconds to import

    await proxy.limited(**policy)
    client = await proxy.openai(purser_session="s1")
    params = {"model": "openai/gpt-4o", "api_base": str(client.base_url), "api_key": client.api_key}
    router = Router([{"model_name": "chat", "litellm_params": params}], num_retries=2)
    with pytest.raises(Exception, match=named):
        await router.acompletion("chat", HELLO, max_tokens=CAP, client=client.with_options(max_retries=0))
    assert proxy.requests == requests
    assert proxy.provider.served() == ()


async def test_the_router_of_litellm_is_answered_and_charged(proxy: Proxy) -> None:
    from litellm import Router  # takes seconds to import

    await proxy.limited(limit_tokens=5_000, mode="hard")
    client = await proxy.openai(purser_session="s1")
    params = {"model": "openai/gpt-4o", "api_base": str(client.base_url), "api_key": client.api_key}
    router = Router([{"model_name": "chat", "litellm_params": params}], num_retries=2)
    reply = await router.acompletion("chat", HELLO, max_tokens=CAP, client=client)
    [served] = proxy.provider.served()
    assert reply.choices[0].message.content
    assert await proxy.spent() == (served.charged_tokens, 0)
