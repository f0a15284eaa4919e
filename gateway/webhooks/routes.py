"""`/v1/webhooks`: webhooks and their deliveries."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AfterValidator, Field, model_validator

from purser.budget.postgres.connections.pools import Connection
from purser.gateway.access.auth import WebhookManager
from purser.gateway.http.idempotency import OnceOnly
from purser.gateway.http.pagination import Cursor, PageSize
from purser.gateway.http.routing import Route
from purser.gateway.postgres.deliveries import Delivery
from purser.gateway.postgres.webhooks import Webhook, WebhookFields
from purser.gateway.services import Use
from purser.gateway.webhooks.messages import STATES
from purser.gateway.webhooks.targets import MAX_URL, Targets
from purser.wire.base import Body, PageOf, View
from purser.wire.fields import printable

router = APIRouter(route_class=Route, prefix="/v1/webhooks", tags=["webhooks"])


def _kind(value: str) -> str:
    kind, _, state = value.partition(".")
    if kind not in STATES:
        raise ValueError(f"kinds are {', '.join(STATES)}")
    if "." in value and state not in STATES[kind]:
        raise ValueError(f"states of {kind} are {', '.join(STATES[kind]) or 'none'}")
    return value


Url = Annotated[str, Field(min_length=1, max_length=MAX_URL)]
Kinds = Annotated[list[Annotated[str, Field(max_length=64), AfterValidator(_kind)]], Field(min_length=1, max_length=50)]
Threshold = Annotated[float, Field(ge=0, le=1_000)]
Description = Annotated[str, Field(max_length=256), AfterValidator(printable)]
DeliveryId = Annotated[int, Field(ge=1, le=2**63 - 1)]


class WebhookBody(Body):
    """A webhook to create."""

    url: Url
    """Address, under one of those in the setting `webhook_targets`."""
    kinds: Kinds
    """Events to deliver: a kind such as `approval`, or one of its states such as `approval.expired`."""
    least_threshold: Threshold | None = None
    """Lowest threshold of `threshold` events to deliver."""
    description: Description = ""
    enabled: bool = True


class WebhookPatch(Body):
    """Fields of a webhook to change; fields that are left out stay unchanged."""

    url: Url = ""
    kinds: Kinds = Field(default_factory=list)
    least_threshold: Threshold | None = None
    description: Description = ""
    enabled: bool = True

    @model_validator(mode="after")
    def _something(self) -> "WebhookPatch":
        if not self.model_fields_set:
            raise ValueError("name a field to change")
        return self


class WebhookView(View):
    """A webhook without its secret."""

    webhook_id: str
    url: str
    kinds: list[str]
    least_threshold: float | None
    description: str
    enabled: bool
    disabled_reason: str | None
    """Why Purser disabled it."""
    created_by: str
    created_at: datetime
    previous_secret_until: datetime | None
    """Time until which replaced secrets sign too."""


class NewWebhookView(WebhookView):
    """A webhook with its new secret, which is not shown again."""

    secret: str


class DeliveryView(View):
    """A message to a webhook, and the state of its delivery."""

    delivery_id: str
    message_id: str
    """Sent as `webhook-id`, the same on every attempt."""
    position: int | None
    """Position of the event; `null`: a test."""
    type: str
    state: str
    """`pending`, `delivered` or `failed`."""
    tries: int
    next_at: datetime | None
    """When a pending delivery is attempted next."""
    status: int | None
    error: str | None
    """`timeout`, `connection`, `protocol`, `status`, `redirect`, `target_not_allowed`, `secret_unreadable`, or
    `disabled`: it ended because its webhook was disabled."""
    duration_ms: int | None
    created_at: datetime
    ended_at: datetime | None


@router.post("", status_code=201)
async def create(body: WebhookBody, caller: WebhookManager, use: Use, once: OnceOnly) -> NewWebhookView:
    """Creates a webhook; `secret` verifies its signatures and is not shown again.

    Repeating the request with the same Idempotency-Key creates no second one: 409 `already-made` names the first.
    """
    chosen = chosen_fields(body, use.targets)

    async def act(connection: Connection | None) -> NewWebhookView:
        made, secret = await use.webhooks.create(caller.tenant, chosen, by=caller, connection=connection)
        return NewWebhookView(**_shown(made), secret=secret)

    return await once.do(caller, NewWebhookView, act, secrets=("secret",))


@router.get("")
async def list_webhooks(caller: WebhookManager, use: Use) -> PageOf[WebhookView]:
    """Lists all webhooks of the tenant, oldest first."""
    hooks = await use.webhooks.list(caller.tenant)
    return PageOf[WebhookView](items=[WebhookView(**_shown(hook)) for hook in hooks], cursor=None)


@router.get("/{webhook_id}")
async def show(webhook_id: str, caller: WebhookManager, use: Use) -> WebhookView:
    """Returns one webhook."""
    return WebhookView(**_shown(await use.webhooks.get(caller.tenant, webhook_id)))


@router.patch("/{webhook_id}")
async def change(webhook_id: str, body: WebhookPatch, caller: WebhookManager, use: Use) -> WebhookView:
    """Changes the given fields."""
    given: dict[str, Any] = body.model_dump(exclude_unset=True)
    if "url" in given:
        use.targets.check(body.url)
    if "kinds" in given:
        given["kinds"] = _sorted(body.kinds)
    return WebhookView(**_shown(await use.webhooks.change(caller.tenant, webhook_id, given, by=caller)))


@router.delete("/{webhook_id}", status_code=204)
async def delete(webhook_id: str, caller: WebhookManager, use: Use) -> None:
    """Deletes a webhook with its deliveries, including pending ones."""
    await use.webhooks.delete(caller.tenant, webhook_id, by=caller)


@router.post("/{webhook_id}/secret")
async def rotate(webhook_id: str, caller: WebhookManager, use: Use, once: OnceOnly) -> NewWebhookView:
    """Creates a new secret. For a day the previous one signs too, so that receivers can switch.

    So do secrets that were replaced within the day before, the four newest at most.

    Repeating the request with the same Idempotency-Key creates no other secret: 409 `already-made`.
    """

    async def act(connection: Connection | None) -> NewWebhookView:
        made, secret = await use.webhooks.rotate(caller.tenant, webhook_id, by=caller, connection=connection)
        return NewWebhookView(**_shown(made), secret=secret)

    return await once.do(caller, NewWebhookView, act, secrets=("secret",))


@router.post("/{webhook_id}/test", status_code=202)
async def test(webhook_id: str, caller: WebhookManager, use: Use, once: OnceOnly) -> DeliveryView:
    """Sends a message of type `test`, even to a disabled webhook. With an Idempotency-Key, only once."""

    async def act(connection: Connection | None) -> DeliveryView:
        return _delivery(await use.deliveries.test(caller.tenant, webhook_id, connection))

    return await once.do(caller, DeliveryView, act)


@router.get("/{webhook_id}/deliveries")
async def list_deliveries(
    webhook_id: str, caller: WebhookManager, use: Use, cursor: Cursor = None, limit: PageSize = 100
) -> PageOf[DeliveryView]:
    """Lists deliveries with their state, newest first."""
    await use.webhooks.get(caller.tenant, webhook_id)
    found = await use.deliveries.page(caller.tenant, webhook_id, None if cursor is None else int(cursor), limit)
    following = str(found[-1].delivery_id) if len(found) == limit else None
    return PageOf[DeliveryView](items=[_delivery(one) for one in found], cursor=following)


@router.post("/{webhook_id}/deliveries/{delivery_id}/redeliver", status_code=202)
async def redeliver(
    webhook_id: str, delivery_id: DeliveryId, caller: WebhookManager, use: Use, once: OnceOnly
) -> DeliveryView:
    """Sends a message again, with the same id. With an Idempotency-Key, only once."""

    async def act(connection: Connection | None) -> DeliveryView:
        return _delivery(await use.deliveries.redeliver(caller.tenant, webhook_id, delivery_id, connection))

    return await once.do(caller, DeliveryView, act)


def chosen_fields(body: WebhookBody, targets: Targets) -> WebhookFields:
    """The fields of a new webhook; raises `TargetRefused` unless its address is allowed."""
    targets.check(body.url)
    return WebhookFields(**body.model_dump() | {"kinds": _sorted(body.kinds)})


def _sorted(kinds: list[str]) -> tuple[str, ...]:
    return tuple(sorted(set(kinds)))


def _shown(hook: Webhook) -> dict[str, Any]:
    return {
        "webhook_id": hook.webhook_id,
        "url": hook.url,
        "kinds": [*hook.kinds],
        "least_threshold": hook.least_threshold,
        "description": hook.description,
        "enabled": hook.enabled,
        "disabled_reason": hook.disabled_reason,
        "created_by": hook.created_by,
        "created_at": hook.created_at,
        "previous_secret_until": hook.previous_until,
    }


def _delivery(one: Delivery) -> DeliveryView:
    return DeliveryView(
        delivery_id=str(one.delivery_id),
        message_id=one.message_id,
        position=one.position,
        type=one.payload["type"],
        state=one.state,
        tries=one.tries,
        next_at=one.next_at if one.state == "pending" else None,
        status=one.status,
        error=one.error,
        duration_ms=one.duration_ms,
        created_at=one.created_at,
        ended_at=one.ended_at,
    )
