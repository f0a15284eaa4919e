"""Replays count what proposed policies would have refused, delayed and saved."""

from dataclasses import replace

from purser.budget.gate import Amount, Verdict
from purser.budget.holds import Report
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.pricing.call_prices import charge, quote
from purser.budget.scopes import Kind, Scope
from purser.budget.usage import Usage
from tests.support.budgets.replays import PRICES, refused, replayed
from tests.support.ledger import SESSION, TENANT, Books


async def test_the_table_sums_what_is_saved_by_scope(pool: Pool) -> None:
    books = Books.on(pool)
    for number in range(4):
        await books.spend(f"k{number}", 50, 500, SESSION[0], f"task:t{number % 2}")
    wanted: dict[str, PolicyPatch | None] = {
        SESSION[0]: PolicyPatch.parse({"limit_tokens": 120, "mode": "hard", "backpressure": [["0.8", 100]]})
    }
    replay, _ = await replayed(books, TENANT, wanted)
    (line,) = replay.lines.values()
    assert line.to_json() == replay.total.to_json() == {
        "refused": 2, "asked": 0, "waited": 0, "tasks_stopped": 2, "delayed": 1, "delay_ms": 100,
        "saved_tokens": 100, "saved_nano_usd": 1_000, "eased": 0, "eased_tokens": 0, "eased_nano_usd": 0,
    }  # fmt: skip
    assert (await replayed(books, TENANT, {}))[0].total.refused == 0
    await books.check()


async def test_what_tasks_requested_and_what_is_stored_applies_where_the_file_names_nothing(pool: Pool) -> None:
    books = Books.on(pool)
    await books.spend("k1", 50, 0, SESSION[0], "task:t1")
    await books.spend("k2", 50, 0, SESSION[0], "task:t1")
    await books.budget("task:t1", task="t1", limit_tokens=60, mode="hard")
    assert (await replayed(books, TENANT, {}))[0].total.refused == 1
    await books.budget(SESSION[0], limit_tokens=10, mode="hard")
    assert (await replayed(books, TENANT, {}))[0].total.refused == 2
    assert (await replayed(books, TENANT, {SESSION[0]: None}))[0].total.refused == 1


async def test_grants_of_the_history_count(pool: Pool) -> None:
    books = Books.on(pool)
    await books.spend("k1", 50)
    await books.grant(SESSION[0], 100)
    await books.spend("k2", 50)
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_tokens": 20, "mode": "hard"})}
    assert (await replayed(books, TENANT, wanted))[0].total.refused == 1


async def test_an_addition_that_does_not_fit_is_not_held(pool: Pool) -> None:
    books = Books.on(pool)
    first = await books.hold("k1", 50)
    await books.ledger.extend(TENANT, first, Amount(60))
    await books.hold("k2", 40)
    await books.settle(first, 110)
    await books.hold("k3", 1)
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_tokens": 100, "mode": "hard"})}
    replay, answers = await replayed(books, TENANT, wanted)
    assert [answer.verdict for answer in answers] == [Verdict.ALLOW, Verdict.WARN, Verdict.REFUSE]
    assert replay.total.refused == 1


async def test_a_call_whose_first_attempt_was_presumed_holds_nothing_after_its_end(pool: Pool) -> None:
    books = Books.on(pool)
    hold_id = await books.hold("k1", 40)
    for attempt in (1, 2):
        await books.ledger.start_attempt(TENANT, hold_id, attempt)
    await books.settle(hold_id, 10, attempt=2)
    await books.hold("k2", 50)
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_tokens": 100, "mode": "hard"})}
    _, answers = await replayed(books, TENANT, wanted)
    assert [answer.verdict for answer in answers] == [Verdict.ALLOW, Verdict.WARN]


async def test_a_call_that_waits_is_charged_and_holds_nothing(pool: Pool) -> None:
    books = Books.on(pool)
    first, second = await books.hold("k1", 50), await books.hold("k2", 60)
    await books.settle(first, 10)
    await books.hold("k3", 70)
    await books.settle(second, 60)
    await books.hold("k4", 90)
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_tokens": 100, "mode": "hard"})}
    _, answers = await replayed(books, TENANT, wanted)
    assert [answer.verdict for answer in answers] == [Verdict.ALLOW, Verdict.WAIT, Verdict.WARN, Verdict.REFUSE]


async def test_a_call_without_a_price_needs_one_where_the_policies_limit_money(pool: Pool) -> None:
    books = Books.on(pool)
    hold_id = await books.hold("k1", 50, priced=False)
    await books.ledger.settle(TENANT, hold_id, 1, Report(Usage(input=50), 0, priced=False))
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_nano_usd": 10**9})}
    _, answers = await replayed(books, TENANT, wanted)
    assert [answer.unpriced for answer in answers] == [True]


async def test_a_report_with_the_providers_id_is_measured(pool: Pool) -> None:
    books = Books.on(pool)
    quoted = quote(PRICES, "gpt-4o", Usage(input=100, output=100))
    hold_id = await books.hold("k1", quoted.full.tokens, quoted.full.nano_usd, *SESSION, model="gpt-4o")
    report = charge(PRICES, "gpt-4o", Usage(input=100, output=60), 0)
    await books.ledger.settle(TENANT, hold_id, 1, replace(report, provider_request_id="chatcmpl-1"))
    wanted: dict[str, PolicyPatch | None] = {
        SESSION[0]: PolicyPatch.parse({"limit_tokens": 150, "ladder": [{"ratio": "0.1", "output": 50}]})
    }
    replay, _ = await replayed(books, TENANT, wanted)
    figures = replay.total.to_json()
    assert (figures["eased"], figures["eased_tokens"]) == (1, 10)


async def test_a_further_limit_has_no_default_limits(pool: Pool) -> None:
    defaults = {kind: Policy() for kind in Kind} | {Kind.SESSION: Policy(limit_tokens=10, mode=Mode.HARD)}
    books = Books.on(pool, defaults=defaults)
    await books.budget(SESSION[0], limit_tokens=100)
    await books.spend("k1", 50)
    assert await refused(books, day={"limit_nano_usd": 1_000}) == 0
    assert await refused(books, day={"limit_tokens": 49}) == 1


CALL = ("session:s1", "task:t1")
LADDER = [
    {"ratio": "0.5", "model": ["gpt-4o-mini"]},
    {"ratio": "0.8", "output": 20},
    {"ratio": "0.9", "compression": 0.5},
]


async def served(books: Books, key: str, model: str | None, prompt: int, cap: int, output: int) -> None:
    """A call that was made, with its output cap and what it used of it."""
    quoted = quote(PRICES, model, Usage(input=prompt, output=cap))
    hold_id = await books.hold(key, quoted.full.tokens, quoted.full.nano_usd, *CALL, model=model, priced=quoted.priced)
    await books.ledger.settle(TENANT, hold_id, 1, charge(PRICES, model, Usage(input=prompt, output=output), 0))


async def test_calls_take_the_steps_of_a_ladder_and_each_step_shows_what_it_saves(pool: Pool) -> None:
    books = Books.on(pool)
    for number in range(4):
        await served(books, f"k{number}", "gpt-4o", 100, 100, 60)
    await served(books, "no model", None, 10, 10, 5)
    await books.hold("open", 10, 0, *CALL, model="gpt-4o")
    wanted: dict[str, PolicyPatch | None] = {
        SESSION[0]: PolicyPatch.parse({"limit_tokens": 610, "mode": "hard", "ladder": LADDER, "backpressure": []})
    }
    replay, answers = await replayed(books, TENANT, wanted)
    assert [answer.amount and answer.amount.tokens for answer in answers] == [200, 200, 120, 120, 20, 10]
    usual, cheaper = PRICES.price("gpt-4o"), PRICES.price("gpt-4o-mini")
    cost = usual.cost(Usage(input=100, output=60))
    halved = cost - cheaper.cost(Usage(input=100, output=60))
    cut = cost - cheaper.cost(Usage(input=100, output=20))
    total = replay.total.to_json()
    assert (total["refused"], total["eased"], total["eased_tokens"], total["eased_nano_usd"]) == (
        0, 3, 80, halved + 2 * cut,
    )  # fmt: skip
    assert replay.lines[Scope.parse(SESSION[0])].ladder_json() == [
        {"step": 1, "ratio": 0.5, "calls": 1, "unknown": 0, "saved_tokens": 0, "saved_nano_usd": halved},
        {"step": 2, "ratio": 0.8, "calls": 1, "unknown": 0, "saved_tokens": 40, "saved_nano_usd": cut},
        {"step": 3, "ratio": 0.9, "calls": 1, "unknown": 2, "saved_tokens": 40, "saved_nano_usd": cut},
    ]


async def test_embeddings_and_tools_take_no_steps(pool: Pool) -> None:
    books = Books.on(pool)
    await served(books, "vectors", "gpt-4o", 100, 0, 0)
    await books.hold("tool", 0, 50, *CALL, labels=(Scope.parse("tool:search"),))
    wanted: dict[str, PolicyPatch | None] = {SESSION[0]: PolicyPatch.parse({"limit_tokens": 100, "ladder": LADDER})}
    replay, _ = await replayed(books, TENANT, wanted)
    assert replay.total.eased == 0
    assert not any(line.steps for line in replay.lines.values())
