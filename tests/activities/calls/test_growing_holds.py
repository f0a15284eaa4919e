"""The hold of a call whose reply streams in, on a real ledger and with a real stream."""

import json
from typing import Any

import pytest

from purser.activities.calls.attempts import Attempts
from purser.activities.calls.growing_holds import GrowingHold
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from purser.activities.postgres.calls.calls import Call
from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool
from purser.budget.pricing.price_book import PriceBook
from purser.context.tokens.calibration import Calibration
from purser.context.windows.plans import TextRef, View, WindowPlan
from purser.workflows.contract import AgentRef
from tests.support.ledger import SESSION, TENANT, Books
from tests.support.servers.raw_server import raw_server, replies

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

MODEL, PROMPT, OUTPUT, CAP = "gpt-4o", 20, 80, 1_000
NO_PRICES = PriceBook({}, {}, None)


async def received(pool: Pool, *deltas: dict[str, Any]) -> PartialReply:
    """The reply of these deltas under a hold that may not grow."""
    books = Books.on(pool)
    await books.budget(SESSION[0], limit_tokens=PROMPT + OUTPUT, mode="hard")
    call = Call(
        agent=AgentRef(TENANT, "t1", "a"), key="k", turn=1, model=MODEL,
        plan=WindowPlan(0, 0, View(""), (), TextRef(0, 0), View("")),
        output_cap=CAP, ask=Amount(PROMPT + OUTPUT), least=Amount(PROMPT + OUTPUT), learned_output=OUTPUT,
    )  # fmt: skip
    hold = GrowingHold(books.ledger, NO_PRICES, call, Calibration())
    hold_id = await books.hold("k", PROMPT + OUTPUT)
    attempt = await Attempts(books.ledger, NO_PRICES).start(TENANT, MODEL, hold_id, call.ask, CAP, most=hold.most(CAP))
    choices: list[dict[str, Any]] = [*({"delta": delta} for delta in deltas), {"delta": {}, "finish_reason": "stop"}]
    chunks = [{"id": "1", "choices": [{"index": 0} | choice]} for choice in choices]
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    partial = PartialReply()
    async with raw_server(replies(body)) as server:
        asked = ModelRequest(MODEL, [{"role": "user", "content": "Hello"}], (), CAP, hold_id, server.api_base)
        await ModelProvider({}).complete(asked, partial, covers=lambda so_far: hold.covers(so_far, attempt))
    return partial


@pytest.mark.parametrize("name", ["content", "reasoning_content", "reasoning"])
async def test_a_reply_is_cut_before_it_exceeds_its_hold_while_it_reasons_too(pool: Pool, name: str) -> None:
    partial = await received(pool, *({name: f"word{number} "} for number in range(200)))
    assert partial.was_cut
    assert 0 < partial.charge(PROMPT, MODEL).output <= OUTPUT


async def test_halves_of_a_surrogate_pair_in_two_pieces_break_nothing_off(pool: Pool) -> None:
    partial = await received(pool, {"content": "ok \ud83d"}, {"content": "\ude00"})
    assert (partial.message().content, partial.was_cut) == ("ok \U0001f600", False)
