"""What the proxy's ledger keeps of a provider's requests: enough to find each of them in the provider's usage file."""

import json

from purser.budget.postgres.reports.reconciling import reconcile
from purser.budget.reports.provider_usage import read_usage_file
from tests.gateway.proxy.conftest import HELLO, Proxy

IDS = "select usage ->> 'provider_request_id' from attempts order by hold_id"


async def test_each_call_is_found_in_the_provider_s_file_and_one_that_went_round_is_named(proxy: Proxy) -> None:
    client = await proxy.openai(purser_session="s1")
    await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    async for _ in await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50, stream=True):
        pass
    ids = [row[0] for row in await proxy.gateway.pool.fetch(IDS)]
    served = [one.charged_tokens for one in proxy.provider.served()]
    assert len({*ids, None}) == 3
    rows = [{"request_id": name, "model": "gpt-4o", "prompt_tokens": total, "completion_tokens": 0}
            for name, total in zip([*ids, "req_round"], [*served, 30], strict=True)]  # fmt: skip
    found = await reconcile(proxy.gateway.pool, ["default"], read_usage_file(json.dumps(rows)))
    assert [gap.request_id for gap in found.unguarded] == ["req_round"]
    assert (found.differing, found.provider_calls, found.captured_tokens) == ((), 3, sum(served))
