"""A process that runs an agent whose checkpoints outlive it; prints how the run ends, and the keys of its holds.

Arguments: a file for the checkpoints, then as JSON the input of the run and the options of the middleware.
"""

import asyncio
import json
import os
import sys
from typing import Any

import httpx
from doors import MODEL, words
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from openai import DefaultAsyncHttpxClient
from pydantic import SecretStr
from table import OUTPUT

from purser_client import AsyncPurser
from purser_client.langchain import PurserMiddleware

THREAD = {"configurable": {"thread_id": "t1"}}


async def run(checkpoints: str, says: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Runs the agent until it ends or is interrupted, or goes on with a run (`None`, or a `Command`)."""
    keys = []

    async def note(request: httpx.Request) -> None:
        if request.url.path == "/v1/holds":
            keys.append(json.loads(request.content)["key"])

    address = f"{os.environ['PROVIDER']}/v1"
    async with (
        AsyncPurser(count=words) as purser,
        AsyncSqliteSaver.from_conn_string(checkpoints) as saver,
        DefaultAsyncHttpxClient() as http,
    ):
        model = ChatOpenAI(
            model=MODEL,
            base_url=address,
            api_key=SecretStr("none"),
            max_retries=0,
            max_tokens=OUTPUT,
            http_async_client=http,
        )
        purser._http.event_hooks["request"].append(note)
        agent: Any = create_agent(model, middleware=[PurserMiddleware(purser, **options)], checkpointer=saver)
        state = await agent.ainvoke(says, THREAD, durability="sync")
    interrupts = [one.value["approval_id"] for one in state.get("__interrupt__", ())]
    return {"said": state["messages"][-1].content, "interrupts": interrupts, "keys": keys}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(run(sys.argv[1], *map(json.loads, sys.argv[2:])))))
