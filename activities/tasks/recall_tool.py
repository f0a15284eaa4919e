"""The definition of the tool `recall_message`, which a call offers if its window leaves something out."""

from collections.abc import Mapping
from typing import Any

from purser.workflows.contract import ActivityName

RECALL_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": ActivityName.RECALL_MESSAGE.value,
        "description": "Reads a message of this conversation that is summarized, clipped or left out, by its number.",
        "parameters": {
            "type": "object",
            "properties": {
                "message": {"type": "integer", "description": "Number of the message."},
                "offset": {"type": "integer", "description": "First character, from 0."},
                "length": {"type": "integer", "description": "Number of characters."},
            },
            "required": ["message"],
        },
    },
}
