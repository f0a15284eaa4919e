"""A usage file beside a real ledger."""

from datetime import UTC, date, timedelta

from purser.budget.holds import Report
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.reports.reconciling import reconcile
from purser.budget.reports.provider_usage import ProviderUse, UsageFile, read_usage_file
from purser.budget.usage import Usage
from tests.support.ledger import TENANT, Books, request

PATH = ("session:s1",)


async def charge(
    books: Books, key: str, tokens: int, request_id: str = "", model: str = "openai/gpt-4o", tenant: str = TENANT
) -> str:
    """Charges one call; returns the id that its request carried."""
    held = await books.ledger.hold(tenant, request(key, 1_000, 9, *PATH, model=model))
    assert held.hold_id is not None
    await books.ledger.settle(tenant, held.hold_id, 1, Report(Usage(input=tokens), 5, provider_request_id=request_id))
    return f"{held.hold_id}-1"


async def test_requests_are_found_by_the_id_of_the_provider_or_of_purser(books: Books) -> None:
    await charge(books, "a", 100, "req_1")
    sent = await charge(books, "b", 50)
    await charge(books, "c", 70, "req_3")
    lines = ["request_id,model,input_tokens,output_tokens", "req_1,gpt-4o-2024-08-06,90,10", f"{sent},gpt-4o,50,0"]
    file = read_usage_file("\n".join([*lines, "req_3,gpt-4o,60,0", "req_4,gpt-4o,40,0"]))
    found = await reconcile(books.pool, [TENANT], file)
    assert [gap.request_id for gap in found.unguarded] == ["req_4"]
    assert [(gap.request_id, gap.ledger_tokens) for gap in found.differing] == [("req_3", 70)]
    assert (found.unguarded_calls, found.provider_calls) == (1, 4)
    assert (await reconcile(books.pool, ["other"], file)).captured_tokens == 0
    assert (await audit(books.pool)).ok, "the id is beside the figures of the report"


async def test_days_are_compared_by_model(books: Books) -> None:
    for key, tokens in (("a", 100), ("b", 50), ("free", 0)):
        await charge(books, key, tokens, model="openai/gpt-4o")
    await charge(books, "c", 30, model="anthropic/claude-sonnet-4-5")
    at = await books.pool.fetchval("select min(started_at) from attempts")
    day = at.astimezone(UTC).date()

    async def compared(use: ProviderUse, form: str = "openai") -> tuple[bool, int | None, int]:
        found = await reconcile(books.pool, [TENANT], UsageFile(form, (use,)))
        return found.ok, found.unguarded_calls, found.captured_tokens

    assert await compared(ProviderUse("", day, "gpt-4o", 2, 150)) == (True, 0, 150)
    assert await compared(ProviderUse("", day, "gpt-4o", 3, 190)) == (False, 1, 150)
    assert await compared(ProviderUse("", day - timedelta(days=1), "gpt-4o", 2, 150)) == (False, 2, 0)
    claude = ProviderUse("", day, "claude-sonnet-4-5", None, 30)
    for form in ("anthropic", "anthropic-csv"):
        assert await compared(claude, form) == (True, None, 30)


async def test_a_bill_of_several_tenants_is_compared_with_the_charges_of_all_that_are_named(books: Books) -> None:
    sent = [await charge(books, "a", 100, tenant="acme"), await charge(books, "a", 50, tenant="globex")]
    at = await books.pool.fetchval("select min(started_at) from attempts")
    day = at.astimezone(UTC).date()
    days = UsageFile("openai", (ProviderUse("", day, "gpt-4o", 2, 150),))
    calls = zip(sent, (100, 50), strict=True)
    requests = UsageFile("requests", tuple(ProviderUse(name, day, "gpt-4o", 1, tokens) for name, tokens in calls))
    for file in (days, requests):
        for tenants, captured in ((["acme"], 100), (["globex"], 50), (["acme", "globex"], 150), (None, 150)):
            found = await reconcile(books.pool, tenants, file)
            assert (found.captured_tokens, found.ok) == (captured, captured == 150)


async def test_the_last_day_of_the_calendar_is_compared(books: Books) -> None:
    found = await reconcile(books.pool, [TENANT], UsageFile("openai", (ProviderUse("", date.max, "gpt-4o", 1, 10),)))
    assert [gap.day for gap in found.unguarded] == ["9999-12-31"]


async def test_a_repeated_report_with_another_id_is_the_same_report(books: Books) -> None:
    hold_id = await books.hold("a", 100, 9, *PATH, model="m")
    for request_id in ("req_1", ""):
        report = Report(Usage(input=10), 5, provider_request_id=request_id)
        settled = await books.ledger.settle(TENANT, hold_id, 1, report)
        assert settled.charged.tokens == 10
