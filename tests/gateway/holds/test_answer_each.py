"""What `answer_each` counts, and whose an error is."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from purser.budget.errors import LedgerUnavailable
from purser.budget.holds import HoldState
from purser.gateway.access.roles import Principal, Role
from purser.gateway.errors import TooManyRequests
from purser.gateway.holds.batches import answer_each
from purser.gateway.http.limits import Limits
from purser.gateway.metrics.requests import Metrics
from purser.wire.holds import HoldBatchView, HoldRequestBody, HoldView

CALLER = Principal("ada", "key-1", "default", Role.AGENT, None)
HELD = HoldView(
    verdict="allow",
    hold_id="1",
    state=HoldState.HELD,
    tokens=1,
    nano_usd=0,
    expires_at=None,
    delay_ms=0,
    pressure="low",
    scopes=[],
)


ASKS = (("a", 1), ("a", 2), ("b", 1), ("a", 1))


class Batches:
    """Answers batches in which some asks fail."""

    def __init__(self, per_s: int = 0, **faults: Exception) -> None:
        self.metrics = Metrics()
        self.limits = Limits(per_s, 0)
        self._faults = faults

    async def answer(self, *keys: str) -> HoldBatchView:
        asks = [HoldRequestBody(key=key, path=["session:s1"], tokens=1) for key in keys]
        use: Any = SimpleNamespace(limits=self.limits, metrics=self.metrics)
        return await answer_each(asks, self._one, CALLER, use)

    async def _one(self, ask: HoldRequestBody) -> HoldView:
        if ask.key in self._faults:
            raise self._faults[ask.key]
        return HELD

    def unavailable(self) -> float:
        """How often the ledger was unavailable, as the metrics say."""
        return self.metrics.registry.get_sample_value("purser_ledger_unavailable_total", {"caller": "http"}) or 0


async def test_each_ask_counts_as_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000_000.25)
    batches = Batches(10)
    await batches.limits.request(CALLER)  # as authentication does
    await batches.answer(*"abcdef")
    await batches.limits.request(CALLER)
    with pytest.raises(TooManyRequests):
        await batches.answer(*"abcde")
    await batches.limits.request(CALLER)
    await batches.answer(*"abc")


async def test_an_ask_that_the_ledger_could_not_answer_is_retryable_in_its_place() -> None:
    batches = Batches(b=LedgerUnavailable("away"))
    first, second = (await batches.answer("a", "b")).holds
    assert (first.status, second.status) == (200, 503)
    assert second.problem is not None
    assert (second.problem.retryable, second.problem.type) == (True, "urn:purser:ledger-unavailable")
    assert batches.unavailable() == 1


async def test_a_batch_that_the_ledger_could_not_answer_at_all_fails_as_a_whole() -> None:
    batches = Batches(a=LedgerUnavailable("away"), b=LedgerUnavailable("away"))
    with pytest.raises(LedgerUnavailable):
        await batches.answer("a", "b")
    assert batches.unavailable() == 0, "counted where the request ends"


async def test_a_fault_says_nothing_of_what_was_sent() -> None:
    first, second = (await Batches(a=RuntimeError("secret")).answer("a", "b")).holds
    assert (first.status, second.status) == (500, 200)
    assert "secret" not in str(first.problem)


async def test_asks_of_one_key_take_turns_in_their_order_and_others_do_not_wait() -> None:
    begun: list[str] = []
    all_keys = asyncio.Event()

    async def answer(ask: HoldRequestBody) -> HoldView:
        begun.append(f"{ask.key}{ask.tokens}")
        if len(begun) == 2:
            all_keys.set()
        await all_keys.wait()
        return HELD

    asks = [HoldRequestBody(key=key, path=["session:s1"], tokens=tokens) for key, tokens in ASKS]
    use: Any = SimpleNamespace(limits=Limits(0, 0), metrics=Metrics())
    assert len((await answer_each(asks, answer, CALLER, use)).holds) == 4
    assert begun[:2] == ["a1", "b1"]
    assert [one for one in begun if one[0] == "a"] == ["a1", "a2", "a1"]
