"""Bodies and answers of `/v1/sessions` about windows: previews, compression, advice, and the settings in effect."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from .base import Body, View
from .enums import Pressure, StrategyName
from .fields import Name, Positive
from .limits import MAX_PLANNED_TOOLS, USUAL_MODEL
from .sessions import FactView


class DroppedView(View):
    """A message that a window does not contain."""

    index: int
    """Index in the conversation, from 0."""
    seq: int | None
    """Sequence number; `null` for an older message of a long conversation, which was not read."""
    reason: str


class OmittedView(View):
    """A range of older messages that were not read to build a window."""

    indexes: tuple[int, int]
    """First and last index in the conversation."""
    reason: str


class WindowView(View):
    """The window of a call."""

    messages: list[dict[str, Any]]
    """Messages as stored, except those that are clipped or added."""
    seqs: list[int | None]
    """Sequence number of each message; `null` for an added one."""
    indexes: list[int | None]
    """Index of each message in the conversation, from 0; `null` for an added one."""
    tokens: int
    dropped: list[DroppedView]
    """Every message that is neither shown nor covered, without those of `omitted` if these are more than 10,000."""
    omitted: list[OmittedView]
    """Ranges of dropped messages of a long conversation that were not read."""
    summarised: list[list[int]]
    """Ranges of indexes that a summary covers, first and last."""
    summary_version: int
    """Version of the stored summary in the window; 0 if there is none."""
    strategy: str
    reason: str
    stats: dict[str, Any]
    text: str | None = None
    """With `format=text`: the history as plain text, to which `tokens` then refers."""


class CompressBody(Body):
    """Parameters of a compression."""

    budget: Positive | None = None
    """Context budget of the result in tokens; derived from the settings and the model if left out."""
    model: Name | None = None
    """Model whose tokenizer is used; the summarizer's if left out."""
    thread: Annotated[str, Field(max_length=300)] = ""
    """Empty for the session's own conversation, else `{task_id}/{agent_id}`."""


class CompressedView(View):
    """A new version of a summary, or why there is none."""

    version: int
    """0 if nothing was stored."""
    summary: str | None
    covers: list[int] | None
    """First and last sequence number."""
    original_tokens: int
    summary_tokens: int
    method: str | None
    """`extractive` or `model`."""
    reason: str | None
    """Why nothing was stored: `nothing_to_cover`, `no_gain`, `busy`."""


class ExplanationView(View):
    """Where a message is now, and why."""

    seq: int
    state: str
    """`verbatim`, `pinned`, `summary`, `clipped` or `dropped`."""
    states: list[str]
    """The same, followed by `fact` if a fact was extracted from it."""
    reason: str
    version: int | None
    """Version of the stored summary that covers it."""
    facts: list[FactView]


class RecommendBody(Body):
    """The limit that a conversation has to fit."""

    max_tokens: Positive
    preference: Annotated[str, Field(pattern="^(fast|balanced|quality)$")] = "balanced"
    model: Name = USUAL_MODEL


class Recommendation(View):
    """What `optimize` would do with a conversation."""

    tokens: int
    available_tokens: int
    usage_ratio: float
    urgency: Pressure
    needs_optimization: bool
    recommended_strategy: str
    reason: str


class ToolSafetyBody(Body):
    """Planned tool calls."""

    limit: Positive | None = None
    """Most tokens of conversation and results together; also as `max_tokens`."""
    max_tokens: Positive | None = None
    planned_tools: Annotated[int, Field(ge=0, le=MAX_PLANNED_TOOLS)] | None = None
    """Number of planned calls; also as `tools`."""
    tools: Annotated[int, Field(ge=0, le=MAX_PLANNED_TOOLS)] | None = None
    model: Name = USUAL_MODEL

    @model_validator(mode="after")
    def _each_once(self) -> "ToolSafetyBody":
        for one, other in (("limit", "max_tokens"), ("planned_tools", "tools")):
            if (getattr(self, one) is None) == (getattr(self, other) is None):
                raise ValueError(f"send either {one} or {other}")
        return self


class ToolSafety(View):
    """Whether a conversation and the results of planned tool calls fit a limit."""

    safe: bool
    tokens: int
    reserved_tokens: int
    limit: int
    safe_once_optimized: bool
    message: str


class ComparedView(View):
    """The window of one strategy, in figures."""

    strategy: StrategyName
    applied: StrategyName | None
    """The strategy that cut the window, which `auto` chooses; `null` if no window fits."""
    reason: str
    """Why it was chosen, or what does not fit."""
    tokens: int | None
    """Tokens of the window; `null` if none fits."""
    tokens_saved: int | None
    nano_usd: int | None
    """Price of its tokens as input; `null` if the price of the model is unknown."""
    verbatim: int
    """Number of messages shown whole; the following are numbers of messages too."""
    clipped: int
    cleared: int
    summarised: int
    dropped: int
    summary_version: int
    """Version of the stored summary that it shows; 0 if there is none."""
    summary_generated: bool
    """Whether a further summary was made for this window."""


class ComparisonView(View):
    """The windows of all strategies for one stored session."""

    model: str
    budget: int
    windows: list[ComparedView]


class ContextValueView(View):
    """One setting of windows."""

    value: Any
    source: str
    """`request`, `session`, `user`, the name of a preset, `environment`, `file` or `default`."""


class ContextView(View):
    """Settings of windows as they are in effect, by name."""

    preset: str | None
    """The preset that applies, if any."""
    settings: dict[str, ContextValueView]
