"""The documentation under `/docs`, to which alerts and errors link."""

import re
from pathlib import Path

import httpx
import pytest
import yaml

from purser.gateway.http.documentation import PREFIX, rendered
from tests.gateway.conftest import RunningGateway

ROOT = Path(__file__).parents[3]
PAGES = [str(page.relative_to(ROOT / "docs")) for page in sorted((ROOT / "docs").rglob("*.md"))]
RULES = ROOT / "compose/deploy/prometheus/rules.yml"


def test_headings_have_the_anchors_that_links_name() -> None:
    title, body = rendered("# Budgets & limits\n\n## `hard` or *soft*?\n")
    assert title == "Budgets & limits"
    assert '<h1 id="budgets--limits">' in body
    assert '<h2 id="hard-or-soft">' in body


def test_markup_in_a_page_is_shown_as_text() -> None:
    assert "<script>" not in rendered("# A\n\n<script>alert(1)</script>\n")[1]


async def test_every_alert_links_to_a_section_that_the_gateway_serves_publicly(gateway: RunningGateway) -> None:
    anonymous = await gateway.with_secret(None)
    pages: dict[str, str] = {}
    groups = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    for link in {rule["annotations"]["runbook_url"] for group in groups for rule in group["rules"]}:
        path, _, anchor = link.removeprefix("{{ $externalLabels.purser_url }}").partition("#")
        if path not in pages:
            answer = await anonymous.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
            pages[path] = answer.text
        assert f'id="{anchor}"' in pages[path], link


async def test_all_pages_are_served_and_their_links_lead_to_pages(gateway: RunningGateway) -> None:
    anonymous = await gateway.with_secret(None)
    for page in PAGES:
        answer = await anonymous.get(f"{PREFIX}{page.removesuffix('.md')}")
        assert answer.status_code == 200, page
        for link in re.findall(r'(?:href|src)="(?!https?:)([^"#]+)', answer.text):
            found = await anonymous.get(str(answer.url.join(link)))
            assert found.status_code == 200, (page, link)


async def test_the_first_page_is_the_quickstart(gateway: RunningGateway) -> None:
    anonymous = await gateway.with_secret(None)
    for path in ("/docs", "/docs/"):
        assert (await anonymous.get(path)).headers["location"] == "/docs/quickstart"


@pytest.mark.parametrize(
    "name",
    ["nothing", "operations/nothing", "..%2f..%2fpyproject", "%2e%2e/app.py", "images/x.png"],
)
async def test_what_is_no_page_is_404(gateway: RunningGateway, name: str) -> None:
    anonymous = await gateway.with_secret(None)
    answer = await anonymous.get(httpx.URL(gateway.url).copy_with(raw_path=f"/docs/{name}".encode()))
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:purser:not-found"


async def test_a_page_runs_nothing_and_loads_nothing_from_elsewhere(gateway: RunningGateway) -> None:
    anonymous = await gateway.with_secret(None)
    answer = await anonymous.get("/docs/quickstart")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "<script" not in answer.text
