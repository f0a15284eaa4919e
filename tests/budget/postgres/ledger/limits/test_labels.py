"""Labels join a hold where a policy exists for them, and cost nothing elsewhere."""

import asyncio

from purser.budget.gate import Verdict
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.batches import Ask, hold_together
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policy_sets import PolicySets
from purser.budget.scopes import Scope
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books, request

TEAM = Scope.parse("tag:team=search")


async def template(books: Books, pattern: str, **fields: object) -> None:
    sets = PolicySets(books.pool, books.policies)
    await sets.apply(TENANT, {pattern: PolicyPatch.parse(fields)}, by=TESTER)


async def test_a_label_without_policy_creates_no_row_and_no_balance(books: Books, pool: Pool) -> None:
    await books.hold("k", 10, labels=(TEAM,), model="gpt-4o")
    assert await pool.fetchval("select array_agg(kind) from scopes") == ["session"]
    assert await pool.fetchval("select labels from holds") == ["tag:team=search", "model:gpt-4o"]


async def test_a_label_limit_refuses_with_nothing_held_on_the_path(books: Books) -> None:
    await books.budget(str(TEAM), limit_tokens=100, mode="hard")
    await books.hold("first", 60, labels=(TEAM,))
    answer = await books.ask("second", 60, 0, "session:s2", labels=(TEAM,), patient=False)
    assert answer.gate.verdict is Verdict.REFUSE
    assert answer.gate.decisive.scope == TEAM
    assert [str(one.scope) for one in answer.gate.scopes] == ["session:s2", "tag:team=search"]
    assert await books.balance("session:s2") == {}
    assert await books.balance(str(TEAM)) == {"held": 60}


async def test_what_is_settled_topped_up_and_released_counts_on_the_label(books: Books) -> None:
    await books.budget("model:openai/gpt-4o", limit_tokens=1_000, mode="hard")
    hold_id = await books.hold("k", 100, model="openai/gpt-4o")
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    await books.ledger.start_attempt(TENANT, hold_id, 2)
    await books.settle(hold_id, 70, attempt=2)
    released = await books.hold("other", 100, model="openai/gpt-4o")
    await books.ledger.release(TENANT, hold_id=released)
    assert await books.balance("model:openai/gpt-4o") == await books.balance() == {"spent": 170}
    assert await books.entries("model:openai/gpt-4o") == await books.entries()


async def test_a_label_joins_by_a_template_from_its_first_call_on(books: Books) -> None:
    await template(books, "tag:team=*", limit_tokens=100, mode="hard")
    await books.hold("k", 60, labels=(TEAM, Scope.parse("tag:app=x")))
    assert await books.balance(str(TEAM)) == {"held": 60}
    assert not (await books.ask("more", 60, labels=(TEAM,), patient=False)).hold_id
    assert await books.balance("tag:app=x") == {}


async def test_a_label_leaves_with_its_last_field(books: Books) -> None:
    await books.budget(str(TEAM), limit_tokens=100, mode="hard")
    await books.budget(str(TEAM), clear=["limit_tokens", "mode"])
    await books.hold("k", 500, labels=(TEAM,))
    assert await books.balance(str(TEAM)) == {}


async def test_the_answer_repeats_with_its_labels_after_their_policy_is_gone(books: Books) -> None:
    await books.budget(str(TEAM), limit_tokens=100, mode="hard")
    first = await books.ask("k", 60, labels=(TEAM,))
    await books.budget(str(TEAM), clear=["limit_tokens", "mode"])
    again = await books.ask("k", 60, labels=(TEAM,))
    assert again.repeated
    assert again.gate == first.gate
    await books.settle(again.hold_id or "", 50)
    assert await books.balance(str(TEAM)) == {"spent": 50}


async def test_a_batch_holds_on_the_labels_of_each_of_its_asks(books: Books, pool: Pool) -> None:
    await books.budget(str(TEAM), limit_tokens=1_000, mode="hard")
    await books.hold("warm", 1)
    asks = [Ask(TENANT, request(f"k{n}", 100, labels=(TEAM,) if n < 2 else ())) for n in range(4)]
    answers = await hold_together(pool, books.settings, None, asks)
    gates = [answer.gate for answer in answers if answer is not None]
    assert [len(gate.scopes) for gate in gates] == [2, 2, 1, 1]
    assert [gate.scopes[-1].view.held.tokens for gate in gates] == [0, 100, 201, 301]
    assert await books.balance(str(TEAM)) == {"held": 200}


async def test_a_batch_that_a_label_does_not_admit_is_decided_one_by_one(books: Books) -> None:
    await books.hold("warm", 1)
    await books.budget(str(TEAM), limit_tokens=1_000, mode="hard")
    answers = await asyncio.gather(*(books.ask(f"k{n}", 300, labels=(TEAM,), patient=False) for n in range(9)))
    assert sum(answer.hold_id is not None for answer in answers) == 3
    assert await books.balance(str(TEAM)) == {"held": 900}


async def test_200_callers_in_batches_and_alone_never_pass_the_limit_of_a_label(books: Books, pool: Pool) -> None:
    await books.budget(str(TEAM), limit_tokens=10_000, mode="hard")
    ledgers = [books.ledger, *(Ledger(pool, books.settings) for _ in range(20))]

    async def caller(number: int) -> bool:
        ledger = ledgers[0 if number % 2 else number % len(ledgers)]
        asked = request(f"k{number}", 300, 0, f"session:s{number % 5}", labels=(TEAM,), patient=False)
        answer = await ledger.hold(TENANT, asked)
        if answer.hold_id is not None and number % 3 == 0:
            await books.settle(answer.hold_id, 200)
        return answer.hold_id is not None

    admitted = sum(await asyncio.gather(*map(caller, range(200))))
    assert 33 <= admitted < 50
    highest = await pool.fetchval(
        "select max(e.spent_tokens + e.held_tokens) from entries e join scopes s using (tenant, scope_id)"
        " where s.kind = 'tag'"
    )
    assert 9_700 <= highest <= 10_000
