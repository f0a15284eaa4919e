"""Requests that have not ended when the time of a gateway to stop is over."""

import asyncio

import asyncpg
import httpx

from purser.compose.processes.gateway import run_gateway
from purser.compose.settings import Settings
from tests.gateway.conftest import reaching
from tests.support.threads import in_task

WAITING = "select count(*) from pg_locks where relation = $1::text::regclass and not granted"


async def test_each_is_told_to_ask_another_gateway_except_one_that_may_count_twice(settings: Settings) -> None:
    settings = settings.model_copy(update={"shutdown_grace_s": 1})
    async with (
        in_task(lambda stop, ready: run_gateway(settings, stop, ready)) as stop,
        reaching(settings) as gateway,
    ):
        # No connection of a pool, which ends transactions that are idle.
        other = await asyncpg.connect(settings.dsn)
        admin = await gateway.client()
        body = {"key": "k1", "path": ["session:s1"], "tokens": 1}
        await admin.post("/v1/sessions/s1/messages", json=[{"role": "user", "content": "Hello"}])
        hold_id = (await admin.post("/v1/holds", json=body)).json()["hold_id"]
        unknown = await gateway.client(name="another")  # the gateway looks up this key

        async def locked(table: str) -> None:
            async with asyncio.timeout(60):
                while not await gateway.pool.fetchval(WAITING, table):
                    await asyncio.sleep(0.02)

        # The body of this one never ends: no HTTP client reads an answer before it has sent its whole request.
        reader, writer = await asyncio.open_connection(httpx.URL(gateway.url).host, httpx.URL(gateway.url).port)
        head = f"POST /v1/holds HTTP/1.1\r\nhost: x\r\nauthorization: {admin.headers['authorization']}\r\n"
        writer.write(f'{head}content-type: application/json\r\ncontent-length: 99\r\n\r\n{{"key"'.encode())

        async with other.transaction():
            await other.execute("lock table holds in exclusive mode")
            await other.execute("lock table messages in access exclusive mode")
            addition = asyncio.create_task(admin.post(f"/v1/holds/{hold_id}/extend", json={"tokens": 1}))
            await locked("holds")
            read = asyncio.create_task(admin.get("/v1/sessions/s1/messages"))
            await locked("messages")
            await other.execute("lock table keys in access exclusive mode")
            proxy = asyncio.create_task(unknown.get("/openai/v1/models"))
            await locked("keys")
            stop.set()
            plain, proxied, added = await asyncio.gather(read, proxy, addition)
            upload = (await reader.read()).decode()
            writer.close()
        await other.close()
    assert (plain.status_code, plain.headers["retry-after"]) == (503, "1")
    assert (plain.json()["type"], plain.json()["retryable"]) == ("urn:purser:stopping", True)
    assert upload.startswith("HTTP/1.1 503")
    assert '"urn:purser:stopping"' in upload
    assert (proxied.status_code, proxied.json()["error"]["code"]) == (503, "stopping")
    assert (added.status_code, added.json()["retryable"]) == (503, False)
    assert "may have arrived" in added.json()["detail"]
