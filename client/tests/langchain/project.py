"""A graph of LangGraph in a workflow, with a node that calls the model once."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, convert_to_openai_messages
from langgraph.graph import MessagesState, StateGraph
from temporalio import workflow
from temporalio.langgraph import LangGraphPlugin, graph

from purser_client.temporal import Estimate, budget_path

with workflow.unsafe.imports_passed_through():
    from doors import MODEL
    from langchain_openai import ChatOpenAI
    from openai import DefaultAsyncHttpxClient
    from pydantic import SecretStr
    from roads import HELLO
    from table import OUTPUT
    from temporal_worker import OF_A_CALL


class State(MessagesState):
    """What the node reads."""

    streams: bool


async def say(state: State) -> dict[str, Any]:
    """Calls the model once, without repeating a failed request."""
    async with DefaultAsyncHttpxClient() as http:
        model = ChatOpenAI(
            model=MODEL,
            base_url=f"{os.environ['PROVIDER']}/v1",
            api_key=SecretStr("none"),
            max_retries=0,
            stream_usage=True,
            max_tokens=OUTPUT,
            http_async_client=http,
        )
        if not state["streams"]:
            return {"messages": [await model.ainvoke(state["messages"])]}
        whole = AIMessageChunk("")
        async for chunk in model.astream(state["messages"]):
            whole += chunk
        return {"messages": [AIMessage(whole.content, usage_metadata=whole.usage_metadata)]}


def asked(args: Any) -> Estimate:
    """What a node may use."""
    [state] = args[0].args
    messages = convert_to_openai_messages(state["messages"])
    return Estimate(model=MODEL, messages=messages, max_output_tokens=OUTPUT)


OPTIONS = {
    "activities": {"chat.say"},
    "estimate": asked,
    "usage": lambda output: output.result["messages"][-1],
}


@workflow.defn
class Greeting:
    """Runs the graph."""

    @workflow.run
    async def run(self, path: list[str], streams: bool) -> str:
        """Returns what the model says."""
        with budget_path(*path):
            state = await graph("chat").compile().ainvoke({"messages": [("user", HELLO)], "streams": streams})
        return str(state["messages"][-1].content)


def plugins(node: Callable[[State], Awaitable[dict[str, Any]]] = say) -> list[Any]:
    """Those of the framework."""
    chat = StateGraph(State)
    chat.add_node("say", node, metadata={"execute_in": "activity", **OF_A_CALL})
    chat.set_entry_point("say")
    return [LangGraphPlugin(graphs={"chat": chat})]
