"""Details of an approval request: the purposes of its calls and the effect of a grant, for the API and pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from purser.activities.postgres.calls.purposes import Purpose
from purser.budget.approvals import ApprovalRequest, ApprovalState, Waiter
from purser.budget.gate import Amount
from purser.budget.policies.fields import BackpressureStep
from purser.budget.previews import Effect, PendingAsk, as_view, preview, suggested, without_delay
from purser.budget.reports.finish import Finish, finish
from purser.budget.scopes import Scope
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.services import Services

MAX_WAITERS = 20
"""Most waiting calls whose details are read, oldest first."""


@dataclass(frozen=True, slots=True)
class ApprovalDetails:
    """A request with the purposes of its calls and the current budgets of their paths."""

    request: ApprovalRequest
    purposes: Mapping[str, Purpose]
    """Purposes by the key of the waiter; empty if the caller may not read tasks."""
    asks: tuple[PendingAsk, ...]
    """The waiting calls; empty once the request is closed."""
    steps: tuple[BackpressureStep, ...]
    """Backpressure steps of the scope that is short."""
    finish: Finish | None = None
    """What the waiting tasks may still spend; `None`: unknown."""
    related: Sequence[ApprovalRequest] = ()
    """Other pending requests whose calls draw on the same scope."""

    @property
    def without_delay(self) -> Amount:
        """The smallest grant after which the scope that is short causes no delay; others of a path still may."""
        return without_delay(self.request, self.steps)

    @property
    def suggested(self) -> Amount:
        """The default grant of a form."""
        return suggested(self.request, self.steps)

    def effect(self, grant: Amount) -> Effect:
        """The effect of a grant."""
        return preview(self.asks, self.request.scope, grant)


async def approval_details(use: Services, caller: Principal, request: ApprovalRequest) -> ApprovalDetails:
    """Reads the details that an approver needs."""
    waiters = request.waiters[:MAX_WAITERS]
    known = await use.purposes.of(caller.tenant, waiters)
    [budget] = await use.policies.budgets_of(caller.tenant, [request.scope], _task(waiters))
    asks = []
    if request.state is ApprovalState.PENDING:
        asks = [await _asking(use, caller.tenant, one, known.get(one.key)) for one in waiters if one.path]
    is_pending = request.state is ApprovalState.PENDING
    tasks = sorted({waiter.task_id for waiter in request.waiters if waiter.task_id}) if is_pending else []
    return ApprovalDetails(
        request=request,
        finish=finish(await use.purposes.progress(caller.tenant, tasks[:MAX_WAITERS])) if tasks else None,
        related=await use.queue.related(caller.tenant, request, MAX_WAITERS) if is_pending else (),
        purposes=known if caller.may(Permission.READ_WORK) else {},
        asks=tuple(asks),
        steps=budget.policy.backpressure,
    )


async def _asking(use: Services, tenant: str, waiter: Waiter, purpose: Purpose | None) -> PendingAsk:
    path = [Scope.stored(name) for name in waiter.path]
    budgets = await use.policies.budgets_of(tenant, path, waiter.task_id or None)
    least = purpose.least if purpose else None
    return PendingAsk(waiter.ask, waiter.ask if least is None else least, tuple(map(as_view, budgets)))


def _task(waiters: tuple[Waiter, ...]) -> str | None:
    return next((waiter.task_id for waiter in waiters if waiter.task_id), None)
