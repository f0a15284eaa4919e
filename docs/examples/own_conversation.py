"""Fits conversations that your own code stores: no Postgres, no Temporal, no network.

python docs/examples/own_conversation.py
"""

import json
import os
from pathlib import Path

from purser import context

CHAT = Path(__file__).parent / "chat.jsonl"


def ask_model(text: str) -> str:
    """Placeholder for a call of your model."""
    return f"They planned a journey; the record had {len(text)} characters."


def fit() -> str:
    """Fit a conversation into a budget."""
    history = [json.loads(line) for line in CHAT.read_text(encoding="utf-8").splitlines()]
    advice = context.recommend(history, 4_000)
    history, stats = context.optimize(history, 4_000, summarize=ask_model, conversation_id="c1")
    safe, why = context.check_tool_safety(history, 4_000, 3)
    return f"{advice.urgency}: {stats['messages_removed']} removed, {'safe' if safe else why}"


def remember() -> str:
    """Show the newest round, and earlier messages that match its question."""
    memory = context.HybridMemory(context.SlidingWindowMemory(k=1, system_prompt="Be brief."))
    memory.add_message("user", "My cat is called Mimi.")
    memory.add_message("assistant", "A fine name.")
    memory.add_message("user", "What is my cat called?")
    shown = memory.get_messages()
    return "\n".join(message["content"] for message in shown)


if __name__ == "__main__":
    os.write(1, f"{fit()}\n{remember()}\n".encode())
