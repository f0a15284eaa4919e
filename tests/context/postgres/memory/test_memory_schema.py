"""The schema of memory where the extension `vector` may not be created."""

import uuid
from importlib.resources import files

import asyncpg


def script(name: str) -> str:
    return files("purser.context.postgres").joinpath("schema", name).read_text("utf-8")


async def test_without_the_right_to_create_the_extension_only_vectors_are_missing(
    empty_dsn: str,
) -> None:
    connection = await asyncpg.connect(empty_dsn)
    role = f"plain_{uuid.uuid4().hex}"
    try:
        await connection.execute(f"create role {role}; grant create on schema public to {role}; set role {role}")
        await connection.execute(script("conversation.sql") + script("memory.sql"))
        tables = await connection.fetch("select relname from pg_class where relname like 'memory_%' and relkind = 'r'")
    finally:
        await connection.execute(f"reset role; drop owned by {role}; drop role {role}")
        await connection.close()
    assert {row["relname"] for row in tables} == {
        "memory_sessions",
        "memory_threads",
        "memory_turns",
        "memory_postings",
    }


async def test_with_it_vectors_have_their_table(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        assert await connection.fetchval("select to_regclass('memory_vectors') is not null")
    finally:
        await connection.close()
