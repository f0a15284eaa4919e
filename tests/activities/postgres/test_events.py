"""Events of tasks, agents, turns and compressions, emitted by triggers: ids, figures and codes."""

import json
from typing import Any

from purser.budget.postgres.connections.pools import Pool

CANARY = "canary-7c2e"


async def emitted(pool: Pool) -> list[tuple[str, str, dict[str, Any]]]:
    """Kind, scope and data of every event, oldest first."""
    rows = await pool.fetch("select kind, scope, data from events order by event_id")
    return [(row["kind"], row["scope"], row["data"]) for row in rows]


async def submit(pool: Pool) -> None:
    await pool.execute(
        "insert into tasks (tenant, task_id, session_id, body, digest, input_seq)"
        " values ('acme', 't1', 's1', $1, '', 1)",
        {"input": CANARY},
    )
    await pool.execute("insert into agents (tenant, task_id, agent_id, position) values ('acme', 't1', 'a', 1)")


async def test_a_task_emits_its_start_and_each_change_once(pool: Pool) -> None:
    await submit(pool)
    for status in ("paused", "paused", "completed"):
        await pool.execute("update tasks set status = $1", status)
    events = await emitted(pool)
    assert [(kind, scope, data["status"]) for kind, scope, data in events] == [
        ("task", "task:t1", "running"), ("task", "task:t1", "paused"), ("task", "task:t1", "completed"),
    ]  # fmt: skip
    assert events[0][2] == {"task_id": "t1", "session_id": "s1", "status": "running"}
    assert CANARY not in json.dumps(events)


async def test_an_agent_emits_why_it_ended(pool: Pool) -> None:
    await submit(pool)
    await pool.execute("update agents set status = 'running'")
    await pool.execute("update agents set status = 'refused', reason = 'over_limit', scope = 'session:s1'")
    _, running, refused = await emitted(pool)
    assert running[:2] == ("agent", "agent:t1/a")
    assert (running[2]["status"], running[2]["reason"]) == ("running", None)
    assert refused[2] == {
        "task_id": "t1", "agent_id": "a", "status": "refused", "reason": "over_limit", "short_scope": "session:s1",
    }  # fmt: skip


async def test_a_turn_emits_its_admission_and_its_end(pool: Pool) -> None:
    await submit(pool)
    for key in ("k1", "k2"):
        await pool.execute(
            "insert into calls (tenant, key, task_id, agent_id, turn, model, plan, output_cap, tokens, nano,"
            " least_tokens, least_nano) values ('acme', $1, 't1', 'a', 1, 'm', $2, 10, 100, 7, 1, 0)",
            key, {"text": CANARY},
        )  # fmt: skip
    await pool.execute("update calls set hold_id = 5, delay_ms = 300 where key = 'k1'")
    await pool.execute("update calls set hold_id = 5, delay_ms = 300 where key = 'k1'")  # the same answer again
    await pool.execute("update calls set reply_seq = 2, usage = $1 where key = 'k1'", {"input": 9})
    await pool.execute("update calls set rejected = 'context_too_long' where key = 'k2'")
    events = await emitted(pool)
    turns = [data for kind, scope, data in events if (kind, scope) == ("turn", "agent:t1/a")]
    same = {"task_id": "t1", "agent_id": "a", "turn": 1, "model": "m"}
    assert turns == [
        same | {"step": "admitted", "hold_id": "5", "delay_ms": 300, "asked": {"tokens": 100, "nano_usd": 7}},
        same | {"step": "settled", "hold_id": "5", "usage": {"input": 9}, "output_capped": False},
        same | {"step": "rejected", "hold_id": None, "reason": "context_too_long"},
    ]
    assert CANARY not in json.dumps(events)


async def test_a_compression_emits_what_it_saved_and_none_of_its_text(pool: Pool) -> None:
    await pool.execute("insert into sessions (tenant, session_id) values ('acme', 's1')")
    await pool.execute(
        "insert into summaries (tenant, session_id, version, first_seq, last_seq, text, tokens_before, tokens_after,"
        " method, source_digest, key) values ('acme', 's1', 1, 1, 9, $1, 900, 90, 'extractive', '', 'k')",
        CANARY,
    )
    [(kind, scope, data)] = await emitted(pool)
    assert (kind, scope) == ("compression", "session:s1")
    assert data == {
        "session_id": "s1", "thread": "", "version": 1, "tokens_before": 900, "tokens_after": 90,
        "method": "extractive", "trigger": "request", "model": None,
    }  # fmt: skip
