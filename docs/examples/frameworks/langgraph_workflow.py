"""Runs a graph of LangGraph in a workflow of Temporal: each call of the model is held before and settled after.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`. PURSER_TEMPORAL_ADDRESS: Temporal.
"""

import asyncio
import importlib
import os
import sys
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

from langchain_core.messages import convert_to_openai_messages
from langgraph.graph import MessagesState, StateGraph
from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ActivityError
from temporalio.langgraph import LangGraphPlugin, graph
from temporalio.worker import Worker

from purser_client import AsyncPurser
from purser_client.temporal import Estimate, PurserPlugin, budget_path

with workflow.unsafe.imports_passed_through():
    from langchain_openai import ChatOpenAI

# The provider of `make first`, which costs nothing.
PROVIDER = os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1")
MODEL, LIMIT = "gpt-4o-mini", 100
OF_A_NODE = {"execute_in": "activity", "start_to_close_timeout": timedelta(minutes=2)}


async def say(state: MessagesState) -> dict[str, Any]:
    """A node that calls the model once. Retries are Temporal's."""
    model = ChatOpenAI(model=MODEL, base_url=PROVIDER, api_key="none", max_tokens=LIMIT, max_retries=0)
    return {"messages": [await model.ainvoke(state["messages"])]}


def asked(args: Any) -> Estimate:
    """What the node may use, from its state."""
    messages = convert_to_openai_messages(args[0].args[0]["messages"])
    return Estimate(model=MODEL, messages=messages, max_output_tokens=LIMIT)


@workflow.defn
class Greet:
    """Runs the graph."""

    @workflow.run
    async def run(self, session_id: str) -> str:
        """Return what the model says."""
        with budget_path(f"session:{session_id}"):
            state = await graph("chat").compile().ainvoke({"messages": [("user", "Say hello.")]})
        return str(state["messages"][-1].content)


async def main() -> str:
    """Run the workflow once."""
    async with AsyncPurser() as purser:
        chat = StateGraph(MessagesState)
        chat.add_node("say", say, metadata=OF_A_NODE)
        chat.set_entry_point("say")
        framework = LangGraphPlugin(graphs={"chat": chat})
        budget = PurserPlugin(
            purser,
            activities={"chat.say"},
            estimate=asked,
            usage=lambda output: output.result["messages"][-1],
        )
        client = await Client.connect(os.environ["PURSER_TEMPORAL_ADDRESS"], plugins=[framework, budget])
        async with Worker(client, task_queue="greet-langgraph", workflows=[Greet]):
            try:
                said = await client.execute_workflow(
                    Greet.run, "chat-12", id=f"greet-langgraph-{uuid.uuid4()}", task_queue="greet-langgraph"
                )
            except WorkflowFailureError as failed:
                cause = failed.cause
                said = str(cause.cause if isinstance(cause, ActivityError) else cause)
    # Threads of the client briefly outlive its loop: a program that exits at once may crash (sdk-python#300).
    await asyncio.sleep(1)
    return said


if __name__ == "__main__":
    # Nodes have to be functions of a module with a name.
    module = importlib.import_module(Path(__file__).stem)
    sys.stdout.write(asyncio.run(module.main()) + "\n")
