"""`purser budget`."""

import pytest

from tests.support.commands import Commands

pytestmark = pytest.mark.stack


def test_a_budget_is_set_field_by_field_and_shown(purser: Commands, name: str) -> None:
    scope = f"session:{name}"
    assert purser.json("budget", "show", scope)["limit_tokens"] == 200_000
    first = purser.json(
        *("budget", "set", scope, "--limit-tokens", "1000", "--limit-usd", "0.25", "--mode", "hard"),
        *("--window", "day", "--timezone", "Europe/Berlin", "--warn-at", "0.5", "--warn-at", "0.9"),
        *("--backpressure", "0.9:750", "--frozen"),
    )
    assert (first["limit_tokens"], first["limit_nano_usd"], first["mode"]) == (1_000, 250_000_000, "hard")
    assert (first["window"], first["timezone"], first["frozen"]) == ("day", "Europe/Berlin", True)
    assert (first["warn_at"], first["backpressure"]) == ([0.5, 0.9], [[0.9, 750]])
    second = purser.json("budget", "set", scope, "--no-frozen", "--clear", "mode", "--clear", "limit_tokens")
    assert (second["frozen"], second["mode"], second["limit_tokens"]) == (False, "soft", 200_000)
    assert second["limit_nano_usd"] == 250_000_000
    assert purser.json("budget", "show", scope) == second


def test_approval_rules_are_merged_too(purser: Commands, name: str) -> None:
    scope = f"task:{name}"
    purser.json("budget", "set", scope, "--not-submitter", "--two-people-above-tokens", "500")
    rules = purser.json("budget", "set", scope, "--deadline-s", "60", "--approver-role", "admin")["approval"]
    assert rules == {
        "roles": ["admin"],
        "not_submitter": True,
        "two_people_above_tokens": 500,
        "deadline_s": 60,
        "on_expiry": "deny",
    }


def test_people_read_limits_money_and_where_they_come_from(purser: Commands, name: str) -> None:
    shown = purser.run("budget", "set", f"agent:{name}/a1", "--limit-tokens", "12345", "--limit-usd", "0.000000001")
    assert shown.returncode == 0, shown.stderr
    assert f"agent:{name}/a1" in shown.stdout
    assert "12,345" in shown.stdout
    assert "$0.000000001" in shown.stdout
    assert "limit_tokens (stored)" in shown.stdout


def test_bad_usage_changes_nothing(purser: Commands, name: str) -> None:
    scope = f"session:{name}"
    before = purser.json("budget", "show", scope)
    bad = (
        (),
        ("--limit-tokens", "-1"),
        ("--limit-tokens", "1.5"),
        ("--limit-usd", "ten"),
        ("--limit-usd", "999999999.5"),
        ("--mode", "harsh"),
        ("--backpressure", "0.9"),
        ("--clear", "nonsense"),
    )
    for options in bad:
        assert purser.json("budget", "set", scope, *options, code=2)["type"] == "urn:purser:bad-usage"
    assert purser.json("budget", "show", scope) == before


def test_an_invalid_scope_is_a_problem_that_names_it(purser: Commands) -> None:
    for scope, named in (("planet:x", "planet"), ("session:a?b#c", "a?b#c")):
        problem = purser.json("budget", "show", scope, code=1)
        assert problem["status"] == 422
        assert named in problem["detail"]
