"""The activity `open_task`: loads the plan of a stored task for its workflow."""

from dataclasses import dataclass

from temporalio import activity

from purser.activities.postgres.agents import Agents
from purser.activities.runtime.settings import ActivitySettings
from purser.workflows.contract import ActivityName, AgentPlan, TaskPlan, TaskRef


@dataclass(frozen=True)
class OpenTask:
    """The activity `open_task`."""

    agents: Agents
    settings: ActivitySettings

    @activity.defn(name=ActivityName.OPEN_TASK)
    async def open_task(self, ref: TaskRef) -> TaskPlan:
        """Returns the agent graph of a task, without its texts; if it has ended, its outcome instead."""
        if (ended := await self.agents.outcome(ref)) is not None:
            # Temporal starts a workflow again once another one under its id has closed.
            return TaskPlan(session_id="", agents=(), max_parallel=self.settings.max_parallel_agents, ended=ended)
        task = (await self.agents.task_record(ref.tenant, ref.task_id)).task
        return TaskPlan(
            session_id=task.session_id,
            agents=tuple(AgentPlan(agent.id, agent.depends_on, agent.max_turns) for agent in task.agents),
            max_parallel=self.settings.max_parallel_agents,
            max_wait_s=self.settings.max_wait_s,
            turns_per_run=self.settings.turns_per_run,
        )
