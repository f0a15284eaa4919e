"""The part of a limit that is reserved for last answers."""

import pytest

from purser.budget.errors import InvalidPolicy
from purser.budget.gate import Verdict
from purser.budget.holds import HoldAnswer, HoldState
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.batches import Ask, hold_together
from tests.support.ledger import TENANT, Books, request

PATH = ("session:s1", "task:t1")


async def ask(books: Books, key: str, tokens: int, *, last_of: int = 0) -> HoldAnswer:
    """Asks for tokens of a task, as the last call of one of `last_of` agents or as an ordinary call."""
    shared = (0, last_of) if last_of else None
    return await books.ledger.hold(TENANT, request(key, tokens, 0, *PATH, last_of=shared, patient=False))


async def test_only_last_calls_use_the_reserve_each_its_part(books: Books) -> None:
    await books.budget("task:t1", limit_tokens=1_000, mode="hard", last_answer=0.1)
    assert (await ask(books, "too much", 901)).gate.verdict is Verdict.REFUSE
    assert (await ask(books, "all", 900)).state is HoldState.HELD
    assert (await ask(books, "more", 1)).gate.verdict is Verdict.REFUSE
    assert (await ask(books, "the part of another", 51, last_of=2)).gate.verdict is Verdict.REFUSE
    for key in ("a", "b"):
        assert (await ask(books, key, 50, last_of=2)).state is HoldState.HELD
    assert (await ask(books, "nothing is left", 1, last_of=2)).gate.verdict is Verdict.REFUSE


async def test_a_batch_leaves_the_reserve_alone(books: Books) -> None:
    await books.budget("task:t1", limit_tokens=1_000, mode="hard", last_answer=0.1)
    await books.hold("first", 1, 0, *PATH)
    asks = [Ask(TENANT, request(key, 475, 0, *PATH)) for key in "ab"]
    answers = await hold_together(books.pool, books.ledger.settings, None, asks)
    assert [answer is not None for answer in answers] == [True, False]


async def test_a_further_attempt_of_a_last_call_takes_no_more_of_the_reserve(books: Books) -> None:
    await books.budget("task:t1", limit_tokens=1_000, mode="hard", last_answer=0.1)
    await ask(books, "others", 900)
    held = await ask(books, "last", 50, last_of=2)
    assert held.hold_id is not None
    await books.ledger.start_attempt(TENANT, held.hold_id)
    assert not (await books.ledger.start_attempt(TENANT, held.hold_id)).started


async def test_a_soft_limit_reserves_nothing(books: Books) -> None:
    await books.budget("task:t1", limit_tokens=1_000, mode="soft", last_answer=0.9)
    answer = await ask(books, "k", 700)
    assert [one.headroom_tokens for one in answer.gate.scopes if str(one.scope) == "task:t1"] == [1_000]


@pytest.mark.parametrize("scope", ["tenant:acme", "user:u1", "session:s1"])
async def test_only_tasks_and_agents_can_reserve(books: Books, pool: Pool, scope: str) -> None:
    with pytest.raises(InvalidPolicy, match="set it for tasks and agents"):
        await books.budget(scope, last_answer=0.1)
