"""`/v1/holds`: hold, start attempts, settle, release, extend. A verdict is always 200."""

from datetime import datetime

from fastapi import APIRouter

from purser.budget.gate import Amount, GateAnswer, Verdict
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState
from purser.budget.postgres.connections.pools import Connection
from purser.budget.scopes import Path
from purser.budget.usage import normalize
from purser.gateway.access.auth import Spender, WorkReader, check_tenant
from purser.gateway.holds.schemas import AttemptBody, ExtendBody, HoldRequestBody, SettleBody
from purser.gateway.holds.views import HoldView, ReleaseView, SettlementView, StepView, StoredHoldView, scope_verdicts
from purser.gateway.holds.waiting import ask_gate
from purser.gateway.http.idempotency import OnceOnly
from purser.gateway.http.routing import Route
from purser.gateway.services import Use

router = APIRouter(route_class=Route, prefix="/v1/holds", tags=["holds"])

STEP_REMEDY = "The addition does not fit: try again later, or end this hold and hold again under another key."


@router.post("", response_model_exclude_unset=True)
async def ask(body: HoldRequestBody, caller: Spender, use: Use) -> HoldView:
    """Holds tokens and money on every scope of the path, or on none.

    On `wait` and `ask`, send the same body again after `retry_after_ms` or once the approval is decided.
    """
    stated = Path.parse(body.path)
    check_tenant(caller, *stated.scopes)
    path = await use.payers.complete(caller.tenant, stated)
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
    )
    answer, approval_id = await ask_gate(request, caller, use)
    use.metrics.count_verdict(answer.gate)
    quote.check_priced(answer.gate)
    return _hold_view(answer, approval_id)


@router.get("/{hold_id}")
async def show(hold_id: str, caller: WorkReader, use: Use) -> StoredHoldView:
    """Returns a hold, open or ended."""
    return StoredHoldView.of(await use.holds.get(caller.tenant, hold_id))


@router.post("/{hold_id}/attempts", response_model_exclude_unset=True)
async def start_attempt(hold_id: str, body: AttemptBody, caller: Spender, use: Use) -> StepView:
    """Starts an attempt; to be called before the request to the provider.

    An earlier attempt that never reported is charged its estimate, and the hold is topped up. If the top-up does not
    fit, the verdict says so and the attempt has not started.
    """
    started = await use.ledger.start_attempt(caller.tenant, hold_id, body.attempt)
    use.metrics.stepped("attempted" if started.started else "refused")
    return _step_view(
        hold_id, started.gate, amount=started.amount, expires_at=started.expires_at, attempt=started.attempt
    )


@router.post("/{hold_id}/settle")
async def settle(hold_id: str, body: SettleBody, caller: Spender, use: Use) -> SettlementView:
    """Records the full usage of an attempt and ends the hold. Repeating the same report has no effect."""
    done = await use.pricing.settle(caller.tenant, hold_id, body.attempt, normalize(body.usage), body.nano_usd)
    use.metrics.stepped("settled")
    return SettlementView.of(done)


@router.post("/{hold_id}/release")
async def release(hold_id: str, caller: Spender, use: Use) -> ReleaseView:
    """Ends a hold that is not needed any more. An attempt that started and never reported is charged its estimate."""
    done = await use.ledger.release(caller.tenant, hold_id=hold_id)
    use.metrics.stepped("released")
    return ReleaseView.of(done)


@router.post("/{hold_id}/extend", response_model_exclude_unset=True)
async def extend(hold_id: str, body: ExtendBody, caller: Spender, use: Use, once: OnceOnly) -> StepView:
    """Renews the lease and, through the gate, adds to the hold. Send an Idempotency-Key with an addition."""
    quote = await use.pricing.addition(caller.tenant, hold_id, body.tokens, body.nano_usd)

    async def act(connection: Connection | None) -> StepView:
        done = await use.ledger.extend(
            caller.tenant, hold_id, quote.full, body.lease_ms, connection, priced=quote.priced
        )
        if done.gate is not None:
            quote.check_priced(done.gate)
        use.metrics.stepped("extended" if done.extended else "refused")
        return _step_view(hold_id, done.gate, amount=done.amount, expires_at=done.expires_at)

    return await once.do(caller, StepView, act)


def _hold_view(answer: HoldAnswer, approval_id: str) -> HoldView:
    gate = answer.gate
    optional = {
        "retry_after_ms": answer.retry_after_ms,
        "approval_id": approval_id or None,
        "remedy": _remedy(gate, approval_id),
    }
    return HoldView(
        verdict=gate.verdict,
        hold_id=answer.hold_id,
        state=answer.state,
        tokens=answer.amount.tokens,
        nano_usd=answer.amount.nano_usd,
        expires_at=answer.expires_at,
        delay_ms=gate.delay_ms,
        pressure=gate.pressure,
        scopes=scope_verdicts(gate),
        **{name: value for name, value in optional.items() if value is not None},
    )


def _step_view(
    hold_id: str, gate: GateAnswer | None, amount: Amount, expires_at: datetime | None, **more: int
) -> StepView:
    short = {} if gate is None else {"remedy": STEP_REMEDY}
    return StepView(
        verdict=Verdict.ALLOW if gate is None else gate.verdict,
        hold_id=hold_id,
        state=HoldState.HELD,
        tokens=amount.tokens,
        nano_usd=amount.nano_usd,
        expires_at=expires_at,
        scopes=[] if gate is None else scope_verdicts(gate),
        **short,
        **more,
    )


def _remedy(answer: GateAnswer, approval_id: str) -> str | None:
    """What the caller can do about a verdict that does not admit."""
    scope = answer.decisive.scope
    match answer.verdict, answer.decisive.reason:
        case Verdict.WAIT, _:
            return "The ask fits once open holds have ended: send the same request again after retry_after_ms."
        case Verdict.ASK, _:
            return f"Approval {approval_id} is pending: send the same request again once it is decided."
        case Verdict.REFUSE, "denied" | "expired" as state:
            return f"Approval {approval_id} was {state}: ask for less, or hold again under another key."
        case Verdict.REFUSE, "frozen":
            return f"Unfreeze the scope with PUT /v1/budgets/{scope}, then send the same request again."
        case Verdict.REFUSE, _:
            return f"Ask for less, or raise the limit with PUT /v1/budgets/{scope}."
    return None
