"""Overviews of sessions for pages."""

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.sessions import overviews as module
from purser.context.postgres.sessions.overviews import Overviews
from tests.support.actors import ADA
from tests.support.context.conversations import talk, user

TENANT, MODEL = "acme", "gpt-4o"


@pytest.fixture
async def overviews(pool: Pool) -> Overviews:
    """Overviews of five sessions: s4 is the newest, s3 has two threads."""
    conversations = Conversations(pool)
    for number in range(5):
        await conversations.append(TENANT, f"s{number}", talk(4), origin="o", user_id="Mia" if number % 2 else None)
        await pool.execute(
            "update sessions set created_at = '2026-01-01'::timestamptz + $1 * interval '1 day' where session_id = $2",
            number, f"s{number}",
        )  # fmt: skip
    await conversations.append(TENANT, "s3", [user("Hello there.")], origin="t", thread="t1/a")
    await Pins(pool).pin(TENANT, "s3", 1, author=ADA)
    return Overviews(pool)


async def test_sessions_come_newest_first_with_what_they_hold(overviews: Overviews) -> None:
    rows = await overviews.page(TENANT)
    assert [row.session_id for row in rows] == ["s4", "s3", "s2", "s1", "s0"]
    assert (rows[1].messages, rows[1].pins, rows[1].summaries, rows[1].user_id) == (5, 1, 0, "Mia")


async def test_pages_continue_where_the_last_one_ended(overviews: Overviews) -> None:
    first = await overviews.page(TENANT, limit=2)
    rest = await overviews.page(TENANT, before=(first[-1].created_at, first[-1].session_id))
    assert [row.session_id for row in (*first, *rest)] == ["s4", "s3", "s2", "s1", "s0"]


@pytest.mark.parametrize(("search", "found"), [("S1", "s1"), (" mia", "s3 s1"), ("%", ""), ("s", "s4 s3 s2 s1 s0")])
async def test_search_looks_into_ids_of_sessions_and_users(overviews: Overviews, search: str, found: str) -> None:
    assert [row.session_id for row in await overviews.page(TENANT, search=search)] == found.split()


async def test_conversations_of_a_session_are_listed_separately(overviews: Overviews) -> None:
    threads = await overviews.threads(TENANT, "s3", model=MODEL)
    assert [(one.thread, one.messages, one.last_seq) for one in threads] == [("", 4, 4), ("t1/a", 1, 5)]
    assert all(one.tokens > 0 for one in threads)


async def test_growth_adds_up_to_all_tokens_in_few_points(
    overviews: Overviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    [own, _] = await overviews.threads(TENANT, "s3", model=MODEL)
    grown = await overviews.growth(TENANT, "s3", model=MODEL)
    assert [(one.seq, one.messages) for one in grown] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert grown[-1].tokens == own.tokens
    monkeypatch.setattr(module, "MOST_POINTS", 2)
    fewer = await overviews.growth(TENANT, "s3", model=MODEL)
    assert [(one.seq, one.tokens) for one in fewer] == [(grown[n].seq, grown[n].tokens) for n in (1, 3)]


async def test_newest_messages_are_found_by_where_they_begin(overviews: Overviews) -> None:
    assert await overviews.newest(TENANT, "s3", "", limit=2) == 3
    assert await overviews.newest(TENANT, "s3", "", before=3, limit=2) == 1
    assert await overviews.newest(TENANT, "s3", "", before=1, limit=2) is None


async def test_another_tenant_sees_nothing(overviews: Overviews) -> None:
    assert await overviews.page("other") == []
    assert await overviews.threads("other", "s3", model=MODEL) == []
    assert await overviews.growth("other", "s3", model=MODEL) == []
    assert await overviews.newest("other", "s3", "") is None
