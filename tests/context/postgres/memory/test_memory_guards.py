"""Guards of isolation in SQL: without one of the filters, a test of another file fails.

The specifications are tests of the other files, run unchanged.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.postgres.memory import index as memory_index
from purser.context.postgres.memory import memory
from purser.context.postgres.memory import vectors as memory_vectors
from tests.context.postgres.memory import test_memory, test_memory_vectors
from tests.context.postgres.memory.test_memory_vectors import VectorRoom

Spec = Callable[[Any], Awaitable[None]]
WORDS, INDEX, VECTORS = memory._SQL, memory_index._SQL, memory_vectors._SQL
tenants = test_memory.test_tenants_are_separate
sessions = test_memory.test_a_search_in_one_session_sees_no_other
deleted = test_memory.test_a_deleted_session_is_not_indexed_as_another_one
places = test_memory.test_the_places_of_a_session_begin_anew_after_those_of_another
outcomes = test_memory.test_each_search_of_a_stored_session_reports_its_outcome
claims = test_memory.test_an_index_that_another_process_writes_is_left_to_it
weights = test_memory.test_what_other_tenants_say_weighs_nothing
parts = test_memory.test_a_word_that_no_turn_has_is_found_in_longer_words_of_the_session
published = test_memory.test_a_reply_that_its_task_published_is_found_once_by_the_name_of_its_agent
vectors_of_tenants = test_memory_vectors.test_vectors_of_tenants_are_separate
vectors_of_sessions = test_memory_vectors.test_vectors_of_sessions_and_users_are_separate


@dataclass(frozen=True)
class Guard:
    """A filter of a statement, its replacement, and a specification that fails without it."""

    statements: Mapping[str, str]
    name: str
    sql: str
    instead: str
    spec: Spec


GUARDS = [
    # --- where a search may look
    Guard(WORDS, "words", "s.tenant = $1", "$1::text is not null", outcomes),
    Guard(
        WORDS,
        "words",
        "and (s.user_id = $3) is not false",
        "",
        test_memory.test_a_session_of_another_user_is_not_searched_even_if_it_is_named,
    ),
    Guard(
        WORDS,
        "words",
        "(s.session_id = $2 or s.user_id = $3)",
        "($2::text is not null)",
        test_memory.test_sessions_of_a_user_are_searched_together_and_no_others,
    ),
    # --- what it reads there
    Guard(WORDS, "words", "h.tenant = $1", "$1::text is not null", weights),
    Guard(WORDS, "words", "t.tenant = h.tenant", "true", weights),
    Guard(WORDS, "words", "t.session_id = h.session_id", "true", sessions),
    Guard(
        WORDS,
        "words",
        "t.session_id = $2",
        "true",
        test_memory.test_numbers_of_another_session_exclude_nothing,
    ),
    Guard(WORDS, "words", "where tenant = $1", "where true", weights),
    Guard(WORDS, "words", "and session_id = any(array(select session_id from searched))", "", sessions),
    Guard(WORDS, "words", "p.tenant = $1", "$1::text is not null", parts),
    Guard(WORDS, "words", "and p.session_id = any(array(select session_id from searched))", "", parts),
    Guard(WORDS, "words", "c.tenant = h.tenant", "true", published),
    Guard(WORDS, "words", "c.session_id = h.session_id", "true", published),
    *(
        Guard(
            WORDS,
            "words",
            "session_message(h.tenant, h.session_id, max(t.last_seq))",
            f"(select * from messages where {without} and seq = max(t.last_seq))",
            test_memory.test_a_reply_stays_that_equals_no_published_one_as_messages_with_its_number_elsewhere_do,
        )
        for without in ("session_id = h.session_id", "tenant = h.tenant")
    ),
    Guard(WORDS, "found", "b.tenant = $1", "$1::text is not null", weights),
    Guard(WORDS, "found", "b.session_id = w.session_id", "true", sessions),
    *(
        Guard(
            WORDS, name, f"session_message($1, w.session_id, {seq})", f"(select * from messages where {without})", spec
        )
        for name, seq, without, spec in (
            ("found", "t.seq", "$1::text is not null and session_id = w.session_id and seq = t.seq", tenants),
            ("found", "t.seq", "tenant = $1 and seq = t.seq", sessions),
            ("read", "w.seq", "$1::text is not null and session_id = w.session_id and seq = w.seq", vectors_of_tenants),
            ("read", "w.seq", "tenant = $1 and seq = w.seq", vectors_of_sessions),
        )
    ),
    # --- what the index takes in
    Guard(INDEX, "indexed", "s.tenant = $1", "$1::text is not null", deleted),
    Guard(INDEX, "indexed", "s.session_id = $2", "$2::text is not null", deleted),
    Guard(INDEX, "claim", "tenant = $1", "$1::text is not null", claims),
    Guard(INDEX, "claim", "session_id = $2", "$2::text is not null", claims),
    Guard(INDEX, "unindexed", "tenant = $1", "$1::text is not null", tenants),
    Guard(INDEX, "unindexed", "session_id = $2", "$2::text is not null", sessions),
    Guard(INDEX, "thread_turns", "tenant = $1", "$1::text is not null", tenants),
    Guard(INDEX, "thread_turns", "session_id = $2", "$2::text is not null", places),
    Guard(INDEX, "followed", "tenant = $1", "$1::text is not null", weights),
    Guard(INDEX, "followed", "session_id = $2", "$2::text is not null", sessions),
    # --- vectors
    Guard(VECTORS, "unembedded", "i.tenant = $1", "$1::text is not null", vectors_of_tenants),
    Guard(VECTORS, "unembedded", "m.tenant = i.tenant", "true", vectors_of_tenants),
    Guard(VECTORS, "unembedded", "i.session_id = any($2)", "$2::text[] is not null", vectors_of_sessions),
    Guard(VECTORS, "unembedded", "m.session_id = i.session_id", "true", vectors_of_sessions),
    Guard(VECTORS, "add", "i.tenant = $1", "$1::text is not null", vectors_of_tenants),
    Guard(VECTORS, "add", "i.session_id = done.session_id", "true", vectors_of_sessions),
    Guard(VECTORS, "nearest", "tenant = $1", "$1::text is not null", vectors_of_tenants),
    Guard(VECTORS, "nearest", "session_id = any($2)", "$2::text[] is not null", vectors_of_sessions),
    Guard(
        VECTORS,
        "nearest",
        "model = $3",
        "$3::text is not null",
        test_memory_vectors.test_vectors_of_two_models_are_not_compared,
    ),
    Guard(
        VECTORS,
        "nearest",
        "(session_id, seq) not in (select * from unnest($5::text[], $6::bigint[]))",
        "$5::text[] is not null and seq <> all($6::bigint[])",
        test_memory_vectors.test_numbers_of_another_session_exclude_no_vectors,
    ),
]


@pytest.mark.proof
@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: f"{guard.name}: {guard.sql} -> {guard.instead}")
async def test_without_the_filter_its_specification_fails(
    guard: Guard, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = guard.statements[guard.name]
    assert statement.count(guard.sql) == 1
    monkeypatch.setitem(guard.statements, guard.name, statement.replace(guard.sql, guard.instead))
    room = VectorRoom.on(pool) if guard.spec.__module__ == test_memory_vectors.__name__ else test_memory.Room.on(pool)
    assert await failure(guard.spec, room) is not None, "no specification fails"


async def failure(spec: Spec, room: test_memory.Room) -> BaseException | None:
    """The failure of a specification on this database; None if it passes."""
    try:
        await spec(room)
    except Exception as error:
        return error
    return None
