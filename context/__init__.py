"""What the model sees: conversation, token counts, windows, compression.

Values and rules only; stores live in `context.postgres`.
"""

from context.advice import Recommendation, ToolSafety, check_tool_safety, recommend, tool_safety
from context.choice import Choice, Preference, choose
from context.compression import Source, fault, summary_request
from context.conversations import Conversation, Group, MessageRef, SummaryRef
from context.errors import (
    ContextError,
    InvalidMessage,
    InvalidSettings,
    MessageNotFound,
    OriginReused,
    WindowTooSmall,
)
from context.extraction import extract
from context.facts import Fact, FactSheet, Kind, extract_facts, render_facts
from context.lengths import Length, Style, length_header, summary_length
from context.lint import Pitfall, Practice, lint
from context.messages import Message, StoredMessage, group
from context.optimizing import Optimizer, optimize, optimize_async, optimize_chat_context, prepare_optimized_messages
from context.ranges import Range, choose_range
from context.renderings import render_structured, render_text
from context.settings import PRESETS, ContextSettings
from context.summaries import Method, Summary, summary_message
from context.windows import Dropped, TextRef, View, WindowPlan, plan_window, render

__all__ = [
    "PRESETS",
    "Choice",
    "ContextError",
    "ContextSettings",
    "Conversation",
    "Dropped",
    "Fact",
    "FactSheet",
    "Group",
    "InvalidMessage",
    "InvalidSettings",
    "Kind",
    "Length",
    "Message",
    "MessageNotFound",
    "MessageRef",
    "Method",
    "Optimizer",
    "OriginReused",
    "Pitfall",
    "Practice",
    "Preference",
    "Range",
    "Recommendation",
    "Source",
    "StoredMessage",
    "Style",
    "Summary",
    "SummaryRef",
    "TextRef",
    "ToolSafety",
    "View",
    "WindowPlan",
    "WindowTooSmall",
    "check_tool_safety",
    "choose",
    "choose_range",
    "extract",
    "extract_facts",
    "fault",
    "group",
    "length_header",
    "lint",
    "optimize",
    "optimize_async",
    "optimize_chat_context",
    "plan_window",
    "prepare_optimized_messages",
    "recommend",
    "render",
    "render_facts",
    "render_structured",
    "render_text",
    "summary_length",
    "summary_message",
    "summary_request",
    "tool_safety",
]
