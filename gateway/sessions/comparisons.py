"""`/v1/sessions/{session_id}/window/compare`: what each strategy keeps of a stored session, and what it costs."""

from fastapi import APIRouter

from purser.budget.pricing.rates import Price
from purser.budget.usage import Usage
from purser.context.errors import WindowTooSmall
from purser.context.postgres.sessions.windows import SessionWindow, WindowRequest
from purser.context.strategies import StrategyName
from purser.context.strategies.choice import Preference
from purser.gateway.access.auth import WorkReader
from purser.gateway.http.routing import Route
from purser.gateway.services import Use
from purser.gateway.sessions.context_routes import Budget
from purser.gateway.sessions.reads import AT_A_TIME
from purser.gateway.sessions.schemas import Model, SessionId, Thread
from purser.wire.limits import USUAL_MODEL
from purser.wire.windows import ComparedView, ComparisonView

router = APIRouter(route_class=Route, prefix="/v1/sessions/{session_id}", tags=["sessions"])


@router.get("/window/compare", dependencies=[AT_A_TIME])
async def compare(
    caller: WorkReader,
    use: Use,
    session_id: SessionId,
    budget: Budget,
    model: Model = USUAL_MODEL,
    preference: Preference | None = None,
    thread: Thread = "",
) -> ComparisonView:
    """Compares all strategies on a stored session: what each keeps, summarizes and drops, and what its window costs."""
    await use.sessions.sessions.get(caller.tenant, session_id)
    price, rows = use.prices.find(model), []
    for strategy in StrategyName:
        wanted = WindowRequest(budget, model, strategy, preference=preference)
        try:
            found = await use.windows.window(caller.tenant, session_id, wanted, thread=thread)
            rows.append(_compared(strategy, found, price))
        except WindowTooSmall as error:
            rows.append(_too_small(strategy, error))
    return ComparisonView(model=model, budget=budget, windows=rows)


def _compared(strategy: StrategyName, shown: SessionWindow, price: Price | None) -> ComparedView:
    window = shown.window
    in_part = len(window.stats.clipped) + len(window.stats.cleared)
    omitted = sum(last - first + 1 for first, last, _ in window.omitted)
    return ComparedView(
        strategy=strategy,
        applied=window.strategy,
        reason=window.reason,
        tokens=window.tokens,
        tokens_saved=window.stats.tokens_saved,
        nano_usd=None if price is None else price.cost(Usage(input=window.tokens)),
        verbatim=sum(index is not None for index in window.indexes) - in_part,
        clipped=len(window.stats.clipped),
        cleared=len(window.stats.cleared),
        summarised=sum(last - first + 1 for first, last in window.summarised),
        dropped=len(window.dropped) + omitted,
        summary_version=window.version,
        summary_generated=window.stats.summary_generated,
    )


def _too_small(strategy: StrategyName, error: WindowTooSmall) -> ComparedView:
    return ComparedView(
        strategy=strategy, applied=None, reason=str(error), tokens=None, tokens_saved=None, nano_usd=None,
        verbatim=0, clipped=0, cleared=0, summarised=0, dropped=0, summary_version=0, summary_generated=False,
    )  # fmt: skip
