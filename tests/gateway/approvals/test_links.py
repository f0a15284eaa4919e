"""Signed links to approval requests."""

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from purser.gateway.access.sealing import Seal, new_key
from purser.gateway.approvals.links import ApprovalLink, ApprovalLinks
from purser.gateway.errors import LinkExpired, LinkInvalid

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DEADLINE = NOW + timedelta(minutes=30)
OLD, NEW = new_key(), new_key()
LINKS = ApprovalLinks(Seal([OLD]), "https://purser.example.com/")


def token(links: ApprovalLinks = LINKS, deadline: datetime = DEADLINE) -> str:
    url = links.url("acme", "a1", deadline, NOW)
    assert url is not None
    assert url.startswith("https://purser.example.com/approvals?")
    [found] = parse_qs(urlsplit(url).query)["link"]
    return found


def test_a_link_names_its_request_until_a_day_after_the_deadline() -> None:
    end = DEADLINE + timedelta(days=1)
    assert LINKS.read(token(), end - timedelta(seconds=1)) == ApprovalLink("acme", "a1", end)
    with pytest.raises(LinkExpired, match="expired at 2026-11-21 12:30 UTC"):
        LINKS.read(token(), end)


def test_a_link_to_what_was_decided_long_ago_is_valid_for_a_day() -> None:
    assert LINKS.read(token(deadline=NOW - timedelta(days=9)), NOW).expires_at == NOW + timedelta(days=1)


@pytest.mark.parametrize("place", [0, 10, 60, -2])
def test_a_link_that_was_changed_is_not_valid(place: int) -> None:
    good = token()
    at = place % len(good)
    changed = good[:at] + ("A" if good[at] != "A" else "B") + good[at + 1 :]
    for bad in (changed, good[:-5], "", "ä", "x" * 5_000):
        with pytest.raises(LinkInvalid, match="cut off or was changed"):
            LINKS.read(bad, NOW)


def test_another_secret_of_the_same_key_is_no_link() -> None:
    for text in ("whsec_abc", "[]", "7", json.dumps(["sign-in", "acme", "a1", 10**12])):
        with pytest.raises(LinkInvalid):
            LINKS.read(Seal([OLD]).encrypt(text), NOW)


def test_keys_are_rotated_and_without_a_key_there_is_no_link() -> None:
    assert ApprovalLinks(Seal([NEW, OLD]), "").read(token(), NOW).approval_id == "a1"
    with pytest.raises(LinkInvalid):
        ApprovalLinks(Seal([NEW]), "").read(token(), NOW)
    assert ApprovalLinks(Seal(), "").url("acme", "a1", DEADLINE, NOW) is None
    with pytest.raises(LinkInvalid):
        ApprovalLinks(Seal(), "").read(token(), NOW)
