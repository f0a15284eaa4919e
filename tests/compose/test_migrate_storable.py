"""Repair of text that was stored before input was repaired."""

import json

import asyncpg
import pytest

from purser.compose.migrate import migrate
from purser.context.conversation.storable import storable

_TEXTS = [
    "plain",
    "lone \ud83d",
    "\ude00\ud83d",
    "pair 😀 and \ud83d",
    "\ud83d\ud83d\ude00",
    "a\0b",
    "\\ud83d is only written so",
    "\\\ud83d behind a backslash",
    "\\\\\0",
    "\ud83d\\ude00",
    "\x01\x02 control characters 12345678",
]


@pytest.mark.parametrize("table", ["user_settings", "session_settings", "messages"])
async def test_text_that_cannot_be_shown_is_repaired_and_all_else_is_unchanged(empty_dsn: str, table: str) -> None:
    await migrate(empty_dsn, "0001_initial")
    connection = await asyncpg.connect(empty_dsn)
    await connection.execute("insert into sessions (tenant, session_id) values ('t', 's')")
    stored = [json.dumps({"role": "user", "content": text, "name": "z", "a": [text]}) for text in _TEXTS]
    await connection.executemany(_INSERT[table], list(enumerate(stored, start=1)))
    await migrate(empty_dsn)
    column = "body" if table == "messages" else "fields"
    rows = await connection.fetch(f"select {column}::text as body from {table} order by 1")
    expected = {json.dumps(storable(json.loads(one))): one for one in stored}
    assert {json.dumps(json.loads(row["body"])) for row in rows} == expected.keys()
    unchanged = {one for healed, one in expected.items() if healed == one}
    assert unchanged <= {row["body"] for row in rows}
    await connection.close()


async def test_a_repaired_message_is_counted_again(empty_dsn: str) -> None:
    await migrate(empty_dsn, "0001_initial")
    connection = await asyncpg.connect(empty_dsn)
    await connection.execute("insert into sessions (tenant, session_id) values ('t', 's')")
    bodies = [json.dumps({"role": "user", "content": text}) for text in ("plain 😀", "lone \ud83d")]
    await connection.executemany(_INSERT["messages"], list(enumerate(bodies, start=1)))
    await migrate(empty_dsn)
    counts = [json.loads(row["tokens"]) for row in await connection.fetch("select tokens from messages order by seq")]
    assert counts == [{"o200k": 9}, {}]
    await connection.close()


_INSERT = {
    "messages": """insert into messages (tenant, session_id, seq, role, body, digest, tokens, origin, part)
        values ('t', 's', $1::int, 'user', $2::text::json, 'd', '{"o200k": 9}', 'o' || $1::int, 1)""",
    "user_settings": """insert into user_settings (tenant, user_id, version, fields, changed_by)
        values ('t', 'u', $1::int, $2::text::json, 'k')""",
    "session_settings": """insert into session_settings (tenant, session_id, version, fields, changed_by)
        values ('t', 's', $1::int, $2::text::json, 'k')""",
}
