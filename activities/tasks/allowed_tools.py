"""The allow-list of the activities that a task file may name as tools, and of their task queues.

Without it anyone who may submit tasks could run every activity of the namespace, including those of other applications.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from purser.activities.tasks.file import TaskFile
from purser.workflows.contract import ActivityName

_OWN = frozenset(map(str, ActivityName))
"""Activities of the workflows, which are not tools."""


@dataclass(frozen=True, slots=True)
class AllowedTools:
    """An allow-list. A trailing `*` matches any name with that prefix."""

    activities: tuple[str, ...]
    """Activity types."""
    task_queues: tuple[str, ...]
    """Task queues in addition to `own_queue`."""
    own_queue: str
    """Task queue of Purser's workers."""

    def faults(self, task: TaskFile) -> Iterator[str]:
        """Yields place, name and setting of each tool that is not allowed."""
        for place, activity, task_queue in self._named(task):
            if activity in _OWN:
                yield f"{place} runs activity {activity!r}: it belongs to the workflows, name another"
            elif not _matches(activity, self.activities):
                yield f"{place} runs activity {activity!r}: {_remedy('activities', self.activities)}"
            if not _matches(task_queue, (self.own_queue, *self.task_queues)):
                yield f"{place} runs on task_queue {task_queue!r}: {_remedy('task_queues', self.task_queues)}"

    def _named(self, task: TaskFile) -> Iterator[tuple[str, str, str]]:
        """Place, activity and task queue of each tool."""
        for number, agent in enumerate(task.agents):
            for position, tool in enumerate(agent.tools):
                place = f"$.agents[{number}].tools[{position}]"
                yield place, tool.activity or tool.name, tool.task_queue or self.own_queue


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in patterns)


def _remedy(setting: str, allowed: tuple[str, ...]) -> str:
    shown = ", ".join(allowed) or "none"
    return f"PURSER_TOOL_{setting.upper()} allows {shown}; add it there, or name one that is allowed"
