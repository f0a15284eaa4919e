"""The page of webhooks: pure functions."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.webhooks.page import PAGE, deliveries, new_webhook, read
from purser.gateway.postgres.deliveries import Delivery
from purser.gateway.postgres.webhooks import Webhook
from purser.gateway.webhooks.messages import STATES

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOOK = Webhook(
    url="https://chat.example.com/hooks/1",
    kinds=("approval",),
    webhook_id="hook-1",
    tenant="acme",
    disabled_reason=None,
    created_by="ada",
    created_at=NOW,
    previous_until=None,
)
FAILED = Delivery(
    9, "hook-1", 4, "msg_1", {"type": "approval", "title": "Asked"}, "failed", 8, NOW, 500, "status", 120, NOW, NOW
)
TYPED = {"url": " https://chat.example.com/x ", "description": "", "least_threshold": ""}


def test_chosen_kinds_and_states_are_read() -> None:
    body = read(TYPED | {"kind:approval.pending": "on", "kind:task": "on", "least_threshold": "80 %"})
    assert (body.url, body.kinds, body.least_threshold) == (
        "https://chat.example.com/x",
        ["approval.pending", "task"],
        0.8,
    )


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(Refused, match="at least one kind"):
        read(TYPED)
    with pytest.raises(Refused, match="is not a share"):
        read(TYPED | {"kind:task": "on", "least_threshold": "most"})
    with pytest.raises(ValidationError, match="kinds are"):
        read(TYPED | {"kind:rumours": "on"})


def test_the_form_offers_every_kind_and_state() -> None:
    form = new_webhook(0, "")
    for kind, states in STATES.items():
        for name in (kind, *(f"{kind}.{state}" for state in states)):
            assert f'name="kind:{name}"' in form


def test_a_failed_delivery_can_be_sent_again_and_older_ones_follow() -> None:
    shown = deliveries(HOOK, [replace(FAILED, delivery_id=number) for number in range(PAGE, 0, -1)], None)
    assert 'data-act="again" data-id="hook-1" data-delivery="50"' in shown
    assert 'href="/webhooks?id=hook-1&amp;before=1"' in shown
    assert "Newest" not in shown
    assert "Newest" in deliveries(HOOK, [FAILED], 10)


@pytest.mark.parametrize(("before", "text"), [(None, "No deliveries yet"), (3, "No older deliveries")])
def test_a_webhook_without_deliveries_says_so(before: int | None, text: str) -> None:
    assert text in deliveries(HOOK, [], before)


def test_a_webhook_that_was_disabled_says_why_and_can_be_enabled() -> None:
    hooks = [replace(HOOK, enabled=False, disabled_reason="it failed for a day")]
    shown = render("webhooks/list.html", hooks=hooks, chosen="", asked=None)
    assert "it failed for a day" in shown
    assert 'data-act="enable"' in shown
    assert 'data-act="disable"' not in shown


def test_hostile_text_stays_text() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    hook = replace(HOOK, description=hostile, url=f"https://x/{hostile}")
    shown = render("webhooks/list.html", hooks=[hook], chosen="", asked=None)
    shown += deliveries(HOOK, [replace(FAILED, payload={"type": hostile, "title": hostile})], None)
    assert "<img" not in shown
