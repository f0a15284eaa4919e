"""Statuses of tasks and agents, which the HTTP API shows too.

The contract imports them relatively: it is also that of the workflows, which have this module beside it.
"""

from purser_client.wire.enums import AgentStatus as AgentStatus
from purser_client.wire.enums import TaskStatus as TaskStatus
