"""`GET /v1/usage`: charges over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway
from tests.gateway.reports.test_ledger import spend


async def test_a_report_names_its_span_and_what_each_was_charged(admin: httpx.AsyncClient) -> None:
    await spend(admin, "k1", model="m")
    await spend(admin, "k2", tokens=50, path=["session:s2"])
    answer = await admin.get("/v1/usage", params={"by": "session"})
    report = answer.json()
    assert (report["by"], report["cursor"]) == ("session", None)
    assert datetime.fromisoformat(report["to"]) - datetime.fromisoformat(report["from"]) == timedelta(days=30)
    tokens = {"input": 90, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "output": 10, "reasoning": 0}
    assert report["items"][0] == {
        "id": "s1",
        "tokens": tokens | {"unsplit": 0},
        "charged_tokens": 100,
        "nano_usd": 5,
        "attempts": 1,
        "unpriced_attempts": 0,
        "presumed": {"attempts": 0, "tokens": 0, "nano_usd": 0},
        "overrun": {"tokens": 0, "nano_usd": 0},
    }
    assert [line["id"] for line in report["items"]] == ["s1", "s2"]


@pytest.mark.parametrize(
    ("by", "ids"), [("tenant", ["default"]), ("task", ["t1"]), ("agent", ["t1/a1"]), ("model", ["", "m"])]
)
async def test_it_adds_up_by(admin: httpx.AsyncClient, by: str, ids: list[str]) -> None:
    await spend(admin, "k1", model="m")
    await spend(admin, "k2", tokens=50, path=["session:s2"])
    answer = await admin.get("/v1/usage", params={"by": by})
    assert [line["id"] for line in answer.json()["items"]] == ids


async def test_days_begin_in_the_time_zone_of_the_query(admin: httpx.AsyncClient) -> None:
    await spend(admin, "k1")
    zones = ("Pacific/Kiritimati", "Pacific/Pago_Pago")  # UTC+14 and UTC-11: never the same day
    found = [(await admin.get("/v1/usage", params={"by": "day", "timezone": zone})).json()["items"] for zone in zones]
    assert [line["charged_tokens"] for lines in found for line in lines] == [100, 100]
    assert found[0][0]["id"] > found[1][0]["id"]
    assert (await admin.get("/v1/usage", params={"by": "day", "timezone": "Mars/Base"})).status_code == 422


@pytest.mark.parametrize(
    ("zone", "begin"),
    [
        ("UTC", "2026-10-29T00:00:00Z"),
        ("Europe/Berlin", "2026-10-28T23:00:00Z"),
        ("America/New_York", "2026-10-28T04:00:00Z"),
    ],
)
async def test_the_first_day_of_a_report_without_a_start_is_a_whole_one(
    admin: httpx.AsyncClient, zone: str, begin: str
) -> None:
    query = {"by": "day", "timezone": zone, "to": "2026-11-28T03:30:00Z"}
    assert (await admin.get("/v1/usage", params=query)).json()["from"] == begin
    earliest = query | {"to": "0001-01-01T00:00:01Z"}
    assert (await admin.get("/v1/usage", params=earliest)).json()["items"] == []


@pytest.mark.parametrize(
    ("by", "names"),
    [("session", ["C", "a", "b", "~x"]), ("model", ["m", "漢" * 256, "😀" * 256])],
    ids=["session", "longest models"],
)
async def test_pages_go_on_where_the_last_one_ended(admin: httpx.AsyncClient, by: str, names: list[str]) -> None:
    for number, name in enumerate(reversed(names)):
        await spend(admin, f"k{number}", path=[f"session:{name if by == 'session' else 's1'}"], model=name)
    ids, cursor = [], None
    while True:
        query = {"by": by, "limit": "1"} | ({} if cursor is None else {"cursor": cursor})
        page = (await admin.get("/v1/usage", params=query)).json()
        ids += [line["id"] for line in page["items"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert ids == names


async def test_later_pages_are_of_the_span_of_the_first(admin: httpx.AsyncClient) -> None:
    for name in ("a", "b", "c"):
        await spend(admin, name, path=[f"session:{name}"])
    first = (await admin.get("/v1/usage", params={"by": "session", "limit": "1"})).json()
    for name in ("a", "b"):
        await spend(admin, f"late {name}", path=[f"session:{name}"])
    query = {"by": "session", "cursor": first["cursor"], "from": "2020-01-01T00:00:00Z"}
    second = (await admin.get("/v1/usage", params=query)).json()
    assert (second["from"], second["to"]) == (first["from"], first["to"])
    assert [line["charged_tokens"] for line in first["items"] + second["items"]] == [100, 100, 100]


async def test_a_report_is_narrowed_to_what_has_a_scope_on_its_path(admin: httpx.AsyncClient) -> None:
    await spend(admin, "k1", model="m")
    await spend(admin, "k2", tokens=50, path=["session:s2"], model="n")

    async def models(within: str) -> list[str]:
        answer = await admin.get("/v1/usage", params={"by": "model", "within": within})
        return [line["id"] for line in answer.json()["items"]]

    assert [await models(scope) for scope in ("session:s2", "task:t1", "tenant:default")] == [["n"], ["m"], ["m", "n"]]
    assert await models("session:none") == []


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({}, "by"),
        ({"by": "moon"}, "by"),
        ({"by": "task", "from": "2026-11-21T00:00:00Z", "to": "2026-11-20T00:00:00Z"}, "from"),
        ({"by": "task", "from": "today"}, "from"),
        ({"by": "task", "to": "1700000000"}, "to"),
        ({"by": "task", "cursor": "a"}, "cursor"),
        ({"by": "task", "cursor": "_w"}, "cursor"),
        ({"by": "task", "cursor": "="}, "cursor"),
        ({"by": "task", "cursor": "dDE"}, "cursor"),  # of a release whose cursors had no span
        ({"by": "task", "cursor": "MjAyNi0wMS0wMSAyMDI2LTAxLTAyIHQx"}, "cursor"),  # times without a zone
        ({"by": "task", "within": "moon:x"}, "moon"),
        ({"by": "task", "limit": "0"}, "limit"),
    ],
)
async def test_a_bad_question_is_422_and_named(admin: httpx.AsyncClient, query: dict[str, str], named: str) -> None:
    answer = await admin.get("/v1/usage", params=query)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]


async def test_the_widest_spans_are_answered(admin: httpx.AsyncClient) -> None:
    await spend(admin, "k1", path=["session:s1"])
    for query in ({"from": "0001-01-01T00:00:00Z"}, {"from": "0001-01-01T00:00:00Z", "to": "9999-12-31T23:59:59Z"}):
        assert len((await admin.get("/v1/usage", params={"by": "session", **query})).json()["items"]) == 1
    assert (await admin.get("/v1/usage", params={"by": "session", "to": "0001-01-01T00:00:01Z"})).json()["items"] == []


async def test_a_charge_counts_in_the_span_that_begins_with_it(admin: httpx.AsyncClient) -> None:
    await spend(admin, "k1", path=["session:s1"])
    at = (await admin.get("/v1/ledger", params={"kind": "settle"})).json()["items"][0]["at"]

    async def charged(**span: Any) -> int:
        items = (await admin.get("/v1/usage", params={"by": "session", **span})).json()["items"]
        return sum(line["charged_tokens"] for line in items)

    assert await charged(**{"from": at}) == 100
    assert await charged(to=at) == 0
    assert await charged(to=datetime.now(UTC).isoformat()) == 100


async def test_agents_do_not_read_it_and_no_tenant_sees_another(
    gateway: RunningGateway, agent: httpx.AsyncClient
) -> None:
    await spend(agent, "k1", model="m")
    assert (await agent.get("/v1/usage", params={"by": "model"})).status_code == 403
    other = await gateway.client(Role.VIEWER, tenant="other")
    for by in ("session", "task", "agent", "model"):
        assert (await other.get("/v1/usage", params={"by": by})).json()["items"] == []
