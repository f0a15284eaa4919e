"""`/v1/sessions/{session_id}/window/compare`: what each strategy keeps of a stored session, and what it costs."""

from typing import Self

from fastapi import APIRouter

from purser.budget.pricing.price_book import Price
from purser.budget.usage import Usage
from purser.context.errors import WindowTooSmall
from purser.context.postgres.sessions.windows import SessionWindow, WindowRequest
from purser.context.strategies import StrategyName
from purser.context.strategies.choice import Preference
from purser.gateway.access.auth import WorkReader
from purser.gateway.http.routing import Route
from purser.gateway.services import Use
from purser.gateway.sessions.context_routes import Budget
from purser.gateway.sessions.schemas import USUAL_MODEL, Model, SessionId, Thread
from purser.wire.base import View

router = APIRouter(route_class=Route, prefix="/v1/sessions/{session_id}", tags=["sessions"])


class ComparedView(View):
    """The window of one strategy, in figures."""

    strategy: StrategyName
    applied: StrategyName | None
    """The strategy that cut the window, which `auto` chooses; `null` if no window fits."""
    reason: str
    """Why it was chosen, or what does not fit."""
    tokens: int | None
    """Tokens of the window; `null` if none fits."""
    tokens_saved: int | None
    nano_usd: int | None
    """Price of its tokens as input; `null` if the price of the model is unknown."""
    verbatim: int
    """Number of messages shown whole; the following are numbers of messages too."""
    clipped: int
    cleared: int
    summarised: int
    dropped: int
    summary_version: int
    """Version of the stored summary that it shows; 0 if there is none."""
    summary_generated: bool
    """Whether a further summary was made for this window."""

    @classmethod
    def of(cls, strategy: StrategyName, shown: SessionWindow, price: Price | None) -> Self:
        window = shown.window
        in_part = len(window.stats.clipped) + len(window.stats.cleared)
        omitted = sum(last - first + 1 for first, last, _ in window.omitted)
        return cls(
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

    @classmethod
    def too_small(cls, strategy: StrategyName, error: WindowTooSmall) -> Self:
        return cls(
            strategy=strategy, applied=None, reason=str(error), tokens=None, tokens_saved=None, nano_usd=None,
            verbatim=0, clipped=0, cleared=0, summarised=0, dropped=0, summary_version=0, summary_generated=False,
        )  # fmt: skip


class ComparisonView(View):
    """The windows of all strategies for one stored session."""

    model: str
    budget: int
    windows: list[ComparedView]


@router.get("/window/compare")
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
            rows.append(ComparedView.of(strategy, found, price))
        except WindowTooSmall as error:
            rows.append(ComparedView.too_small(strategy, error))
    return ComparisonView(model=model, budget=budget, windows=rows)
