"""Details of an approval request: the purposes of its calls and the effect of a grant, for the API and pages."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from purser.activities.postgres.calls.purposes import Purpose
from purser.budget.approval_rules import Outcome
from purser.budget.approvals import ApprovalRequest, ApprovalState, Waiter
from purser.budget.gate import NOTHING, Amount
from purser.budget.policies.fields import BackpressureStep
from purser.budget.previews import Effect, PendingAsk, as_view, preview, suggested, without_delay
from purser.budget.reports.finish import Finish, finish
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.services import Services

MAX_WAITERS = 20
"""Most waiting calls whose purposes are read, oldest first; the effect of a grant covers all."""


@dataclass(frozen=True, slots=True)
class ApprovalDetails:
    """A request with the purposes of its calls and the current budgets of their paths."""

    request: ApprovalRequest
    budget: BudgetView
    """The budget of the scope that is short, as it applies to all tasks."""
    purposes: Mapping[str, Purpose]
    """Purposes by the key of the waiter; empty if the caller may not read tasks."""
    asks: tuple[PendingAsk, ...]
    """The waiting calls; empty once the request is closed."""
    steps: tuple[BackpressureStep, ...]
    """Backpressure steps of the scope that is short."""
    alone: Amount = NOTHING
    """What the caller has granted on the scope in this window without a second person."""
    at_deadline: Outcome | None = None
    """How the request ends if no one decides; `None` once it is closed."""
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
        return suggested(self.request, self.steps, self.alone)

    def needs_two(self, grant: Amount) -> bool:
        """Whether the caller cannot make a grant without a second person."""
        return self.request.needs_two(grant, self.alone)

    def effect(self, grant: Amount) -> Effect:
        """The effect of a grant."""
        return preview(self.asks, self.request.scope, grant)


async def approval_details(use: Services, caller: Principal, request: ApprovalRequest) -> ApprovalDetails:
    """Reads the details that an approver needs."""
    may_read = caller.may(Permission.READ_WORK)
    is_pending = request.state is ApprovalState.PENDING
    asking = [waiter for waiter in request.waiters if waiter.path] if is_pending else []
    least = await use.purposes.least(caller.tenant, asking) if asking else {}
    short, own = (request.scope, None), (request.scope, _task(request.waiters))
    budgets = await _budgets(use, caller.tenant, [short, own, *(each for one in asking for each in _drawn_on(one))])
    alone, at_deadline = NOTHING, None
    if is_pending:
        alone = await use.approvals.granted_alone(caller.tenant, request.approval_id, caller.approver.name)
        at_deadline = await use.approvals.at_deadline(caller.tenant, request)
    tasks = sorted({waiter.task_id for waiter in request.waiters if waiter.task_id}) if is_pending else []
    return ApprovalDetails(
        request=request,
        budget=budgets[short],
        alone=alone,
        at_deadline=at_deadline,
        finish=finish(await use.purposes.progress(caller.tenant, tasks)) if tasks else None,
        related=await use.queue.related(caller.tenant, request, MAX_WAITERS) if is_pending else (),
        purposes=await use.purposes.of(caller.tenant, request.waiters[:MAX_WAITERS]) if may_read else {},
        asks=tuple(
            PendingAsk(one.ask, least.get(one.key, one.ask), tuple(as_view(budgets[each]) for each in _drawn_on(one)))
            for one in asking
        ),
        steps=budgets[own].policy.backpressure,
    )


_Applied: TypeAlias = tuple[Scope, str | None]
"""A scope, and the task to whose calls its budget applies; `None`: to all."""


async def _budgets(use: Services, tenant: str, wanted: Iterable[_Applied]) -> dict[_Applied, BudgetView]:
    """Reads budgets, those of one task together."""
    scopes: defaultdict[str | None, list[Scope]] = defaultdict(list)
    for scope, task_id in dict.fromkeys(wanted):
        scopes[task_id].append(scope)
    return {
        (budget.scope, task_id): budget
        for task_id, of_task in scopes.items()
        for budget in await use.policies.budgets_of(tenant, of_task, task_id)
    }


def _drawn_on(waiter: Waiter) -> list[_Applied]:
    return [(Scope.stored(name), waiter.task_id or None) for name in waiter.path]


def _task(waiters: tuple[Waiter, ...]) -> str | None:
    return next((waiter.task_id for waiter in waiters if waiter.task_id), None)
