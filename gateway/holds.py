"""`/v1/holds`: ask, start attempts, settle, release, extend. A verdict is always 200."""

from datetime import datetime

from fastapi import APIRouter

from budget.decisions import Amount, Decision, Verdict
from budget.holds import HoldAnswer, HoldRequest, HoldState, Report
from budget.postgres.connection import Connection
from budget.scopes import Path
from budget.usage import Usage, normalise
from gateway.asking import decided
from gateway.auth import Spender, WorkReader, check_tenant
from gateway.idempotency import OnceOnly
from gateway.schemas import AttemptBody, ExtendBody, HoldRequestBody, SettleBody
from gateway.services import Services, Use
from gateway.views import HoldView, ReleaseView, SettlementView, StepView, StoredHoldView, scope_verdicts

router = APIRouter(prefix="/v1/holds", tags=["holds"])

STEP_REMEDY = "The addition does not fit: try again later, or end this hold and ask anew under another key."


@router.post("", response_model_exclude_unset=True)
async def ask(body: HoldRequestBody, caller: Spender, use: Use) -> HoldView:
    """Holds tokens and money on every scope of the path, or on none.

    On `wait` and `ask`, send the same body again after `retry_after_ms` or once the approval is decided.
    """
    path = Path.parse(body.path)
    check_tenant(caller, *path.scopes)
    full, least = await _priced(body, path, caller.tenant, use)
    request = HoldRequest(key=body.key, path=path, ask=full, least=least, model=body.model, lease_ms=body.lease_ms)
    answer, approval_id = await decided(request, caller, use)
    use.metrics.decided(answer.decision)
    return _hold_view(answer, approval_id)


@router.get("/{hold_id}")
async def show(hold_id: str, caller: WorkReader, use: Use) -> StoredHoldView:
    """A hold as it stands, open or ended."""
    return StoredHoldView.of(await use.holds.get(caller.tenant, hold_id))


@router.post("/{hold_id}/attempts", response_model_exclude_unset=True)
async def start_attempt(hold_id: str, body: AttemptBody, caller: Spender, use: Use) -> StepView:
    """Starts an attempt; call it before the request goes to the provider.

    An earlier attempt that never reported is charged its estimate, and the hold is topped up. If that does not fit, the
    verdict says so and the attempt has not started.
    """
    started = await use.ledger.start_attempt(caller.tenant, hold_id, body.attempt)
    use.metrics.stepped("attempted" if started.started else "refused")
    return _step_view(
        hold_id, started.decision, amount=started.amount, expires_at=started.expires_at, attempt=started.attempt
    )


@router.post("/{hold_id}/settle")
async def settle(hold_id: str, body: SettleBody, caller: Spender, use: Use) -> SettlementView:
    """Records what an attempt used, in full, and ends the hold. The same report again changes nothing."""
    usage = normalise(body.usage)
    nano_usd = body.nano_usd
    if nano_usd is None:
        nano_usd = await _price_under(hold_id, usage, caller.tenant, use)
    done = await use.ledger.settle(caller.tenant, hold_id, body.attempt, Report(usage, nano_usd))
    use.metrics.stepped("settled")
    return SettlementView.of(done)


@router.post("/{hold_id}/release")
async def release(hold_id: str, caller: Spender, use: Use) -> ReleaseView:
    """Ends a hold whose call will not happen. An attempt that started and never reported is charged its estimate."""
    done = await use.ledger.release(caller.tenant, hold_id=hold_id)
    use.metrics.stepped("released")
    return ReleaseView.of(done)


@router.post("/{hold_id}/extend", response_model_exclude_unset=True)
async def extend(hold_id: str, body: ExtendBody, caller: Spender, use: Use, once: OnceOnly) -> StepView:
    """Renews the lease and, through the gate, adds to the hold. Send an Idempotency-Key with what adds."""
    nano_usd = body.nano_usd
    if nano_usd is None and body.tokens:
        nano_usd = await _price_under(hold_id, Usage.from_total(body.tokens), caller.tenant, use)
    more = Amount(body.tokens, nano_usd or 0)

    async def act(connection: Connection | None) -> StepView:
        done = await use.ledger.extend(caller.tenant, hold_id, more, body.lease_ms, connection)
        use.metrics.stepped("extended" if done.extended else "refused")
        return _step_view(hold_id, done.decision, amount=done.amount, expires_at=done.expires_at)

    return await once.do(caller, StepView, act)


async def _priced(body: HoldRequestBody, path: Path, tenant: str, use: Services) -> tuple[Amount, Amount]:
    """The ask and the least, with money: as stated, else at the dearest that the model could charge."""
    least_tokens = body.min_tokens or body.tokens
    if body.nano_usd is not None:
        share = -(-body.nano_usd * least_tokens // body.tokens)
        return Amount(body.tokens, body.nano_usd), Amount(least_tokens, share)
    usages = [Usage.from_total(tokens) for tokens in (body.tokens, least_tokens)]
    ask, least = await use.pricing.nano_usd(tenant, path, body.model, *usages)
    return Amount(body.tokens, ask), Amount(least_tokens, least)


async def _price_under(hold_id: str, usage: Usage, tenant: str, use: Services) -> int:
    """What usage costs by the model of a hold."""
    hold = await use.holds.get(tenant, hold_id)
    return (await use.pricing.nano_usd(tenant, hold.path, hold.model, usage))[0]


def _hold_view(answer: HoldAnswer, approval_id: str) -> HoldView:
    decision = answer.decision
    optional = {
        "retry_after_ms": answer.retry_after_ms,
        "approval_id": approval_id or None,
        "remedy": _remedy(decision, approval_id),
    }
    return HoldView(
        verdict=decision.verdict,
        hold_id=answer.hold_id,
        state=answer.state,
        tokens=answer.amount.tokens,
        nano_usd=answer.amount.nano_usd,
        expires_at=answer.expires_at,
        delay_ms=decision.delay_ms,
        pressure=decision.pressure,
        scopes=scope_verdicts(decision),
        **{name: value for name, value in optional.items() if value is not None},
    )


def _step_view(
    hold_id: str, decision: Decision | None, amount: Amount, expires_at: datetime | None, **more: int
) -> StepView:
    short = {} if decision is None else {"remedy": STEP_REMEDY}
    return StepView(
        verdict=Verdict.ALLOW if decision is None else decision.verdict,
        hold_id=hold_id,
        state=HoldState.HELD,
        tokens=amount.tokens,
        nano_usd=amount.nano_usd,
        expires_at=expires_at,
        scopes=[] if decision is None else scope_verdicts(decision),
        **short,
        **more,
    )


def _remedy(decision: Decision, approval_id: str) -> str | None:
    """What can be done about a verdict that does not admit."""
    scope = decision.decisive.scope
    match decision.verdict, decision.decisive.reason:
        case Verdict.WAIT, _:
            return "Open holds stand in the way: send the same request again after retry_after_ms."
        case Verdict.ASK, _:
            return f"A person decides approval {approval_id}: send the same request again after that."
        case Verdict.REFUSE, "denied" | "expired" as state:
            return f"Approval {approval_id} was {state}: ask for less, or ask anew under another key."
        case Verdict.REFUSE, "frozen":
            return f"Unfreeze the scope with PUT /v1/budgets/{scope}, then send the same request again."
        case Verdict.REFUSE, _:
            return f"Ask for less, or raise the limit with PUT /v1/budgets/{scope}."
    return None
