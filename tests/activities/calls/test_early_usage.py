"""Streams that break off after the provider has reported the usage of their beginning."""

import json
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from purser.activities.compression.summarizer import NotWritten, Summarizer
from purser.activities.models.provider import ModelProvider
from purser.activities.runtime.registry import all_activities
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import Pool
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.context.tokens import count_text
from purser.workflows.contract import ActivityName, AdmitInput, AgentRef, CallInput
from tests.support.budgets.prices import per_million
from tests.support.ledger import SESSION, Books
from tests.support.servers.raw_server import raw_server, replies
from tests.support.world import TENANT, World, named, world

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

WORDS = [f"word{number} " for number in range(60)]
CHUNKS: list[dict[str, Any]] = [
    {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}},
    *({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]} for word in WORDS),
]
BROKEN = replies(b"".join(b"data: " + json.dumps({"id": "1"} | chunk).encode() + b"\n\n" for chunk in CHUNKS))
"""Its first report says nine tokens of input and one of output."""


def charged(model: str) -> int:
    return 9 + count_text("".join(WORDS), model).tokens


async def run(world: World, name: ActivityName, request: Any) -> Any:
    """Runs an activity outside of any workflow."""
    [activity] = [one for one in all_activities(world.dependencies) if named(one) == name]
    return await ActivityEnvironment().run(activity, request)


async def test_a_call_is_charged_what_has_arrived(dsn: str) -> None:
    unreachable = await Client.connect("127.0.0.1:1", lazy=True)
    async with raw_server(BROKEN) as server, world(dsn, unreachable, "no-worker", background=False) as made:
        agent = made.agent("a", api_base=server.api_base)
        called = AgentRef(TENANT, await made.submit(agent), "a")
        admitted = await run(made, ActivityName.ADMIT, AdmitInput(called, "k1", 1))
        with pytest.raises(ApplicationError, match="incomplete_reply"):
            await run(made, ActivityName.CALL_MODEL, CallInput(called, "k1", admitted.hold_id, 1))
        assert await made.spent(f"task:{called.task_id}") == charged(agent["model"])
        assert (await audit(made.pool)).ok


async def test_a_summary_is_charged_what_has_arrived(pool: Pool) -> None:
    books, model = Books.on(pool), "openai/gpt-4o"
    async with raw_server(BROKEN) as server:
        summarizer = Summarizer(
            model, ModelProvider({}), books.ledger, PriceBook({}, {}, per_million("1", "2")), api_base=server.api_base
        )
        messages = [{"role": "user", "content": "Sum up."}]
        written = await summarizer.write(TENANT, "k", Path.parse(SESSION), messages, 500)
    assert written is NotWritten.NO_REPLY
    assert await books.balance() == {"spent": charged(model)}
    await books.check()
