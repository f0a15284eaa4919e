"""Usage reports: every figure agrees with the entries of the ledger."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from purser.budget.errors import InvalidPolicy
from purser.budget.gate import Amount
from purser.budget.holds import Report
from purser.budget.postgres.reports.usage import UsageReports
from purser.budget.reports.usage import By, UsageLine
from purser.budget.scopes import Scope
from purser.budget.usage import COUNTS, Usage
from tests.support.ledger import TENANT, Books

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ALWAYS = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
PATH = ("session:s1", "task:t1", "agent:t1/a1")
ONE_OF_EACH = Usage(1, 20, 300, 4_000, 50_000, reasoning=7, unsplit=600_000)


@pytest.fixture
async def reports(books: Books) -> UsageReports:
    return UsageReports(books.pool)


async def lines(reports: UsageReports, by: By, *span: datetime, tenant: str = TENANT) -> dict[str, UsageLine]:
    return {line.id: line for line in (await reports.report(tenant, by, *(span or ALWAYS))).lines}


def adds_up(line: UsageLine) -> bool:
    return sum(line.tokens[name] for name in COUNTS) + line.presumed.tokens == line.charged.tokens


async def test_tokens_come_by_class(books: Books, reports: UsageReports) -> None:
    hold_id = await books.hold("k", 700_000, 9, *PATH, model="m")
    await books.ledger.settle(TENANT, hold_id, 1, Report(ONE_OF_EACH, 5))
    for by, name in ((By.SESSION, "s1"), (By.TASK, "t1"), (By.AGENT, "t1/a1"), (By.MODEL, "m")):
        line = (await lines(reports, by))[name]
        assert [*line.tokens.values()] == [1, 20, 300, 4_000, 50_000, 7, 600_000]
        assert (line.charged, line.attempts) == (Amount(654_321, 5), 1)


async def test_usage_by_label_needs_no_budget_and_is_not_counted_again_where_there_is_one(
    books: Books, reports: UsageReports
) -> None:
    team, app = Scope.parse("tag:team=search"), Scope.parse("tag:app=x")
    await books.budget(str(team), limit_tokens=1_000)
    await books.budget("model:m", limit_tokens=1_000)
    for key, labels in (("both", (team, app)), ("one", (team,)), ("none", ())):
        await books.settle(await books.hold(key, 100, 0, *PATH, labels=labels, model="m"), 40)
    by_tag = await lines(reports, By.TAG)
    assert {name: line.charged.tokens for name, line in by_tag.items()} == {"team=search": 80, "app=x": 40, "": 40}
    assert {name: line.charged.tokens for name, line in (await lines(reports, By.MODEL)).items()} == {"m": 120}
    for key, tool in (("first", "search"), ("second", "search"), ("other", "draw")):
        await books.budget(f"tool:{tool}", limit_tokens=1_000)
        hold_id = await books.hold(key, 0, 9, *PATH, labels=(team, Scope.parse(f"tool:{tool}")))
        await books.settle(hold_id, 0, 5)
    by_tool = await lines(reports, By.TOOL)
    assert {name: line.charged for name, line in by_tool.items()} == {
        "search": Amount(0, 10), "draw": Amount(0, 5), "": Amount(120),
    }  # fmt: skip
    assert by_tool["search"].attempts == 2


async def test_by_day_each_hold_counts_once_in_the_time_zone_asked_for(books: Books, reports: UsageReports) -> None:
    for hour, tokens in ((21, 1), (23, 20), (25, 300)):
        books.at(datetime(2026, 11, 20, tzinfo=UTC) + timedelta(hours=hour))
        await books.spend(f"at {hour}", tokens, 0, *PATH)
    found = {}
    for zone in ("UTC", "Europe/Berlin"):
        report = await reports.report(TENANT, By.DAY, *ALWAYS, timezone=zone)
        found[zone] = {line.id: line.charged.tokens for line in report.lines}
    assert found["UTC"] == {"2026-11-20": 21, "2026-11-21": 300}
    assert found["Europe/Berlin"] == {"2026-11-20": 1, "2026-11-21": 320}


async def test_days_in_a_zone_that_only_python_knows_are_an_error_that_names_it(
    books: Books, reports: UsageReports
) -> None:
    await books.spend("k", 1)
    with pytest.raises(InvalidPolicy, match="Mars/Olympus"):
        await reports.report(TENANT, By.DAY, *ALWAYS, timezone="Mars/Olympus")


async def test_an_overrun_is_part_of_the_charge_and_reported_separately(books: Books, reports: UsageReports) -> None:
    await books.settle(await books.hold("k", 100, 10), 130, 15)
    line = (await lines(reports, By.SESSION))["s1"]
    assert (line.charged, line.overrun, line.attempts) == (Amount(130, 15), Amount(30, 5), 1)


async def test_an_attempt_that_never_reported_is_presumed_until_its_late_report(
    books: Books, reports: UsageReports
) -> None:
    books.at(NOON)
    hold_id = await books.hold("k", 100, 10)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    await books.ledger.release(TENANT, hold_id=hold_id)
    line = (await lines(reports, By.SESSION))["s1"]
    assert (line.charged, line.presumed, line.presumed_attempts, line.attempts) == (
        Amount(100, 10),
        Amount(100, 10),
        1,
        1,
    )
    books.at(NOON + timedelta(hours=1))
    await books.settle(hold_id, 60, 6)
    line = (await lines(reports, By.SESSION))["s1"]
    assert (line.charged, line.presumed, line.presumed_attempts, line.attempts) == (Amount(60, 6), Amount(), 0, 1)
    later = (await lines(reports, By.SESSION, NOON + timedelta(minutes=1), ALWAYS[1]))["s1"]
    assert (later.charged, later.presumed, later.attempts) == (Amount(-40, -4), Amount(-100, -10), 0)
    assert later.tokens["input"] == 60


async def test_a_report_after_the_release_of_what_never_started_is_an_attempt(
    books: Books, reports: UsageReports
) -> None:
    hold_id = await books.hold("k", 100)
    await books.ledger.release(TENANT, hold_id=hold_id)
    await books.settle(hold_id, 60)
    line = (await lines(reports, By.SESSION))["s1"]
    assert (line.charged.tokens, line.attempts, line.presumed_attempts, line.overrun.tokens) == (60, 1, 0, 60)


async def test_a_span_takes_the_charge_at_its_begin_and_not_the_one_at_its_end(
    books: Books, reports: UsageReports
) -> None:
    for minute in range(3):
        books.at(NOON + timedelta(minutes=minute))
        await books.spend(f"k{minute}", 10**minute)
    span = NOON, NOON + timedelta(minutes=2)
    assert (await lines(reports, By.SESSION, *span))["s1"].charged.tokens == 11
    assert await lines(reports, By.SESSION, NOON, NOON) == {}


async def test_a_hold_counts_for_every_agent_on_its_path_and_once_by_model(books: Books, reports: UsageReports) -> None:
    await books.spend("k", 10, 0, *PATH, "agent:t1/a2")
    assert {name: line.charged.tokens for name, line in (await lines(reports, By.AGENT)).items()} == {
        "t1/a1": 10,
        "t1/a2": 10,
    }
    assert (await lines(reports, By.MODEL))[""].charged.tokens == 10


async def test_no_tenant_sees_another(books: Books, reports: UsageReports) -> None:
    await books.hold("k", 10, 0, *PATH, model="m")
    await books.spend("k2", 10, 0, *PATH)
    for by in By:
        assert await lines(reports, by, tenant="other") == {}


async def test_pages_go_on_after_the_last_id(books: Books, reports: UsageReports) -> None:
    for name in ("b", "A", "a", "~"):
        await books.spend(name, 1, 0, f"session:{name}")
    first = await reports.report(TENANT, By.SESSION, *ALWAYS, limit=3)
    assert [line.id for line in first.lines] == ["A", "a", "b"]
    rest = await reports.report(TENANT, By.SESSION, *ALWAYS, after=first.following, limit=3)
    assert ([line.id for line in rest.lines], rest.following) == (["~"], None)


async def test_sums_equal_the_ledger_to_the_unit(books: Books, reports: UsageReports, seed: int) -> None:
    """Whatever happened: reports by scope are the balances, by model everything, and spans add up to the whole."""
    await _happen(books, random.Random(seed))
    for by in (By.SESSION, By.TASK, By.AGENT):
        found = await lines(reports, by)
        for scope, spent, overrun in await _balances(books, by):
            line = found.pop(scope)
            assert (line.charged, line.overrun) == (spent, overrun)
            assert adds_up(line)
        assert all(line.charged == Amount() for line in found.values())
    models = await lines(reports, By.MODEL)
    charged = await books.pool.fetchrow("select sum(charged_tokens) as tokens, sum(charged_nano) as nano from holds")
    assert charged is not None
    assert sum((line.charged for line in models.values()), Amount()) == Amount(charged["tokens"], charged["nano"])
    counted = await books.pool.fetch("select state, count(*) as n from attempts where state <> 'started' group by 1")
    counts = {row["state"]: row["n"] for row in counted}
    assert sum(line.attempts for line in models.values()) == sum(counts.values())
    assert sum(line.presumed_attempts for line in models.values()) == counts.get("presumed", 0)
    await _spans_add_up(reports, seed)


async def _happen(books: Books, dice: random.Random) -> None:
    for step in range(120):
        books.at(NOON + timedelta(minutes=step))
        task = dice.randrange(3)
        path = [f"session:s{dice.randrange(2)}", f"task:t{task}", f"agent:t{task}/a{dice.randrange(2)}"]
        amount, model = (dice.randrange(50, 200), dice.randrange(20)), dice.choice([None, "m1", "m2"])
        hold_id = await books.hold(f"k{step}", *amount, *path[: dice.randrange(1, 4)], model=model)
        attempt = 1
        if dice.random() < 0.3:
            await books.ledger.start_attempt(TENANT, hold_id, 1)
            attempt = dice.randrange(1, 3)
        if dice.random() < 0.2:
            await books.ledger.release(TENANT, hold_id=hold_id)
            attempt = 1
        if dice.random() < 0.8:
            fresh, read, five, hour, output = (dice.randrange(40) for _ in range(5))
            usage = Usage(fresh, read, five, hour, output, unsplit=dice.randrange(9))
            await books.ledger.settle(TENANT, hold_id, attempt, Report(usage, dice.randrange(30)))


async def _balances(books: Books, by: By) -> list[tuple[str, Amount, Amount]]:
    rows = await books.pool.fetch(
        "select s.id, sum(spent_tokens)::bigint as t, sum(spent_nano)::bigint as n, sum(overrun_tokens)::bigint as ot,"
        " sum(overrun_nano)::bigint as o from balances b join scopes s using (tenant, scope_id)"
        " where kind = $1 group by 1 having sum(spent_tokens) <> 0 or sum(spent_nano) <> 0", by,
    )  # fmt: skip
    return [(row["id"], Amount(row["t"], row["n"]), Amount(row["ot"], row["o"])) for row in rows]


async def _spans_add_up(reports: UsageReports, seed: int) -> None:
    edges = [
        ALWAYS[0],
        *(NOON + timedelta(minutes=m) for m in sorted(random.Random(seed).sample(range(120), 3))),
        ALWAYS[1],
    ]
    added: Counter[Any] = Counter()
    for since, until in pairwise(edges):
        for name, line in (await lines(reports, By.SESSION, since, until)).items():
            assert adds_up(line)
            added[name, "tokens"] += line.charged.tokens
            added[name, "attempts"] += line.attempts
            added[name, "presumed"] += line.presumed.tokens
    for name, line in (await lines(reports, By.SESSION)).items():
        assert added[name, "tokens"] == line.charged.tokens
        assert added[name, "attempts"] == line.attempts
        assert added[name, "presumed"] == line.presumed.tokens


async def test_a_report_can_be_limited_to_holds_with_certain_scopes_on_their_path(
    books: Books, reports: UsageReports
) -> None:
    for key, path in (("k1", ("session:s1", "task:t1")), ("k2", ("session:s1", "task:t2")), ("k3", ("session:s2",))):
        hold_id = await books.hold(key, 100, 10, *path, model="m")
        await books.ledger.settle(TENANT, hold_id, 1, Report(Usage(10, output=int(key[1])), 5))

    async def charged(by: By, *within: str) -> dict[str, int]:
        report = await reports.report(TENANT, by, *ALWAYS, within=[Scope.parse(name) for name in within])
        return {line.id: line.charged.tokens for line in report.lines}

    assert await charged(By.SESSION) == {"s1": 23, "s2": 13}
    assert await charged(By.SESSION, "task:t2") == {"s1": 12}
    assert await charged(By.MODEL, "session:s1") == {"m": 23}
    assert await charged(By.TASK, "session:s1", "task:t1") == {"t1": 11}
    assert await charged(By.MODEL, "session:s2", "task:t1") == {}
    assert await charged(By.MODEL, "session:s1", "task:nobody") == {}
