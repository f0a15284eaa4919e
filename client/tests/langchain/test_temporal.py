"""An agent in a node: the middleware holds for each of its calls, on the path of the workflow."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from doors import Door
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from temporal_table import cause_of
from temporal_worker import project_of, working
from temporalio.client import Client, WorkflowFailureError

from purser_client.langchain import PurserMiddleware

AGENTS: list[Any] = []
"""The agent of a test: a node has to be a function of a module."""


async def say(state: Any) -> dict[str, Any]:
    """Runs the agent."""
    said = await AGENTS[-1].ainvoke({"messages": state["messages"]})
    return {"messages": said["messages"][-1:]}


@pytest.fixture
async def client(door: Door, model: ChatOpenAI) -> AsyncIterator[Client]:
    """A worker whose node runs an agent."""
    AGENTS.append(create_agent(model, middleware=[PurserMiddleware(door.purser)]))
    project = project_of("langchain")
    agents = SimpleNamespace(Greeting=project.Greeting, plugins=lambda: project.plugins(say))
    async with working(agents, door.purser, door.session, activities=()) as client:
        yield client


async def run(client: Client, door: Door) -> Any:
    """What the agent says."""
    greeting = project_of("langchain").Greeting.run
    return await client.execute_workflow(greeting, args=[door.path, False], id=str(uuid4()), task_queue=door.session)


async def test_an_agent_in_a_node_is_charged_as_it_was_served(door: Door, client: Client) -> None:
    await door.limit(5_000)
    assert "hello" in await run(client, door)
    [served] = await door.served()
    await door.is_charged(served["charged_tokens"])


async def test_a_refusal_of_its_call_ends_the_workflow(door: Door, client: Client) -> None:
    await door.limit(10)
    door.sent.clear()
    with pytest.raises(WorkflowFailureError) as failed:
        await run(client, door)
    refused = cause_of(failed.value)
    assert (refused.type, refused.non_retryable) == ("BudgetRefused", True)
    assert door.sent == ["/v1/holds"]
    assert await door.served() == []
