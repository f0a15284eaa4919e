"""Windows: one engine that cuts conversations by reference, used for agents and for lists of messages."""

from purser.context.windows.agent_window import plan_window, render
from purser.context.windows.listing import Window, build_window

__all__ = ["Window", "build_window", "plan_window", "render"]
