"""An agent with the capability in a workflow."""

from typing import Any

from pydantic_ai.durable_exec.temporal import PydanticAIPlugin, PydanticAIWorkflow
from temporalio import workflow

from purser_client import AsyncPurser
from purser_client.pydantic_ai import PurserCapability
from purser_client.temporal import budget_path

with workflow.unsafe.imports_passed_through():
    from doors import words
    from roads import HELLO

    from client.tests.pydantic_ai.project import agent_of, read

OPTIONS: dict[str, Any] = {"activities": (), "ask_again_s": 0.1}
"""The capability holds, and the plugin says on which path."""
PURSER = AsyncPurser(count=words)
BUDGETED = agent_of("budgeted", PurserCapability(PURSER))
STREAMING = agent_of("budgeted_streaming", PurserCapability(PURSER), event_stream_handler=read)


@workflow.defn
class Greeting(PydanticAIWorkflow):
    """Runs an agent."""

    __pydantic_ai_agents__ = (BUDGETED, STREAMING)

    @workflow.run
    async def run(self, path: list[str], streams: bool) -> str:
        """Returns what it says."""
        with budget_path(*path):
            return (await (STREAMING if streams else BUDGETED).run(HELLO)).output


def plugins() -> list[Any]:
    """Those of the framework."""
    return [PydanticAIPlugin()]
