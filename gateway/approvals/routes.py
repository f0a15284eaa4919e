"""`/v1/approvals`: approval requests and decisions."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from purser.budget.approvals import ApprovalRequest, ApprovalState, DecisionRequest
from purser.budget.reports.forecast import Forecast
from purser.gateway.access.auth import Decider, Reader
from purser.gateway.approvals.details import ApprovalDetails, approval_details
from purser.gateway.approvals.views import effect_view, past_decision_view, purpose_view, waiter_view
from purser.gateway.http.pagination import IdCursor, PageSize
from purser.gateway.http.routing import Route
from purser.gateway.services import Use
from purser.wire.approvals import (
    ApprovalView,
    DecidedView,
    DecisionBody,
    EffectsView,
    FinishView,
    RelatedView,
    WholeApprovalView,
)
from purser.wire.base import AmountView, PageOf

router = APIRouter(route_class=Route, prefix="/v1/approvals", tags=["approvals"])


@router.get("", response_model=PageOf[ApprovalView])
async def list_approvals(
    caller: Reader,
    use: Use,
    state: Annotated[ApprovalState | None, Query()] = None,
    cursor: IdCursor = None,
    limit: PageSize = 100,
) -> dict[str, Any]:
    """Lists approval requests, newest first."""
    page = await use.approvals.list(caller.tenant, state, limit, cursor)
    forecasts = await use.burn.forecasts(caller.tenant, list({request.scope for request in page.requests}))
    return {
        "items": [_shown(request, forecasts[request.scope]) for request in page.requests],
        "cursor": page.cursor,
    }


@router.get("/{approval_id}", response_model=WholeApprovalView)
async def show(approval_id: str, caller: Reader, use: Use) -> dict[str, Any]:
    """Returns a request with what an approver needs to decide: the purpose of its calls and the effect of a grant.

    `decisions_needed` counts what the caller has granted on the scope already.
    """
    request = await use.approvals.get(caller.tenant, approval_id)
    details = await approval_details(use, caller, request)
    forecasts, now = await use.burn.of(caller.tenant, [details.budget]), datetime.now(UTC)
    purposes = [purpose_view(key, purpose) for key, purpose in details.purposes.items()]
    return _shown(request, forecasts[request.scope]) | {
        "decisions_needed": request.decisions_needed(now, details.alone),
        "purposes": purposes,
        "effects": _effects(details),
        "finish": details.finish and FinishView.model_validate(details.finish.to_json()),
        "related": [_related(one) for one in details.related],
        "link": use.links.url(caller.tenant, approval_id, request.deadline, now),
    }


@router.post("/{approval_id}/decision")
async def decide(approval_id: str, body: DecisionBody, caller: Decider, use: Use) -> DecidedView:
    """Approves (the shortage, or the given amounts) or denies a request in the name of the key."""
    wanted = DecisionRequest(approval_id, choice=body.decision, **body.model_dump(exclude={"decision"}))
    done = await use.approvals.record_decision(caller.tenant, wanted, caller.approver)
    use.wake()
    return DecidedView.model_validate(done)


READS = tuple(route for route in router.routes if isinstance(route, Route) and route.endpoint in (list_approvals, show))
"""The endpoints that `DirectRoutes` serves."""


def _related(request: ApprovalRequest) -> RelatedView:
    asked, scope = AmountView.model_validate(request.shortage), str(request.scope)
    return RelatedView(approval_id=request.approval_id, scope=scope, asked=asked, deadline=request.deadline)


def _effects(details: ApprovalDetails) -> EffectsView | None:
    if details.request.state is not ApprovalState.PENDING:
        return None
    return EffectsView(
        shortage=effect_view(details.effect(details.request.shortage)),
        without_delay=effect_view(details.effect(details.without_delay)),
    )


def _shown(request: ApprovalRequest, forecast: Forecast) -> dict[str, Any]:
    short = request.shortage if request.state is ApprovalState.PENDING else request.asked
    return {
        "approval_id": request.approval_id,
        "scope": str(request.scope),
        "window_start": request.window_start,
        "task_id": request.task_id,
        "state": request.state,
        "asked": short.to_json(),
        "given": request.given.to_json(),
        "limit_tokens": request.limit_tokens,
        "limit_nano_usd": request.limit_nano_usd,
        "tokens": {name: getattr(request, name).tokens for name in ("spent", "held", "granted")},
        "nano_usd": {name: getattr(request, name).nano_usd for name in ("spent", "held", "granted")},
        "decisions_needed": request.decisions_needed(datetime.now(UTC)),
        "rules": request.rules.to_json(),
        "created_at": request.created_at,
        "deadline": request.deadline,
        "decided_at": request.decided_at,
        "reminded_at": request.reminded_at,
        "escalated_at": request.escalated_at,
        "waiters": [waiter_view(waiter) for waiter in request.waiters],
        "decisions": [past_decision_view(decision) for decision in request.decisions],
        "forecast": forecast.to_json(),
    }
