"""An agent of Strands in a workflow."""

import os
from typing import Any

from strands.models.openai import OpenAIModel
from temporalio import workflow
from temporalio.contrib.workflow_streams import WorkflowStream
from temporalio.strands_agents import StrandsPlugin, TemporalAgent

from purser_client.temporal import budget_path

with workflow.unsafe.imports_passed_through():
    from doors import MODEL
    from roads import HELLO
    from table import OUTPUT
    from temporal_worker import OF_A_CALL


@workflow.defn
class Greeting:
    """Runs an agent."""

    @workflow.init
    def __init__(self, path: list[str], streams: bool) -> None:
        self.stream = WorkflowStream()

    @workflow.run
    async def run(self, path: list[str], streams: bool) -> str:
        """Returns what it says."""
        agent = TemporalAgent(model="small", streaming_topic="said" if streams else None, **OF_A_CALL)
        with budget_path(*path):
            return str(await agent.invoke_async(HELLO)).strip()


def plugins() -> list[Any]:
    """Those of the framework."""
    return [StrandsPlugin(models={"small": _model})]


def _model() -> OpenAIModel:
    connection = {"base_url": f"{os.environ['PROVIDER']}/v1", "api_key": "none", "max_retries": 0}
    return OpenAIModel(client_args=connection, model_id=MODEL, params={"max_tokens": OUTPUT})
