"""The page of changes: pure functions."""

from datetime import UTC, datetime
from typing import Any

import pytest

from purser.budget.postgres.changes import Change
from purser.gateway.dashboard.changes.differences import Difference, differences, page_of
from purser.gateway.dashboard.changes.page import Wanted, listing

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
EMPTY = {"target": "", "by": "", "action": "", "since": "", "until": "", "cursor": ""}


def change(before: Any = None, after: Any = None, *, action: str = "policy.set", target: str = "session:s1") -> Change:
    return Change(7, NOW, "ada", "key-1", action, target, before, after)


def test_only_fields_that_differ_are_shown_in_words() -> None:
    before = {"limit_tokens": 1_000, "mode": "soft", "frozen": False, "warn_at": ["0.8"]}
    after = {"limit_tokens": 2_500, "mode": "soft", "frozen": True, "warn_at": ["0.9"], "limit_nano_usd": 1_504_900_000}
    assert list(differences(change(before, after))) == [
        Difference("limit tokens", "1,000", "2,500"),
        Difference("frozen", "no", "yes"),
        Difference("warn at", '["0.8"]', '["0.9"]'),
        Difference("limit nano usd", "—", "$1.5049"),
    ]


def test_fields_within_a_field_are_shown_each() -> None:
    before = {"approval": {"deadline_s": 60, "two_people_above_nano_usd": 1_000_000_000, "roles": ["admin"]}}
    after = {"approval": {"deadline_s": 60, "two_people_above_nano_usd": 2_000_000_001, "roles": []}}
    assert list(differences(change(before, after))) == [
        Difference("approval: two people above nano usd", "$1.00", "$2.000000001"),
        Difference("approval: roles", '["admin"]', "—"),
    ]
    tagged = change(None, {"tags": {"team": "search"}})
    assert list(differences(tagged)) == [Difference("tags: team", "—", "search")]


def test_something_new_and_something_removed_differ_in_every_field() -> None:
    assert list(differences(change(None, {"name": "ana"}))) == [Difference("name", "—", "ana")]
    assert list(differences(change({"name": "ana"}, None))) == [Difference("name", "ana", "—")]


@pytest.mark.parametrize(
    ("action", "target", "path"),
    [
        ("policy.set", "session:s1", "/budgets?scope=session%3As1"),
        ("template.set", "agent:*/w", "/budgets?scope=agent%3A%2A%2Fw"),
        ("pin.set", "session:s1", "/sessions/s1"),
        ("task.pause", "task:t1", "/tasks/t1"),
        ("approval.deny", "approval:a1", "/approvals?id=a1"),
        ("webhook.create", "webhook:hook-1", "/webhooks?id=hook-1"),
        ("key.revoke", "key:key-1", "/keys"),
        ("browser_session.end", "browser_session:b1", None),
    ],
)
def test_a_change_leads_to_the_page_of_its_object(action: str, target: str, path: str | None) -> None:
    assert page_of(change(action=action, target=target)) == path


def test_hostile_names_and_values_stay_text() -> None:
    hostile = '"><script>alert(1)</script>'
    shown = listing([change({"note": hostile}, {hostile: 1}, target=f"session:{hostile}")], None, Wanted.read(**EMPTY))
    assert "<script>" not in shown


def test_older_pages_keep_the_filters() -> None:
    wanted = Wanted.read(**EMPTY | {"by": "ada", "since": "2026-11-20T12:00", "cursor": "9"})
    shown = listing([change()], 3, wanted)
    assert 'href="/changes?by=ada&amp;from=2026-11-20T12%3A00%3A00Z&amp;cursor=3"' in shown
    assert 'href="/changes?by=ada&amp;from=2026-11-20T12%3A00%3A00Z"' in shown


@pytest.mark.parametrize(
    ("given", "text"),
    [({}, "No changes yet"), ({"by": "eve"}, "No change matches these filters"), ({"cursor": "3"}, "No older changes")],
)
def test_an_empty_list_says_why(given: dict[str, str], text: str) -> None:
    assert text in listing([], None, Wanted.read(**EMPTY | given))


def test_times_that_are_not_valid_are_reported_and_ignored() -> None:
    wanted = Wanted.read(**EMPTY | {"since": "yesterday", "until": "2026-11-20T12:00", "cursor": "x"})
    assert (wanted.times.since, wanted.times.until, wanted.cursor) == (None, NOW, None)
    assert wanted.times.faults == ("The time “from” is not valid: write it like 2026-11-20T18:00.",)
