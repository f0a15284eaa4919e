"""`purser budget`."""

from tests.support.servers.commands import Commands


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
    purser.json("budget", "set", scope, "--two-people-above-usd", "2.5")
    purser.json("budget", "set", scope, "--remind-s", "20", "--escalate-s", "10")
    rules = purser.json("budget", "set", scope, "--deadline-s", "60", "--approver-role", "admin")["approval"]
    assert rules == {
        "roles": ["admin"],
        "not_submitter": True,
        "two_people_above_tokens": 500,
        "two_people_above_nano_usd": 2_500_000_000,
        "deadline_s": 60,
        "on_expiry": "deny",
        "remind_s": 20,
        "escalate_s": 10,
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
        ("--backpressure", "much:750"),
        ("--warn-at", "80%"),
        ("--window", "3x"),
        ("--timezone", "Mars/Base"),
        ("--clear", "nonsense"),
        ("--limit-tokens", "5", "--clear", "limit_tokens"),
        ("--no-frozen", "--clear", "frozen"),
        ("--limit-usd", "1", "--mode", "hard", "--clear", "mode", "--clear", "limit_nano_usd"),
        ("--deadline-s", "60", "--clear", "approval"),
    )
    for options in bad:
        assert purser.json("budget", "set", scope, *options, code=2)["type"] == "urn:purser:bad-usage"
    assert purser.json("budget", "show", scope) == before


def test_an_invalid_scope_is_a_problem_that_names_it(purser: Commands) -> None:
    invalid = ("", "planet:x", "session:a?b#c", "session:..", "agent:../x", "session:a/b", "session:\udcff")
    for scope in invalid:
        problem = purser.json("budget", "show", scope, code=1)
        assert problem["type"] == "urn:purser:invalid-scope"
        assert repr(scope) in problem["detail"]


def test_scopes_of_all_kinds_are_found(purser: Commands, name: str) -> None:
    ids = (f"tag:team={name}", f"model:openai/{name}:free", f"agent:{name}/a~1", f"session:{name}@day", f"tool:{name}")
    for scope in ids:
        assert purser.json("budget", "show", scope)["scope"] == scope


def test_budgets_are_listed(purser: Commands, name: str) -> None:
    purser.json("budget", "set", f"user:{name}", "--limit-tokens", "5")
    listed = purser.json("budget", "list", "--kind", "user", "--limit", "1000")["items"]
    assert f"user:{name}" in [view["scope"] for view in listed]
    assert purser.json("budget", "list", "--kind", "user", "--over", "0.5")["items"] == []
    assert f"user:{name}" in purser.run("budget", "list", "--kind", "user", "--limit", "1000").stdout


def test_a_template_is_set_field_by_field_shown_and_cleared(purser: Commands, name: str) -> None:
    pattern = f"session:{name}-*"
    purser.json("budget", "set", pattern, "--limit-usd", "0.25", "--mode", "hard")
    made = purser.json("budget", "set", pattern, "--deadline-s", "60", "--clear", "mode")
    assert made["fields"].keys() == {"limit_nano_usd", "approval"}
    assert purser.json("budget", "show", pattern) == made
    shown = purser.json("budget", "show", f"session:{name}-1")
    assert (shown["limit_nano_usd"], shown["sources"]["limit_nano_usd"]) == (250_000_000, f"template {pattern}")
    assert "limit_usd: '0.25'" in purser.run("budget", "show", pattern).stdout
    emptied = purser.run("budget", "set", pattern, "--clear", "limit_nano_usd", "--clear", "approval")
    assert emptied.stdout == f"{pattern}: removed.\n"
    assert purser.json("budget", "show", pattern) == {"name": pattern, "fields": None}
