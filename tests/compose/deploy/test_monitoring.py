"""Rules, dashboards and configurations of the monitoring, checked by the tools that read them."""

import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

PROMETHEUS = Path("compose/deploy/prometheus")
GRAFANA = Path("compose/deploy/grafana")
RULES = [
    rule for group in yaml.safe_load((PROMETHEUS / "rules.yml").read_text("utf-8"))["groups"] for rule in group["rules"]
]
NAMES = [rule["alert"] for rule in RULES]
PANELS = [
    (path.stem, panel)
    for path in sorted((GRAFANA / "dashboards").glob("*.json"))
    for panel in json.loads(path.read_text("utf-8"))["panels"]
]
EXPRESSIONS = [rule["expr"] for rule in RULES] + [target["expr"] for _, panel in PANELS for target in panel["targets"]]
LEDGER = (
    "purser_budget", "purser_overrun", "purser_shadow", "purser_approval", "purser_holds", "purser_attempts",
    "purser_reports", "purser_ask_", "purser_asks", "purser_outbox", "purser_webhooks", "purser_webhook_deliver",
    "purser_webhook_event",
)  # fmt: skip
"""Figures that are read from Postgres."""


def tool(*command: str) -> str:
    """Run a tool on our files, require success, and return its output."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is missing: apt-get install prometheus prometheus-alertmanager")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# --- rules -----------------------------------------------------------------------------------------------------------


def test_prometheus_takes_the_rules() -> None:
    assert f"{len(RULES)} rules found" in tool("promtool", "check", "rules", str(PROMETHEUS / "rules.yml"))


def test_alerts_fire_and_recover_when_they_should(tmp_path: Path) -> None:
    given = yaml.safe_load((PROMETHEUS / "rules_test.yml").read_text("utf-8"))
    assert given["rule_files"] == ["rules.yml"]
    files = []
    for number, case in enumerate(given["tests"]):
        # With the rules alone that it asks about: at each step, promtool evaluates all rules that it is given.
        asked = {one["alertname"] for one in case["alert_rule_test"]}
        rules = {"groups": [{"name": "asked", "rules": [rule for rule in RULES if rule["alert"] in asked]}]}
        (tmp_path / f"rules-{number}.yml").write_text(yaml.safe_dump(rules))
        files.append(tmp_path / f"test-{number}.yml")
        files[-1].write_text(yaml.safe_dump(given | {"rule_files": [f"rules-{number}.yml"], "tests": [case]}))
    assert tool("promtool", "test", "rules", *map(str, files)).count("SUCCESS") == len(given["tests"])


def test_every_alert_is_tested_silent_firing_and_recovered() -> None:
    seen: dict[str, list[str]] = defaultdict(list)
    for group in yaml.safe_load((PROMETHEUS / "rules_test.yml").read_text("utf-8"))["tests"]:
        if group["name"] not in NAMES:
            continue
        for one in sorted(group["alert_rule_test"], key=lambda one: int(one["eval_time"].removesuffix("m"))):
            seen[one["alertname"]].append("fires" if one["exp_alerts"] else "silent")
    assert dict(seen) == {name: ["silent", "fires", "silent"] for name in NAMES}


def _selectors(expression: str) -> Iterator[tuple[str, str, str]]:
    """The metric and the matchers of each selector, and what precedes it."""
    for found in re.finditer(r"\b((?:purser|temporal)_\w+|up)\b(?:\{([^}]*)\})?", expression):
        yield found[1], found[2] or "", expression[: found.start()]


def _aggregations(before: str) -> list[str]:
    """Functions whose parentheses are open at the end of a part of an expression, the innermost first."""
    closed, found = 0, []
    for at in range(len(before) - 1, -1, -1):
        if before[at] == ")":
            closed += 1
        elif before[at] == "(" and closed:
            closed -= 1
        elif before[at] == "(":
            found += re.findall(r"(\w*)(?:\s+(?:by|without)\s*\([^)]*\))?\s*$", before[:at])[:1]
    return found


def test_every_ratio_is_tested_with_too_little_volume() -> None:
    groups = yaml.safe_load((PROMETHEUS / "rules_test.yml").read_text("utf-8"))["tests"]
    little = next(group for group in groups if group["name"] == "ratios without the minimum volume")
    by_time = {rule["alert"] for rule in RULES if "sum by (tokenizer)" in rule["expr"]}
    ratios = {rule["alert"] for rule in RULES if re.search(r"\) / |\n?/ \(", rule["expr"])}
    assert {one["alertname"] for one in little["alert_rule_test"]} == ratios - by_time


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_an_alert_says_how_bad_it_is_what_it_is_and_where_to_go(rule: dict[str, Any]) -> None:
    assert rule["alert"].startswith("Purser")
    assert rule["labels"].keys() - {"scopes"} == {"severity"}
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    annotations = rule["annotations"]
    assert set(annotations) == {"summary", "description", "dashboard", "runbook_url"}
    assert annotations["dashboard"].startswith("{{ $externalLabels.purser_url }}/")
    docs = "{{ $externalLabels.purser_url }}/docs/operations/runbooks"
    assert annotations["runbook_url"] == f"{docs}#{rule['alert'].lower()}"


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_figures_that_every_gateway_exports_are_never_added_up(rule: dict[str, Any]) -> None:
    for metric, _, before in _selectors(rule["expr"]):
        if metric.startswith(LEDGER):
            first = next(one for one in _aggregations(before) if one in ("sum", "count", "avg", "max", "min"))
            assert first in ("max", "min"), rule["expr"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_total_that_the_ledger_may_lose_is_not_taken_for_a_counter_that_begins_anew(expression: str) -> None:
    for metric, _, before in _selectors(expression):
        if metric.startswith(LEDGER):
            assert not {"increase", "rate", "irate", "resets"} & set(_aggregations(before))


# --- configurations --------------------------------------------------------------------------------------------------


def test_prometheus_takes_its_configuration() -> None:
    # Only the syntax: the secret file exists only in the container.
    tool("promtool", "check", "config", "--syntax-only", str(PROMETHEUS / "prometheus.yml"))


def test_the_links_of_alerts_have_their_labels() -> None:
    given = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text("utf-8"))
    assert set(given["global"]["external_labels"]) == {"purser_url"}
    assert given["rule_files"] == ["rules.yml"]


def test_alertmanager_takes_its_configuration() -> None:
    assert "SUCCESS" in tool("amtool", "check-config", "compose/deploy/alertmanager/alertmanager.yml")


def test_no_alert_on_budgets_silences_one_on_others() -> None:
    text = Path("compose/deploy/alertmanager/alertmanager.yml").read_text("utf-8")
    silencing = "".join(str(rule["source_matchers"]) for rule in yaml.safe_load(text)["inhibit_rules"])
    assert [name for name in NAMES if "Budget" in name and name in silencing] == []


def test_alerts_that_silence_others_exist() -> None:
    text = Path("compose/deploy/alertmanager/alertmanager.yml").read_text("utf-8")
    for rule in yaml.safe_load(text)["inhibit_rules"]:
        for matcher in rule["source_matchers"] + rule["target_matchers"]:
            assert set(matcher.partition("=")[2].strip('~ "').split("|")) <= set(NAMES)


# --- dashboards ------------------------------------------------------------------------------------------------------


def test_there_is_a_dashboard_for_each_question() -> None:
    assert {name for name, _ in PANELS} == {"budgets", "approvals", "latency", "compression"}


@pytest.mark.parametrize(("dashboard", "panel"), PANELS, ids=[f"{name}-{panel['id']}" for name, panel in PANELS])
def test_a_panel_can_be_read(dashboard: str, panel: dict[str, Any]) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert all(target["expr"] and target["legendFormat"] for target in panel["targets"])


def test_dashboards_are_provisioned_with_the_source_that_they_ask() -> None:
    sources = yaml.safe_load((GRAFANA / "provisioning/datasources/purser.yml").read_text("utf-8"))["datasources"]
    asked = {target["datasource"]["uid"] for _, panel in PANELS for target in panel["targets"]}
    assert asked == {source["uid"] for source in sources} == {"prometheus"}
    folders = yaml.safe_load((GRAFANA / "provisioning/dashboards/purser.yml").read_text("utf-8"))["providers"]
    assert [folder["options"]["path"] for folder in folders] == ["/var/lib/grafana/dashboards"]


# --- the page about it -----------------------------------------------------------------------------------------------

SNIPPETS = re.findall(
    r"^```yaml\n(.*?)^```$", Path("docs/how-to/alerts.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_configurations_on_the_page_are_taken(tmp_path: Path, snippet: str) -> None:
    path = tmp_path / "snippet.yml"
    path.write_text(snippet)
    command = ("amtool", "check-config") if "receivers" in snippet else ("promtool", "check", "config", "--syntax-only")
    tool(*command, str(path))


def test_rules_know_purser_by_the_jobs_that_configurations_name() -> None:
    jobs = set(re.findall(r"job_name: (\S+)", "".join(SNIPPETS) + (PROMETHEUS / "prometheus.yml").read_text("utf-8")))
    assert jobs == {"purser-gateway", "purser-worker"}
    assert all(re.fullmatch("purser-.*", job) for job in jobs)
    for expression in EXPRESSIONS:
        for metric, matchers, _ in _selectors(expression):
            # No other program serves metrics of these names.
            assert metric.startswith("purser_") or 'job=~"purser-.*"' in matchers, expression
