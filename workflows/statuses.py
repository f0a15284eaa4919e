"""Statuses of tasks and agents, which the HTTP API shows too.

The contract imports them relatively: it is also `purser_client.contract`, beside which the client has this module.
"""

from purser.wire.enums import AgentStatus as AgentStatus
from purser.wire.enums import TaskStatus as TaskStatus
