"""`/v1/holds`: hold, start attempts, settle, release, extend. A verdict is always 200."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from fastapi import APIRouter

from purser.budget.gate import Amount, GateAnswer, Verdict
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState
from purser.budget.labels import tags_of, with_tags_of_key
from purser.budget.postgres.connections.pools import Connection
from purser.budget.refusals import Refusal
from purser.budget.scopes import Kind, Path
from purser.budget.usage import normalize
from purser.gateway.access.auth import Spender, WorkReader, check_tenant
from purser.gateway.access.roles import Principal
from purser.gateway.holds.batches import answer_each
from purser.gateway.holds.views import Shown, reached_steps, released, scope_verdicts, settlement, stored_hold
from purser.gateway.holds.waiting import ask_gate
from purser.gateway.http.idempotency import OnceOnly
from purser.gateway.http.routing import Route
from purser.gateway.services import Services, Use
from purser.wire.base import RefusalView
from purser.wire.holds import (
    AttemptBody,
    ExtendBody,
    HoldBatchBody,
    HoldBatchView,
    HoldRequestBody,
    HoldView,
    ReleaseView,
    SettleBody,
    SettlementView,
    StepView,
    StoredHoldView,
    WithdrawalView,
    WithdrawBody,
)

router = APIRouter(route_class=Route, prefix="/v1/holds", tags=["holds"])

STEP_REMEDY = "The addition does not fit: try again later, or end this hold and hold again under another key."


@router.post("", response_model=HoldView, response_model_exclude_unset=True)
async def ask(body: HoldRequestBody, caller: Spender, use: Use) -> Shown:
    """Holds tokens and money on every scope of the path, or on none.

    On `wait` and `ask`, send the same body again after `retry_after_ms` or once the approval is decided. With `start`,
    an admitted hold starts attempt 1 in the same transaction, so that a call takes two requests; sent again, it has
    started once. If the hold or its attempt has ended meanwhile, the same body with `start` is a conflict.
    """
    stated = _tagged(Path.parse(body.path), body.tags)
    check_tenant(caller, *stated.scopes)
    tagged = _tagged(stated, with_tags_of_key(body.tags, caller.tags)) if caller.tags else stated
    path = await use.payers.complete(caller.tenant, tagged)
    least_tokens = body.min_tokens or body.tokens
    quote = use.pricing.quote(body.model, body.tokens, least_tokens, body.nano_usd)
    request = HoldRequest(
        key=body.key,
        path=path,
        ask=quote.full,
        least=quote.least,
        model=quote.model,
        lease_ms=body.lease_ms,
        stated=stated,
        priced=quote.priced,
        derived=body.nano_usd is None,
        start=body.start,
    )
    answer, approval_id = await ask_gate(request, caller, use)
    use.pricing.admitted(caller.tenant, request.model, answer)
    use.metrics.calls.count_verdict(answer.gate)
    if answer.attempt is not None:
        use.metrics.stepped("attempted")
    quote.check_priced(answer.gate)
    refusal = await _refusal(use, caller, answer.gate, request.ask)
    ended = answer.hold_id is not None and answer.state is not HoldState.HELD
    ended_tries = await use.holds.ended_tries(caller.tenant, request.key) if ended else None
    return _hold(answer, approval_id, refusal, ended_tries)


@router.post("/batch", response_model_exclude_unset=True)
async def ask_each(body: HoldBatchBody, caller: Spender, use: Use) -> HoldBatchView:
    """Answers several asks, each as `POST /v1/holds` would, in the order of the request.

    The asks are independent, as if they were sent at the same time: each is admitted or not, has a status of its own,
    and counts as one request of the key. Send the same body again if the answer was lost. A body that is not valid is
    refused as a whole (422), and so is a batch of which the ledger could answer nothing (503).
    """

    async def answer(one: HoldRequestBody) -> HoldView:
        return HoldView.model_validate(await ask(one, caller, use))

    return await answer_each(body.holds, answer, caller, use)


def _tagged(path: Path, tags: Mapping[str, str]) -> Path:
    return replace(path, tags=tags_of(tags)) if tags else path


@router.get("/{hold_id}")
async def show(hold_id: str, caller: WorkReader, use: Use) -> StoredHoldView:
    """Returns a hold, open or ended."""
    return stored_hold(await use.holds.get(caller.tenant, hold_id))


@router.post("/{hold_id}/attempts", response_model=StepView, response_model_exclude_unset=True)
async def start_attempt(hold_id: str, body: AttemptBody, caller: Spender, use: Use) -> Shown:
    """Starts an attempt; to be called before the request to the provider.

    An earlier attempt that never reported is charged its estimate, and the hold is topped up. If the top-up does not
    fit, the verdict says so and the attempt has not started.
    """
    started = await use.ledger.start_attempt(caller.tenant, hold_id, body.attempt)
    use.metrics.stepped("attempted" if started.started else "refused")
    refusal = await _refusal(use, caller, started.gate, started.amount)
    return _step(use, hold_id, started.gate, started.amount, started.expires_at, refusal, started.attempt)


@router.post("/{hold_id}/settle", response_model=SettlementView)
async def settle(hold_id: str, body: SettleBody, caller: Spender, use: Use) -> Shown:
    """Records the full usage of an attempt and ends the hold. Repeating the same report has no effect."""
    done = await use.pricing.settle(caller.tenant, hold_id, body.attempt, normalize(body.usage), body.nano_usd)
    use.metrics.stepped("settled")
    return settlement(done)


@router.post("/{hold_id}/release", response_model=ReleaseView)
async def release(hold_id: str, caller: Spender, use: Use) -> Shown:
    """Ends a hold that is not needed any more. An attempt that started and never reported is charged its estimate."""
    done = await use.ledger.release(caller.tenant, hold_id=hold_id)
    use.metrics.stepped("released")
    return released(done)


@router.post("/withdraw")
async def withdraw(body: WithdrawBody, caller: Spender, use: Use) -> WithdrawalView:
    """Ends the wait of a key for an approval, so that no person is asked for a call that nobody will make.

    If the call is asked for again after all, it waits anew. The agent of a task goes on waiting: it ends with its task.
    """
    left = await use.approvals.withdraw(caller.tenant, body.key, of_workflow=False)
    use.wake()
    return WithdrawalView(approval_ids=left)


@router.post("/{hold_id}/extend", response_model_exclude_unset=True)
async def extend(hold_id: str, body: ExtendBody, caller: Spender, use: Use, once: OnceOnly) -> StepView:
    """Renews the lease and, through the gate, adds to the hold.

    Send an Idempotency-Key with an addition: it is added once, however often the request is repeated. While it does not
    fit, each repetition is decided anew.
    """
    quote = await use.pricing.addition(caller.tenant, hold_id, body.tokens, body.nano_usd)

    async def act(connection: Connection | None) -> StepView:
        done = await use.ledger.extend(
            caller.tenant, hold_id, quote.full, body.lease_ms, connection, priced=quote.priced
        )
        if done.gate is not None:
            quote.check_priced(done.gate)
        use.metrics.stepped("extended" if done.extended else "refused")
        # On the same connection: requests that each wait for a second one would exhaust the pool.
        refusal = await _refusal(use, caller, done.gate, done.amount, connection=connection)
        return StepView.model_validate(_step(use, hold_id, done.gate, done.amount, done.expires_at, refusal))

    lease_alone = quote.full == Amount()
    return await once.do(caller, StepView, act, is_final=_admitted, repeatable=lease_alone)


HOT = tuple(
    route
    for route in router.routes
    if isinstance(route, Route) and route.endpoint in (ask, ask_each, start_attempt, settle, release)
)
"""The endpoints of every call, which `DirectRoutes` serves."""


async def _refusal(
    use: Services,
    caller: Principal,
    gate: GateAnswer | None,
    asked: Amount,
    connection: Connection | None = None,
) -> Refusal | None:
    """The figures behind `ask` and `refuse`; `None` for other verdicts."""
    if gate is None or gate.verdict not in (Verdict.ASK, Verdict.REFUSE):
        return None
    view = gate.decisive.view
    task_id = next((one.scope.id for one in gate.scopes if one.scope.kind is Kind.TASK), "")
    period_end = await use.policies.room_returns(
        caller.tenant, view.scope, asked, task_id, connection, window_start=view.window_start
    )
    return Refusal.of(gate, asked, period_end)


def _hold(answer: HoldAnswer, approval_id: str, refusal: Refusal | None, ended_tries: int | None) -> Shown:
    """The fields of a `HoldView`."""
    gate = answer.gate
    return {
        "verdict": gate.verdict,
        "hold_id": answer.hold_id,
        **_given(attempt=answer.attempt),
        "state": answer.state,
        **_given(ended_tries=ended_tries),
        "tokens": answer.amount.tokens,
        "nano_usd": answer.amount.nano_usd,
        "expires_at": answer.expires_at,
        "delay_ms": gate.delay_ms,
        **_given(retry_after_ms=answer.retry_after_ms, approval_id=approval_id or None),
        "pressure": gate.pressure,
        "scopes": scope_verdicts(gate),
        **_given(
            remedy=_remedy(gate, approval_id, refusal),
            refusal=refusal and _shown(refusal),
            ladder=reached_steps(gate) or None,
        ),
    }


def _step(
    use: Services,
    hold_id: str,
    gate: GateAnswer | None,
    amount: Amount,
    expires_at: datetime | None,
    refusal: Refusal | None,
    attempt: int | None = None,
) -> Shown:
    """The fields of a `StepView`."""
    waits = gate is not None and gate.verdict is Verdict.WAIT
    return {
        "verdict": Verdict.ALLOW if gate is None else gate.verdict,
        "hold_id": hold_id,
        **_given(attempt=attempt),
        "state": HoldState.HELD,
        "tokens": amount.tokens,
        "nano_usd": amount.nano_usd,
        "expires_at": expires_at,
        **_given(retry_after_ms=use.ledger.settings.retry_after_ms if waits else None),
        "scopes": [] if gate is None else scope_verdicts(gate),
        **_given(remedy=None if gate is None else STEP_REMEDY, refusal=refusal and _shown(refusal)),
    }


def _admitted(step: StepView) -> bool:
    return Verdict(step.verdict).admits


def _given(**fields: object) -> Shown:
    return {name: value for name, value in fields.items() if value is not None}


def _shown(refusal: Refusal) -> Shown:
    return RefusalView.model_validate(refusal.to_json()).model_dump()


def _remedy(answer: GateAnswer, approval_id: str, refusal: Refusal | None) -> str | None:
    """What the caller can do about a verdict that does not admit."""
    match answer.verdict:
        case Verdict.WAIT:
            return "The ask fits once open holds have ended: send the same request again after retry_after_ms."
        case Verdict.ASK:
            return f"Approval {approval_id} is pending: send the same request again once it is decided."
    return None if refusal is None else refusal.remedy
