"""Addresses of pages: which parameters they take, and that links and forms of pages have no others."""

import re
from html import unescape
from itertools import chain
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import httpx
import pytest

from purser.gateway.access.roles import Role
from purser.gateway.dashboard.pages import load_pages, router
from tests.gateway.access.test_sign_in import signed_in
from tests.gateway.conftest import RunningGateway


def page_paths() -> list[str]:
    """The paths of all pages in FastAPI's notation."""
    load_pages()
    return [getattr(route, "path", "") for route in router.routes]


PATHS = [path.format(task_id="t1", session_id="s1", key="k1") for path in page_paths()]
TAKES = {
    "/": "id, link, state",
    "/overview": "by, period",
    "/approvals": "id, link, state",
    "/budgets": "exhausts, kind, order, over, q, scope",
    "/tasks": "before, q, state",
    "/tasks/t1": "before",
    "/tasks/t1/calls/k1": "",
    "/sessions": "before, q",
    "/sessions/s1": "thread",
    "/ledger": "by, cursor, from, kind, scope, task, to",
    "/changes": "action, by, cursor, from, target, to",
    "/keys": "",
    "/webhooks": "before, id",
    "/health": "",
    "/search": "q",
}
"""Parameters of each page."""
ALERTS = Path("compose/deploy/prometheus/rules.yml")
LINK = re.compile(r'href="(/[^"]*)"')
FORM = re.compile(r'<form[^>]* method="get"[^>]* action="([^"]*)".*?</form>', re.DOTALL)
FIELD = re.compile(r'<(?:input|select)[^>]* name="(\w+)"')


@pytest.fixture
async def person(gateway: RunningGateway) -> httpx.AsyncClient:
    return await signed_in(gateway)


async def followed(person: httpx.AsyncClient, first: str) -> dict[str, int]:
    """Follows links and sends forms, beginning at a page, one for each set of parameters; returns their statuses."""
    found: dict[str, int] = {}
    left, shapes = [first], set[tuple[str, frozenset[str]]]()
    while left:
        address = left.pop()
        path, _, query = address.partition("?")
        shape = path, frozenset(parse_qs(query, keep_blank_values=True))
        if shape in shapes:
            continue
        shapes.add(shape)
        answer = await person.get(address)
        found[address] = answer.status_code
        if answer.headers["content-type"].startswith("text/html") and not address.startswith("/docs"):
            forms = (
                f"{form[1]}?{urlencode(dict.fromkeys(FIELD.findall(form[0]), ''))}"
                for form in FORM.finditer(answer.text)
            )
            left += {*chain(map(unescape, LINK.findall(answer.text)), forms)} - {*found, *left}
    return found


@pytest.mark.parametrize("path", PATHS)
async def test_unknown_parameter_is_named_with_those_that_the_page_takes(person: httpx.AsyncClient, path: str) -> None:
    answer = await person.get(path, params={"status": "<b>"})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "text/html; charset=utf-8")
    known = f", or use one of these instead: {TAKES[path]}" if TAKES[path] else ""
    assert f"“status” is not a parameter of this page. Remove it from the address{known}." in answer.text
    assert 'href="/budgets"' in answer.text, "the navigation remains"


async def test_a_parameter_comes_once(person: httpx.AsyncClient) -> None:
    answer = await person.get("/tasks?q=a&q=b")
    assert answer.status_code == 422
    assert "“q” is in the address more than once. Leave one." in answer.text


async def test_names_of_unknown_parameters_are_shown_as_text(person: httpx.AsyncClient) -> None:
    answer = await person.get("/tasks", params={"<b>" * 40: "1"})
    assert "“&lt;b&gt;" in answer.text
    assert answer.text.count("&lt;b&gt;") < 40, "a long one is cut"
    assert "<b>" * 2 not in answer.text


async def test_links_and_forms_of_pages_and_links_of_alerts_have_no_unknown_parameters(
    gateway: RunningGateway, person: httpx.AsyncClient, agent: httpx.AsyncClient, task_queue: str
) -> None:
    task_id = f"t-{task_queue[5:]}"
    one = {"id": "a", "model": "priced-model", "instructions": "Read."}
    task = {"session_id": "s1", "task_id": task_id, "input": "Compare.", "agents": [one]}
    assert (await agent.post("/v1/tasks", json=task)).is_success
    path = ["session:s1", f"task:{task_id}"]
    hold = await agent.post("/v1/holds", json={"key": "k1", "path": path, "tokens": 1})
    assert hold.json()["verdict"] == "allow"
    admin = await gateway.client(Role.ADMIN)
    await admin.put("/v1/budgets/session:s2", json={"limit_tokens": 1, "mode": "approval"})
    asked = await agent.post("/v1/holds", json={"key": "k2", "path": ["session:s2"], "tokens": 9})
    assert asked.json()["verdict"] == "ask"
    found = await followed(person, "/")
    assert [address for address, status in found.items() if status != httpx.codes.OK] == []
    assert {address.partition("?")[0] for address in found} >= {"/approvals", "/tasks", "/sessions", "/ledger"}
    links = {*re.findall(r"dashboard: '\{\{ \$externalLabels.purser_url \}\}([^']+)'", ALERTS.read_text())}
    assert len(links) > 5
    for link in links:
        address = re.sub(r"\{\{ \$labels\.kind \}\}", "session", link)
        assert (await person.get(address)).status_code == 200, address
