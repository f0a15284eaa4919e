"""Several asks in one request."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

import structlog

from purser.budget.errors import InvalidRequest, LedgerUnavailable
from purser.gateway.access.roles import Principal
from purser.gateway.http.problems import fault, problem_of
from purser.gateway.services import Services
from purser.wire.holds import HoldBatchView, HoldOutcome, HoldRequestBody, HoldView
from purser.wire.problems import Problem

_log = structlog.get_logger(__name__)

Answer = Callable[[HoldRequestBody], Awaitable[HoldView]]


async def answer_each(
    asks: Sequence[HoldRequestBody], answer: Answer, caller: Principal, use: Services
) -> HoldBatchView:
    """Answers all asks at the same time, so that the ledger takes them together; an error of one stays its own.

    Asks of the same key take turns, so that the first one binds it.

    Raises:
        InvalidRequest: the key may not send so many requests in a second.
        TooManyRequests: it has sent too many.
        LedgerUnavailable: no ask was answered, because the ledger cannot be reached.
    """
    await _count(len(asks), caller, use)
    turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def in_turn(ask: HoldRequestBody) -> HoldView:
        async with turns[ask.key]:
            return await answer(ask)

    results = await asyncio.gather(*map(in_turn, asks), return_exceptions=True)
    away = [result for result in results if isinstance(result, LedgerUnavailable)]
    if len(away) == len(results):
        raise away[0]
    for _ in away:
        use.metrics.calls.ledger_unavailable("http")
    return HoldBatchView(holds=[_outcome(result) for result in results])


async def _count(asks: int, caller: Principal, use: Services) -> None:
    """Counts each ask as a request. The first one has been counted when the request arrived."""
    per_s = use.limits.per_s(caller)
    if 0 < per_s < asks:
        raise InvalidRequest(
            f"holds has {asks} asks, and each counts as a request, of which this key may send {per_s} in a second: "
            f"send at most {per_s} at once"
        )
    if asks > 1:
        await use.limits.request(caller, asks - 1)


def _outcome(result: HoldView | BaseException) -> HoldOutcome:
    if isinstance(result, HoldView):
        return HoldOutcome(status=200, hold=result)
    if not isinstance(result, Exception):
        raise result
    problem = problem_of(result)
    if problem is None:
        _log.error("an ask of a batch failed", error=type(result).__name__)
        problem = fault()
    return HoldOutcome(status=problem.status, problem=Problem(**problem.body()))
