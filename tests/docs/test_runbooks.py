"""Every alert has a runbook, and every runbook an alert."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from purser.budget.postgres.connections.pools import Pool
from tests.support.servers.deployment import services

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations" / "runbooks.md"
KUBERNETES = ROOT / "compose" / "deploy" / "kubernetes"
PROGRAMS = {"amtool", "psql", "purser"}
"""Programs of which the page has functions that run them in a container."""
PARTS = ("How bad", "Look at", "Do", "Over when", "Silence")


@cache
def _alerts() -> dict[str, Any]:
    groups = yaml.safe_load((ROOT / "compose" / "deploy" / "prometheus" / "rules.yml").read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


def _sections() -> dict[str, str]:
    _, *sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {heading: text for heading, _, text in (section.partition("\n") for section in sections)}


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    assert list(_sections()) == list(_alerts()), "in the order of rules.yml"


@pytest.mark.parametrize("alert", _alerts())
def test_a_runbook_says_how_bad_it_is_what_to_do_and_when_it_is_over(alert: str) -> None:
    text = _sections()[alert]
    assert text.lstrip().startswith(f"`{_alerts()[alert]['labels']['severity']}`: ")
    assert re.findall(r"^- \*\*([\w ]+)\*\*: ", text, re.MULTILINE) == list(PARTS)


@pytest.mark.parametrize("alert", _alerts())
def test_an_alert_links_to_its_runbook_and_to_a_page_that_the_runbook_names(alert: str) -> None:
    annotations = _alerts()[alert]["annotations"]
    assert annotations["runbook_url"].endswith(f"/docs/operations/runbooks#{alert.lower()}")
    page = re.sub(r".*}}(/[^{&]*).*", r"\1", annotations["dashboard"])
    assert f"`{page}`" in _sections()[alert]


async def test_statements_are_taken_and_that_of_used_up_budgets_names_those_of_all_tenants(pool: Pool) -> None:
    await pool.execute("""
        insert into scopes (tenant, kind, id)
        values ('a', 'tenant', 'full'), ('b', 'user', 'full'), ('b', 'user', 'under'), ('b', 'user', 'renewed'),
               ('b', 'user', 'unlimited'), ('b', 'task', 'full');
        insert into balances (tenant, scope_id, window_start, spent_tokens, held_tokens, limit_tokens, updated_at)
        select tenant, scope_id, now(), 60, 40, case id when 'under' then 101 when 'unlimited' then null else 100 end,
               now()
        from scopes;
        insert into balances (tenant, scope_id, window_start, limit_tokens, updated_at)
        select tenant, scope_id, w, 100, w from scopes, (select now() + interval '1 day' as w) x
        where id = 'renewed'""")
    statements = re.findall(r'psql "\$DIRECT_DSN" -c "([^"]*)"', PAGE.read_text("utf-8"))
    shown = {statement: await pool.fetch(statement) for statement in statements}
    [full] = [rows for statement, rows in shown.items() if "balances" in statement]
    assert sorted((row["tenant"], row["kind"], row["id"]) for row in full) == [
        ("a", "tenant", "full"), ("b", "user", "full")
    ]  # fmt: skip


def test_each_command_has_its_form_for_containers() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"^(\w+)\(\) { .*docker compose", text, re.MULTILINE)) == PROGRAMS
    # Other code begins with a word too, but has no option, no quote and no name in capitals.
    used = {command for section in _sections().values() for command in re.findall(r"`([a-z]+) [^`]*[A-Z\-\"]", section)}
    assert used <= PROGRAMS | {"curl", "docker", "kubectl"}


def test_the_containers_that_commands_name_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = re.findall(
        r"docker compose -f (\S+) (?:exec(?: -e \S+)?|ps|up -d(?: --scale)?) ([a-z]+)(?: ([a-z]+)`)?", text
    )
    assert len(named) == text.count("docker compose -f")
    assert {file for file, *_ in named} == {"compose/deploy/docker-compose.yml"}
    assert {service for _, *each in named for service in filter(None, each)} <= set(services())
    manifests = [one for path in KUBERNETES.glob("*.yaml") for one in yaml.safe_load_all(path.read_text())]
    known = {(one["kind"], one["metadata"]["name"]) for one in manifests if "metadata" in one}
    kinds = {"deploy": "Deployment", "service": "Service"}
    found = {(kinds[kind], name) for kind, name in re.findall(r" (deploy|service)/([\w-]+)", text)}
    assert found
    assert found <= known
