"""Context management: conversations, token counts, windows and compression.

This package holds values and rules only; the stores are in `purser.context.postgres`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from purser.context.compression.extraction import extract
from purser.context.compression.layers import Layer, Level, plan_layers
from purser.context.compression.lengths import Length, Style, length_header, summary_length
from purser.context.compression.ranges import Range, choose_range
from purser.context.compression.requests import KeepRules, SummarySource, chunks, fault, summary_request
from purser.context.compression.summaries import Method, Summary, summary_message
from purser.context.conversation.conversations import Conversation, Group, MessageRef, SummaryRef
from purser.context.conversation.languages import conversation_language, is_other_language, language_of
from purser.context.conversation.messages import Message, StoredMessage, group
from purser.context.conversation.renderings import render_structured, render_text
from purser.context.errors import (
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
from purser.context.facts import Fact, FactSheet, Kind, extract_facts, render_facts
from purser.context.pitfalls import Pitfall, UsageStatistics, lint
from purser.context.redaction import Redactor, custom_detectors
from purser.context.settings import PRESETS, ContextSettings
from purser.context.strategies.choice import Choice, Preference, choose
from purser.context.windows import plan_window, render
from purser.context.windows.advice import Recommendation, ToolSafety, check_tool_safety, recommend, tool_safety
from purser.context.windows.optimizing import (
    Optimizer,
    optimize,
    optimize_async,
    optimize_chat_context,
    prepare_optimized_messages,
)
from purser.context.windows.plans import Dropped, TextRef, View, WindowPlan

if TYPE_CHECKING:
    from purser.context.memories import (
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
from purser.context.strategies import WINDOW_PRESETS, StrategyName, StrategySettings
from purser.context.windows import Window, build_window

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
    "KeepRules",
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
    "StoredMessage",
    "StrategyName",
    "StrategySettings",
    "Style",
    "Summary",
    "SummaryMemory",
    "SummaryRef",
    "SummarySource",
    "TextRef",
    "ThreePartMemory",
    "TokenTruncationMemory",
    "ToolSafety",
    "UsageStatistics",
    "VectorMemory",
    "View",
    "Window",
    "WindowPlan",
    "WindowTooSmall",
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
    """Loads memories on first access: their search needs numpy, which nothing else here needs."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("purser.context.memories"), name)
