"""Asks over HTTP."""

from typing import Any

import httpx

PATH = ["session:s1", "task:t1", "agent:t1/a1"]


async def ask(client: httpx.AsyncClient, key: str = "k1", **body: Any) -> dict[str, Any]:
    answer = await client.post("/v1/holds", json={"key": key, "path": PATH, "tokens": 1_000} | body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def limit(client: httpx.AsyncClient, scope: str, **policy: Any) -> None:
    assert (await client.put(f"/v1/budgets/{scope}", json=policy)).status_code == 200
