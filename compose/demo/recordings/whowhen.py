"""The data set whowhen: logs of agent teams.

Consecutive messages of one name become one agent with one reply, in a chain. The first message is not a reply: it is
the question, or the manager's plan for it, and is appended to the first agent's instructions.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from purser.compose.demo.provider.script import Reply
from purser.compose.demo.recordings.tasks import RecordedAgent, RecordedTask, Row, chain

MOST_AGENTS = 10


def make(row: Row, provider: str) -> RecordedTask:
    """The task made of the first ten agents of one log."""
    agents = list(_agents(row))
    return chain(row, row["question"], agents[:MOST_AGENTS], provider, left_out=len(agents[MOST_AGENTS:]))


def _agents(row: Row) -> Iterator[RecordedAgent]:
    opening, *answers = row["messages"]
    prompts = row["system_prompts"] or {}
    spoken = [message for message in answers if message["content"]]
    uses: dict[str, int] = {}
    for name, messages in groupby(spoken, key=lambda message: str(message["name"])):
        agent_id = re.sub(r"[^A-Za-z0-9._~]+", "-", name).strip("-")
        # Some logs have an empty prompt.
        instructions = prompts.get(name) or f"You are {name}, one of a team that answers the user's question."
        if not uses:
            instructions += f"\n\n{opening['content']}"
        uses[agent_id] = uses.get(agent_id, 0) + 1
        yield RecordedAgent(
            id=agent_id if uses[agent_id] == 1 else f"{agent_id}-{uses[agent_id]}",
            instructions=instructions,
            replies=(Reply(content="\n\n".join(message["content"] for message in messages)),),
        )
