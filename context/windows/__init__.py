"""Windows: one engine that cuts conversations by reference, and who calls it: agents, and lists of messages."""

from purser.context.windows.agent import plan_window, render
from purser.context.windows.listing import Window, build_window

__all__ = ["Window", "build_window", "plan_window", "render"]
