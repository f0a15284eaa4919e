"""Every alert has a runbook, and every runbook an alert."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations" / "runbooks.md"
PARTS = ("How bad", "Look at", "Do", "Over when", "Silence")


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
