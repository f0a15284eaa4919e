"""Start and charge of an attempt."""

from collections.abc import Callable
from time import monotonic
from typing import cast

import pytest

from purser.activities.calls.attempts import Attempt, Attempts, anew, known_usage
from purser.activities.errors import Cost, ProviderRejected, ProviderUnavailable
from purser.budget.errors import NotFound
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest, Report
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.call_prices import Unpriced
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.budget.usage import Usage
from purser.wire.limits import MAX_CALL_TOKENS
from tests.support.budgets.prices import per_million
from tests.support.ledger import TENANT, Books
from tests.support.servers.postgres_proxy import Trap, When, postgres_proxy

USED = Usage(input=20, output=10)
NO_PRICES = PriceBook({}, {}, None)


@pytest.mark.parametrize(
    ("prices", "admitted_at", "report", "counted"),
    [
        (PriceBook({}, {}, per_million("1", "4")), 400_000, Report(USED, 60_000), []),
        (NO_PRICES, 0, Report(USED, 0, priced=False), [Unpriced.FREE]),
        (NO_PRICES, 400_000, Report(USED, 400_000, priced=False), [Unpriced.ESTIMATED]),
    ],
)
def test_a_call_whose_price_is_gone_is_charged_what_it_could_cost(
    prices: PriceBook, admitted_at: int, report: Report, counted: list[Unpriced]
) -> None:
    outcomes: list[Unpriced] = []
    assert report_of(USED, admitted_at, prices, outcomes.append) == report
    assert outcomes == counted


def test_an_attempt_that_used_nothing_needs_no_price() -> None:
    outcomes: list[Unpriced] = []
    assert report_of(Usage(), 400_000, NO_PRICES, outcomes.append) == Report(Usage(), 0)
    assert outcomes == []


def test_usage_that_no_call_can_have_is_charged_as_estimated() -> None:
    beyond = Usage(input=MAX_CALL_TOKENS + 1)
    report = report_of(beyond, 400, NO_PRICES, lambda outcome: None)
    assert (report.amount, report.usage.estimated) == (Amount(100, 400), True)


@pytest.mark.parametrize(
    ("failure", "reported", "known"),
    [
        (ProviderRejected("bad_request", cost=Cost.NOTHING), None, Usage()),
        (ProviderRejected("bad_request", cost=Cost.NOTHING), USED, USED),
        (ProviderUnavailable("connection_broken", cost=Cost.UNKNOWN), USED, USED),
        (ProviderUnavailable("connection_broken", cost=Cost.UNKNOWN), None, None),
        (TimeoutError(), None, None),
    ],
)
def test_the_usage_of_a_failed_request_is_known_if_it_was_reported_or_surely_nothing(
    failure: Exception, reported: Usage | None, known: Usage | None
) -> None:
    assert known_usage(failure, reported) == known


def test_a_repeated_key_whose_hold_has_ended_asks_for_the_same_under_further_keys() -> None:
    request = HoldRequest("k", Path.parse(["session:s1"]), Amount(10), patient=False)
    further = list(anew(request, 2))
    assert [one.key for one in further] == ["k.again1", "k.again2"]
    assert {one.digest for one in further} == {request.digest}


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("earlier", [0, 1])
async def test_a_start_whose_answer_is_lost_starts_one_attempt(dsn: str, pool: Pool, when: When, earlier: int) -> None:
    hold_id = await Books.on(pool).hold("k1", 100)
    for _ in range(earlier):  # a worker that died may have sent its request
        await Books.on(pool).ledger.start_attempt(TENANT, hold_id)
        await pool.execute("update attempts set started_at = started_at - interval '1 minute'")

    async def nothing() -> None: ...

    async with postgres_proxy(dsn) as proxy, await create_pool(proxy.dsn, size=2) as breaking:
        trap = proxy.set(Trap("from ledger_start_attempt", when, nothing))
        started = await Attempts(Books.on(breaking).ledger, NO_PRICES).start(TENANT, "some-model", hold_id, Amount(100))
    assert trap.sprung.is_set()
    assert started.number == earlier + 1
    states = [row["state"] for row in await pool.fetch("select state from attempts order by attempt")]
    assert states == ["presumed"] * earlier + ["started"]


async def test_the_attempt_of_a_start_is_told_from_an_earlier_one_by_its_age(pool: Pool) -> None:
    books = Books.on(pool)
    hold_id = await books.hold("k1", 100)
    assert await books.ledger.attempt_since(TENANT, hold_id, monotonic()) == 1
    await books.ledger.start_attempt(TENANT, hold_id)
    await pool.execute("update attempts set started_at = started_at - interval '1 minute'")
    assert await books.ledger.attempt_since(TENANT, hold_id, monotonic() - 59) == 2
    assert await books.ledger.attempt_since(TENANT, hold_id, monotonic() - 3_600) == 1
    await books.settle(hold_id, 10)
    assert await books.ledger.attempt_since(TENANT, hold_id, monotonic() - 3_600) == 2
    with pytest.raises(NotFound):
        await books.ledger.attempt_since(TENANT, "4711", monotonic())


def report_of(usage: Usage, asked_nano_usd: int, prices: PriceBook, on_unpriced: Callable[[Unpriced], None]) -> Report:
    asked = Amount(100, asked_nano_usd)
    attempts = Attempts(cast(Ledger, None), prices, on_unpriced)
    return attempts.report(Attempt("acme", "some-model", "1", 1, asked, asked), usage)
