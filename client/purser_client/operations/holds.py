"""`/v1/holds`: hold before a call, settle after it."""

from collections.abc import Mapping, Sequence
from typing import Any

from purser_client.operations.arguments import given, listing, mapping, new_key, once, part
from purser_client.operations.operation import AsyncGroup, Group, Offered, Operation, checked
from purser_client.paths import listed
from purser_client.types import (
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


@checked
def ask(
    path: Sequence[str],
    tokens: int,
    *,
    key: str | None = None,
    model: str | None = None,
    nano_usd: int | None = None,
    min_tokens: int | None = None,
    lease_ms: int | None = None,
    tags: Mapping[str, str] | None = None,
    start: bool | None = None,
) -> Operation[HoldView]:
    """Holds tokens and money on every scope of the path, or on none. A verdict that does not admit is no error.

    Args:
        path: Scopes, outermost first, for example `["user:ana", "session:s1"]`.
        tokens: The most that the call may use: input and output.
        key: Identifies the call; a new one if left out. After a `wait` or `ask`, ask again with the same.
        model: Whose price the money follows.
        nano_usd: The most that it may cost, instead of a price.
        min_tokens: The smallest hold that still makes sense; all or nothing if left out.
        lease_ms: How long the hold lives without being extended.
        tags: Labels of the call.
        start: Whether an admitted hold starts attempt 1 at once.
    """
    more = given(model=model, nano_usd=nano_usd, min_tokens=min_tokens, lease_ms=lease_ms, start=start)
    more |= given(tags=None if tags is None else mapping("tags", tags))
    body = HoldRequestBody(key=new_key() if key is None else key, path=listed(path), tokens=tokens, **more)
    return Operation("holds_ask", "POST", "/v1/holds", HoldView, body)


@checked
def ask_each(holds: Sequence[HoldRequestBody]) -> Operation[HoldBatchView]:
    """Answers several asks, each as `ask` would, in their order."""
    body = HoldBatchBody(holds=listing("holds", holds))
    return Operation("holds_ask_each", "POST", "/v1/holds/batch", HoldBatchView, body)


def show(hold_id: str) -> Operation[StoredHoldView]:
    """Returns a hold, open or ended."""
    return Operation("holds_show", "GET", f"/v1/holds/{part(hold_id)}", StoredHoldView)


@checked
def start_attempt(hold_id: str, attempt: int = 1) -> Operation[StepView]:
    """Starts an attempt; to be called before the request to the provider."""
    body = AttemptBody(attempt=attempt)
    return Operation("holds_start_attempt", "POST", f"/v1/holds/{part(hold_id)}/attempts", StepView, body)


@checked
def settle(
    hold_id: str, usage: Mapping[str, Any], *, attempt: int = 1, nano_usd: int | None = None
) -> Operation[SettlementView]:
    """Records the full usage of an attempt and ends the hold.

    Args:
        hold_id: The hold.
        usage: The provider's usage block unchanged, or `{"total": n}`.
        attempt: Number of the request to the provider.
        nano_usd: Its cost, if the price of the model does not say it.
    """
    body = SettleBody(attempt=attempt, usage=mapping("usage", usage), **given(nano_usd=nano_usd))
    return Operation("holds_settle", "POST", f"/v1/holds/{part(hold_id)}/settle", SettlementView, body)


@checked
def withdraw(key: str) -> Operation[WithdrawalView]:
    """Ends the wait of a key for an approval, so that no person is asked for a call that nobody will make."""
    return Operation("holds_withdraw", "POST", "/v1/holds/withdraw", WithdrawalView, WithdrawBody(key=key))


def release(hold_id: str) -> Operation[ReleaseView]:
    """Ends a hold that is not needed any more. An attempt that started and never reported is charged its estimate."""
    return Operation("holds_release", "POST", f"/v1/holds/{part(hold_id)}/release", ReleaseView)


@checked
def extend(
    hold_id: str,
    *,
    tokens: int | None = None,
    nano_usd: int | None = None,
    lease_ms: int | None = None,
    idempotency_key: str | None = None,
) -> Operation[StepView]:
    """Renews the lease and, through the gate, adds to the hold."""
    body = ExtendBody(**given(tokens=tokens, nano_usd=nano_usd, lease_ms=lease_ms))
    path = f"/v1/holds/{part(hold_id)}/extend"
    headers = {} if tokens is None and nano_usd is None else once(idempotency_key)
    return Operation("holds_extend", "POST", path, StepView, body, headers=headers)


class _Holds:
    ask = Offered(ask)
    ask_each = Offered(ask_each)
    show = Offered(show)
    start_attempt = Offered(start_attempt)
    settle = Offered(settle)
    withdraw = Offered(withdraw)
    release = Offered(release)
    extend = Offered(extend)


class Holds(_Holds, Group):
    """Holds, attempts and settlements."""


class AsyncHolds(_Holds, AsyncGroup):
    """Holds, attempts and settlements, to be awaited."""
