"""Agents of task files whose model gives recorded replies."""

import uuid
from typing import Any

from purser.compose.demo.provider import Provider, Recording, Reply

MODEL = "openai/gpt-4o"


def recorded_agent(provider: Provider, agent_id: str, *replies: str | Reply, **more: Any) -> dict[str, Any]:
    """An agent whose model gives these replies turn by turn, and repeats the last one from then on."""
    recorded = [Reply(content=reply) if isinstance(reply, str) else reply for reply in replies]
    name = uuid.uuid4().hex
    provider.control.add_recordings([Recording(name=name, agents={agent_id: recorded or [Reply(content="Done.")]})])
    plain = {"id": agent_id, "model": MODEL, "instructions": "Be brief.", "max_output_tokens": 100}
    return plain | {"api_base": provider.api_base_of(name, agent_id)} | more
