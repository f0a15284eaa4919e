"""What a decision is about, and what it would do: read together for the API and for pages."""

from collections.abc import Mapping
from dataclasses import dataclass

from purser.activities.postgres.purposes import Purpose
from purser.budget.approvals import ApprovalRequest, ApprovalState, Waiter
from purser.budget.decisions import Amount
from purser.budget.policies import BackpressureStep
from purser.budget.previews import Effect, PendingAsk, as_view, preview, suggested, without_delay
from purser.budget.scopes import Scope
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.services import Services

MOST_WAITERS = 20
"""Waiting calls that are looked at, oldest first: of the others nothing is shown."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """A request with the purposes of its calls and the budgets of their paths, as they are now."""

    request: ApprovalRequest
    purposes: Mapping[str, Purpose]
    """By the key of the waiter; empty for a caller who may not read tasks."""
    asks: tuple[PendingAsk, ...]
    """Empty once the request is closed."""
    steps: tuple[BackpressureStep, ...]
    """Of the scope that is short."""

    @property
    def without_delay(self) -> Amount:
        """The least grant that causes no delay."""
        return without_delay(self.request, self.steps)

    @property
    def suggested(self) -> Amount:
        """What a form offers first."""
        return suggested(self.request, self.steps)

    def effect(self, grant: Amount) -> Effect:
        """What a grant would do."""
        return preview(self.asks, self.request.scope, grant)


async def outlook(use: Services, caller: Principal, request: ApprovalRequest) -> Outlook:
    """Reads what a person needs to decide a request."""
    waiters = request.waiters[:MOST_WAITERS]
    known = await use.purposes.of(caller.tenant, [waiter.key for waiter in waiters])
    [budget] = await use.policies.budgets_of(caller.tenant, [request.scope], _task(waiters))
    asks = []
    if request.state is ApprovalState.PENDING:
        asks = [await _asking(use, caller.tenant, one, known.get(one.key)) for one in waiters if one.path]
    return Outlook(
        request=request,
        purposes=known if caller.may(Permission.READ_WORK) else {},
        asks=tuple(asks),
        steps=budget.policy.backpressure,
    )


async def _asking(use: Services, tenant: str, waiter: Waiter, purpose: Purpose | None) -> PendingAsk:
    path = [Scope.stored(name) for name in waiter.path]
    budgets = await use.policies.budgets_of(tenant, path, waiter.task_id or None)
    return PendingAsk(waiter.ask, purpose.least if purpose else waiter.ask, tuple(map(as_view, budgets)))


def _task(waiters: tuple[Waiter, ...]) -> str | None:
    return next((waiter.task_id for waiter in waiters if waiter.task_id), None)
