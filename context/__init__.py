"""What the model sees: conversation, token counts, windows, compression.

Values and rules only; stores live in `context.postgres`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from context.advice import Recommendation, ToolSafety, check_tool_safety, recommend, tool_safety
from context.choice import Choice, Preference, choose
from context.compression import Source, Wishes, chunks, fault, summary_request
from context.conversations import Conversation, Group, MessageRef, SummaryRef
from context.errors import (
    ContextError,
    InvalidMessage,
    InvalidPreferences,
    InvalidSettings,
    MessageNotFound,
    OriginReused,
    OtherUser,
    PinsTooLarge,
    RedactionFailed,
    SessionBusy,
    SessionDeleted,
    SessionNotFound,
    WindowTooSmall,
)
from context.extraction import extract
from context.facts import Fact, FactSheet, Kind, extract_facts, render_facts
from context.languages import conversation_language, is_other_language, language_of
from context.layers import Layer, Level, plan_layers
from context.lengths import Length, Style, length_header, summary_length
from context.lint import Pitfall, Practice, lint
from context.messages import Message, StoredMessage, group
from context.optimizing import Optimizer, optimize, optimize_async, optimize_chat_context, prepare_optimized_messages
from context.plans import Dropped, TextRef, View, WindowPlan
from context.ranges import Range, choose_range
from context.redaction import Redactor, custom_detectors
from context.renderings import render_structured, render_text
from context.settings import PRESETS, ContextSettings
from context.summaries import Method, Summary, summary_message
from context.windows import plan_window, render

if TYPE_CHECKING:
    from context.memories import (
        ConversationMemory,
        FactsMemory,
        HybridMemory,
        KnowledgeGraphMemory,
        RollingMemory,
        RollingState,
        SlidingWindowMemory,
        SummaryMemory,
        ThreePartMemory,
        TokenTruncationMemory,
        VectorMemory,
    )
from context.strategies import WINDOW_PRESETS, StrategyName, StrategySettings
from context.windows import Window, build_window

__all__ = [
    "PRESETS",
    "WINDOW_PRESETS",
    "Choice",
    "ContextError",
    "ContextSettings",
    "Conversation",
    "ConversationMemory",
    "Dropped",
    "Fact",
    "FactSheet",
    "FactsMemory",
    "Group",
    "HybridMemory",
    "InvalidMessage",
    "InvalidPreferences",
    "InvalidSettings",
    "Kind",
    "KnowledgeGraphMemory",
    "Layer",
    "Length",
    "Level",
    "Message",
    "MessageNotFound",
    "MessageRef",
    "Method",
    "Optimizer",
    "OriginReused",
    "OtherUser",
    "PinsTooLarge",
    "Pitfall",
    "Practice",
    "Preference",
    "Range",
    "Recommendation",
    "RedactionFailed",
    "Redactor",
    "RollingMemory",
    "RollingState",
    "SessionBusy",
    "SessionDeleted",
    "SessionNotFound",
    "SlidingWindowMemory",
    "Source",
    "StoredMessage",
    "StrategyName",
    "StrategySettings",
    "Style",
    "Summary",
    "SummaryMemory",
    "SummaryRef",
    "TextRef",
    "ThreePartMemory",
    "TokenTruncationMemory",
    "ToolSafety",
    "VectorMemory",
    "View",
    "Window",
    "WindowPlan",
    "WindowTooSmall",
    "Wishes",
    "build_window",
    "check_tool_safety",
    "choose",
    "choose_range",
    "chunks",
    "conversation_language",
    "custom_detectors",
    "extract",
    "extract_facts",
    "fault",
    "group",
    "is_other_language",
    "language_of",
    "length_header",
    "lint",
    "optimize",
    "optimize_async",
    "optimize_chat_context",
    "plan_layers",
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


def __getattr__(name: str) -> Any:
    """Memories are loaded when they are asked for: finding needs numpy, and nothing else here does."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("context.memories"), name)
