"""The page of keys: pure functions."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from purser.gateway.access.roles import Role
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.keys.page import PAGE, listing, new_key, read, state
from purser.gateway.postgres.keys import Key

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LIVE = Key(
    "key-1", "acme", "ana", Role.APPROVER, "ada", NOW - timedelta(days=2), None, None, {"team": "search"}, None, None
)
REVOKED = replace(LIVE, key_id="key-2", name="bob", revoked_by="ada", revoked_at=NOW)
EXPIRED = replace(LIVE, key_id="key-3", name="cid", expires_at=NOW)


def test_a_key_is_live_until_it_is_revoked_or_expires() -> None:
    assert [state(key, NOW) for key in (LIVE, REVOKED, EXPIRED)] == ["live", "revoked", "expired"]
    assert state(replace(LIVE, expires_at=NOW + timedelta(seconds=1)), NOW) == "live"


def test_live_keys_come_first_and_only_they_can_be_revoked() -> None:
    newer = replace(REVOKED, created_at=NOW)
    shown = listing([EXPIRED, newer, LIVE], "key-9", None, PAGE, NOW)
    assert shown.index("key-1") < shown.index("key-2") < shown.index("key-3")
    assert shown.count("team=search") == 3
    assert shown.count('data-act="revoke"') == 1
    assert 'data-act="revoke" data-id="key-1"' in shown


def test_the_own_key_is_marked_and_its_end_is_announced() -> None:
    shown = listing([LIVE], "key-1", "key-1", PAGE, NOW)
    assert "you are signed out at once" in shown
    assert "signed out" not in listing([LIVE], "key-9", "key-1", PAGE, NOW)
    assert "data-act" not in listing([REVOKED], "key-9", "key-2", PAGE, NOW)


def test_many_keys_are_shown_in_parts() -> None:
    many = [replace(LIVE, key_id=f"key-{number}") for number in range(PAGE + 3)]
    assert "Show 3 more" in listing(many, "", None, PAGE, NOW)
    assert "more" not in listing(many, "", None, 2 * PAGE, NOW)


def test_every_role_can_be_given() -> None:
    form = new_key(0, "")
    assert [role for role in Role if f'value="{role}"' not in form] == []


def test_no_key_yet_is_said() -> None:
    assert "No keys yet" in listing([], "", None, PAGE, NOW)


def test_hostile_text_of_a_problem_stays_text() -> None:
    assert "<b>" not in new_key(0, "name '<b>' is not valid")


def test_a_new_key_is_read_with_its_end_and_rate() -> None:
    body = read({"name": " ana ", "role": "viewer", "expires_in_s": "86400", "rate_limit_per_s": "20"})
    assert (body.name, body.role, body.expires_in_s, body.rate_limit_per_s) == ("ana", Role.VIEWER, 86_400, 20)
    assert read({"name": "ana", "role": "viewer", "expires_in_s": "", "rate_limit_per_s": ""}).ends_at() is None
    tagged = read({"name": "ana", "role": "agent", "tags": "team=search, cost_center=42,"})
    assert tagged.tags == {"team": "search", "cost_center": "42"}
    for tags in ("search", "team=a, team=b"):
        with pytest.raises(Refused, match="Tags"):
            read({"name": "ana", "role": "agent", "tags": tags})
    with pytest.raises(Refused, match="Requests per second"):
        read({"name": "ana", "role": "viewer", "rate_limit_per_s": "many"})
    with pytest.raises(ValidationError):
        read({"name": "ana", "role": "owner"})
