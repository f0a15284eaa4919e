"""Asks of a batch that cannot fit, even once all open holds have ended: they are answered with the others."""

import pytest

from purser.budget.errors import KeyReused
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldRequest, HoldState
from purser.budget.postgres.ledger.batches import Ask, hold_together
from tests.budget.postgres.ledger.parallel.test_batches import used_session
from tests.support.ledger import TENANT, Books, request


@pytest.fixture
async def session(books: Books) -> Books:
    return await used_session(books)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(request("b", 901), id="tokens"),
        pytest.param(request("b", 1, 901), id="money"),
        pytest.param(request("b", 901, least=Amount(901)), id="a part of it"),
        pytest.param(request("b", 901, start=True), id="with its first attempt"),
    ],
)
async def test_an_ask_that_cannot_fit_even_once_all_holds_have_ended_is_answered(
    session: Books, other: HoldRequest
) -> None:
    await session.hold("open", 10)
    rows = await session.rows()
    asks = [Ask(TENANT, one) for one in (request("a", 9), other, request("c", 1))]
    first, answer, last = await hold_together(session.pool, session.settings, None, asks)
    assert [one and one.hold_id is not None for one in (first, last)] == [True, True]
    assert answer is not None
    assert (answer.hold_id, answer.state, answer.attempt) == (None, HoldState.NONE, None)
    assert answer.gate.verdict is Verdict.REFUSE
    [scope] = answer.gate.scopes
    assert (scope.view.spent.tokens, scope.view.held.tokens) == (100, 19)
    after = await session.rows()
    assert rows | {"holds": rows["holds"] + 3, "entries": rows["entries"] + 2} == after
    with pytest.raises(KeyReused):
        await session.ask("b", 900)
    assert (await session.ledger.hold(TENANT, other)).state is HoldState.NONE
    await session.check()


async def test_a_batch_of_asks_that_cannot_fit_moves_nothing(session: Books) -> None:
    asks = [Ask(TENANT, request(key, 901)) for key in ("a", "b")]
    rows = await session.rows()
    answers = await hold_together(session.pool, session.settings, None, asks)
    assert [answer and answer.gate.verdict for answer in answers] == [Verdict.REFUSE] * 2
    assert await session.rows() == rows | {"holds": rows["holds"] + 2}


async def test_a_batch_leaves_alone_an_ask_that_only_open_holds_keep_out(session: Books) -> None:
    await session.hold("open", 10)
    asks = [Ask(TENANT, one) for one in (request("a", 9), request("b", 895))]
    first, waits = await hold_together(session.pool, session.settings, None, asks)
    assert first is not None
    assert (first.hold_id is not None, waits) == (True, None)
    assert (await session.ask("b", 895)).gate.verdict is Verdict.WAIT
