"""Windows of the preset `shannon`."""

from typing import Any

from purser.activities.tasks.file import TaskFile
from purser.context.conversation.messages import Message
from purser.context.windows import Window, build_window
from tests.support.context.windows import short_summary

MODEL = "gpt-4o"


def window(messages: list[Message], budget: int, **options: Any) -> Window:
    return build_window(messages, budget=budget, model=MODEL, preset="shannon", summarize=short_summary, **options)


def verbatim(found: Window) -> list[int]:
    return [index for index in found.indexes if index is not None]


def task(**fields: Any) -> TaskFile:
    agent = {"id": "a1", "model": MODEL, "instructions": "Be brief."}
    return TaskFile.parse({"session_id": "s1", "task_id": "t1", "input": "hi", "agents": [agent]} | fields, ())
