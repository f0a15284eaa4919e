"""`GET /v1/ledger`: filters, pages, and CSV files of any length."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from purser.gateway.access.roles import Role
from purser.gateway.reports.ledger_csv import COLUMNS
from tests.gateway.conftest import RunningGateway
from tests.support.ledger import meet

DELETED = "insert into closed_ranges select 1, 0, $1, 0, 0, 0, repeat('0', 256)::bit(256), '', '', now()"
PATH = ["tenant:default", "session:s1", "task:t1", "agent:t1/a1"]


async def spend(client: httpx.AsyncClient, key: str, tokens: int = 100, path: Sequence[str] = PATH, **more: Any) -> str:
    """Holds and settles; the id of the hold."""
    asked = {"key": key, "path": [*path], "tokens": tokens, "nano_usd": 7, **more}
    hold_id: str = (await client.post("/v1/holds", json=asked)).json()["hold_id"]
    usage = {"usage": {"input": tokens - 10, "output": 10}, "nano_usd": 5, "attempt": 1}
    assert (await client.post(f"/v1/holds/{hold_id}/settle", json=usage)).status_code == 200
    return hold_id


async def read(client: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    """All items, page by page."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        answer = await client.get("/v1/ledger", params=query | ({"cursor": cursor} if cursor else {}))
        assert answer.status_code == 200, answer.text
        items += answer.json()["items"]
        cursor = answer.json()["cursor"]
        if cursor is None:
            return items


def rows_of(answer: httpx.Response) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.text)))


async def test_an_entry_shows_the_change_the_balance_after_it_and_the_hold(admin: httpx.AsyncClient) -> None:
    hold_id = await spend(admin, "k1", model="m")
    settle, hold = await read(admin, scope="session:s1")
    assert settle["kind"], hold["kind"] == ("settle", "hold")
    assert settle["hold_id"] == hold_id
    assert settle["moved"]["tokens"] == {"spent": 100, "held": -100, "granted": 0, "overrun": 0}
    assert settle["after"]["nano_usd"] == {"spent": 5, "held": 0, "granted": 0, "overrun": 0}
    assert (settle["key"], settle["path"], settle["task_id"], settle["model"]) == ("k1", PATH, "t1", "m")
    assert (settle["seq"], settle["window_start"], settle["limit_tokens"], settle["mode"]) == (2, None, 200_000, "soft")


async def test_entries_come_newest_first_and_in_pages(admin: httpx.AsyncClient) -> None:
    for number in range(3):
        await spend(admin, f"k{number}")
    whole = await read(admin)
    assert len(whole) == 24
    assert [entry["entry_id"] for entry in await read(admin, limit=5)] == [entry["entry_id"] for entry in whole]
    numbers = [int(entry["entry_id"]) for entry in whole]
    assert numbers == sorted(numbers, reverse=True)


async def test_each_filter_leaves_what_it_names(admin: httpx.AsyncClient) -> None:
    first = await spend(admin, "k1")
    await spend(admin, "k2", path=["session:s1", "task:t2"])
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 500})
    assert len(await read(admin, hold=first)) == 8
    assert {entry["key"] for entry in await read(admin, task="t2")} == {"k2"}
    assert len(await read(admin, task="t2")) == 6
    assert {entry["scope"] for entry in await read(admin, scope="agent:t1/a1")} == {"agent:t1/a1"}
    [lowered] = await read(admin, kind="limit_lowered")
    assert (lowered["ref"], lowered["hold_id"], lowered["key"], lowered["path"]) == ("ada", None, None, [])
    assert await read(admin, scope="session:never") == []
    assert await read(admin, hold="999999") == []
    assert await read(admin, task="t1", kind="settle", scope="session:s1") == [
        entry for entry in await read(admin, hold=first) if (entry["kind"], entry["scope"]) == ("settle", "session:s1")
    ]


async def test_a_span_of_time_takes_its_begin_and_not_its_end(admin: httpx.AsyncClient) -> None:
    await spend(admin, "k1", path=["tenant:default"])
    settle, hold = await read(admin)
    assert await read(admin, **{"from": settle["at"]}) == [settle]
    assert await read(admin, to=settle["at"]) == [hold]
    assert await read(admin, **{"from": hold["at"], "to": hold["at"]}) == []


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"scope": "s1"}, "scope"),
        ({"kind": "spend"}, "kind"),
        ({"hold": "x"}, "hold"),
        ({"cursor": "!"}, "cursor"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-11-20T18:00:00"}, "from"),
        ({"to": "17"}, "to"),
        ({"from": "2026-11-21T00:00:00Z", "to": "2026-11-20T00:00:00Z"}, "from"),
        ({"limit": "0"}, "limit"),
        ({"limit": "1001"}, "limit"),
        ({"format": "xml"}, "format"),
        ({"task": "a\0b"}, "NUL"),
    ],
)
async def test_a_filter_that_says_nothing_is_422_and_named(
    admin: httpx.AsyncClient, query: dict[str, str], named: str
) -> None:
    answer = await admin.get("/v1/ledger", params=query)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]


async def test_agents_do_not_read_it_and_no_tenant_sees_another(
    gateway: RunningGateway, agent: httpx.AsyncClient
) -> None:
    hold_id = await spend(agent, "k1")
    assert (await agent.get("/v1/ledger")).status_code == 403
    viewer = await gateway.client(Role.VIEWER)
    assert len(await read(viewer)) == 8
    other = await gateway.client(Role.ADMIN, tenant="other")
    for query in ({}, {"hold": hold_id}, {"task": "t1"}, {"scope": "session:s1"}):
        assert await read(other, **query) == []
    assert rows_of(await other.get("/v1/ledger", params={"format": "csv"})) == []


async def test_csv_has_every_entry_of_the_filter_and_the_same_figures(admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/budgets/session:s1", json={"window": "5h"})
    for number in range(3):
        await spend(admin, f"k{number}", model="m")
    answer = await admin.get("/v1/ledger", params={"scope": "session:s1", "limit": 1}, headers={"Accept": "text/csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.text.splitlines()[0] == ",".join(COLUMNS)
    rows, entries = rows_of(answer), await read(admin, scope="session:s1")
    assert len(rows) == 6
    for row, entry in zip(rows, entries, strict=True):
        assert row["entry_id"] == entry["entry_id"]
        assert int(row["moved_held_tokens"]) == entry["moved"]["tokens"]["held"]
        assert int(row["spent_nano_usd"]) == entry["after"]["nano_usd"]["spent"]
        assert (row["path"], row["window_start"], row["rolling"]) == (" > ".join(PATH), "", "5h")
        assert (entry["window_start"], entry["rolling"]) == (None, "5h")


async def test_csv_goes_on_beyond_what_is_held_in_memory(
    admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.budget.postgres.reports.entries.CHUNK", 4)
    for number in range(3):
        await spend(admin, f"k{number}")
    rows = rows_of(await admin.get("/v1/ledger", params={"format": "csv"}))
    assert [row["entry_id"] for row in rows] == [entry["entry_id"] for entry in await read(admin)]


@pytest.mark.parametrize("text", ['=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "＝1"])
async def test_text_that_a_spreadsheet_would_run_is_shown_instead(admin: httpx.AsyncClient, text: str) -> None:
    await spend(admin, text, path=["session:s1"], model=text)
    for row in rows_of(await admin.get("/v1/ledger", params={"format": "csv"})):
        assert (row["key"], row["model"]) == (f"'{text}", f"'{text}")
        assert int(row["moved_held_tokens"]) in (100, -100)


async def test_a_format_goes_before_what_is_accepted(admin: httpx.AsyncClient) -> None:
    answer = await admin.get("/v1/ledger", params={"format": "json"}, headers={"Accept": "text/csv"})
    assert answer.json() == {"items": [], "cursor": None}


async def test_an_answer_says_if_entries_of_its_range_were_deleted(own_gateway: RunningGateway) -> None:
    admin = await own_gateway.client(Role.ADMIN)
    await spend(admin, "k1")
    asked = {"/v1/ledger": {}, "/v1/usage": {"by": "session"}}
    for path, query in asked.items():
        assert "purser-complete-after" not in (await admin.get(path, params=query)).headers
    deleted = "2026-01-01T00:00:00+00:00"
    await own_gateway.pool.execute(DELETED, datetime.fromisoformat(deleted))
    for path, query in (*asked.items(), ("/v1/ledger", {"format": "csv"})):
        early = await admin.get(path, params={**query, "from": "2025-12-31T00:00:00Z"})
        assert early.headers["purser-complete-after"] == deleted
        late = await admin.get(path, params={**query, "from": "2026-01-01T00:00:01Z"})
        assert "purser-complete-after" not in late.headers


@pytest.mark.parametrize("asked", ["/v1/ledger", "/v1/ledger?format=csv", "/v1/usage?by=session"])
async def test_an_answer_says_if_entries_are_deleted_while_it_begins(own_gateway: RunningGateway, asked: str) -> None:
    admin = await own_gateway.client(Role.ADMIN)
    answer = await meet(
        own_gateway.pool,
        lambda own: own.execute("lock table holds"),
        lambda: admin.get(asked),
        lambda own: own.execute(DELETED, datetime.now(UTC)),
    )
    assert "purser-complete-after" in answer.headers
