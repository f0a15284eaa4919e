"""Words of fields with a fixed set of values. Standard library only: the rules of the server use them too."""

from enum import StrEnum


class Mode(StrEnum):
    """What happens when an ask does not fit."""

    SOFT = "soft"
    """Warn and go on."""
    APPROVAL = "approval"
    """Ask a person."""
    HARD = "hard"
    """Refuse."""


class HoldState(StrEnum):
    """State of a hold. A hold ends exactly once."""

    NONE = "none"
    """The key is bound to its payload; nothing is held."""
    HELD = "held"
    SETTLED = "settled"
    RELEASED = "released"
    EXPIRED = "expired"


class Pressure(StrEnum):
    """The ratio in words."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class OnExpiry(StrEnum):
    """What happens to an undecided approval request at its deadline."""

    DENY = "deny"
    GRANT = "grant"


class Basis(StrEnum):
    """Period over which a rate is measured."""

    HOUR = "1h"
    DAY = "24h"
    SINCE_FIRST = "since_first"
    """Since the first entry of the window, if that is less than an hour or a day ago."""
    TOO_SHORT = "too_short"
    """The history is too short for a rate."""


class PolicyAction(StrEnum):
    """What applying a document does to one policy."""

    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"


class Kind(StrEnum):
    """The kinds of scope: the levels of a path, outermost first, then labels."""

    # `kind_rank` in schema/scopes.sql lists the same.
    TENANT = "tenant"
    USER = "user"
    SESSION = "session"
    TASK = "task"
    AGENT = "agent"
    TAG = "tag"
    MODEL = "model"
    TOOL = "tool"


class ApprovalState(StrEnum):
    """State of a request. All states except `pending` are final."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    """No call waits for it any more, or every waiting call fits."""


class Identity(StrEnum):
    """How the approver's identity is established."""

    KEY = "key"
    """Authenticated by a key, or signed with one."""
    ASSERTED = "asserted"
    """A name that the sender claims, as in unsigned decisions sent through Temporal."""
    SWEEPER = "sweeper"
    """The deadline passed without a decision."""


class Choice(StrEnum):
    """A person's decision."""

    APPROVE = "approve"
    DENY = "deny"


class By(StrEnum):
    """Dimension by which usage is summed."""

    TENANT = "tenant"
    USER = "user"
    SESSION = "session"
    TASK = "task"
    AGENT = "agent"
    TAG = "tag"
    MODEL = "model"
    TOOL = "tool"
    DAY = "day"


class EntryKind(StrEnum):
    """What changed a balance."""

    HOLD = "hold"
    TOP_UP = "top_up"
    SETTLE = "settle"
    OVERRUN = "overrun"
    PRESUMED = "presumed"
    LATE = "late"
    CORRECTION = "correction"
    RELEASE = "release"
    EXPIRE = "expire"
    GRANT = "grant"
    GRANT_ENDED = "grant_ended"
    LIMIT_RAISED = "limit_raised"
    LIMIT_LOWERED = "limit_lowered"
    MODE_CHANGED = "mode_changed"
    ROLLED_OFF = "rolled_off"
    """What was charged has fallen out of a rolling window."""


class Preference(StrEnum):
    """The caller's preference between speed and quality."""

    FAST = "fast"
    """Never wait for a summary."""
    BALANCED = "balanced"
    QUALITY = "quality"
    """Preserve the meaning of what is cut, at any cost."""


class State(StrEnum):
    """State of a message."""

    VERBATIM = "verbatim"
    PINNED = "pinned"
    """Verbatim, because it is pinned."""
    SUMMARY = "summary"
    """Covered by a summary."""
    FACT = "fact"
    """Facts from it are shown with the summary."""
    CLIPPED = "clipped"
    """Verbatim in part, because it is too large for the window."""
    CLEARED = "cleared"
    """An old tool result of which only a mark is shown."""
    DROPPED = "dropped"
    """Not in the window."""


class CallPart(StrEnum):
    """Parts of a call's window, in order."""

    SETTINGS = "settings"
    SESSION = "session"
    REPLIES = "replies"
    MEMORY = "memory"
    DOCUMENTS = "documents"
    INPUT = "input"
    AGENT = "agent"
    """The agent's own thread."""


class StrategyName(StrEnum):
    """How a window is cut when a conversation does not fit."""

    SLIDING_WINDOW = "sliding_window"
    """The newest rounds; the rest is dropped."""
    TOKEN_TRUNCATION = "token_truncation"
    """The newest groups that fit; the rest is dropped."""
    SMART_TRUNCATION = "smart_truncation"
    """Fewer rounds the longer the conversation is; the rest is dropped."""
    SUMMARY = "summary"
    """Recents, and a summary of everything before them."""
    THREE_PART = "three_part"
    """Primers, a summary of the middle, recents."""
    HYBRID = "hybrid"
    """`three_part`, with room for memory search results."""
    AUTO = "auto"
    """One of the others, by size, frequency and preference."""


class Format(StrEnum):
    """Format of a window."""

    MESSAGES = "messages"
    TEXT = "text"


class Summarizer(StrEnum):
    """How the summary of a previewed window is written: without calling a model."""

    EXTRACTIVE = "extractive"
    NONE = "none"


class TaskStatus(StrEnum):
    """The status of a task."""

    RUNNING = "running"
    PAUSED = "paused"
    WAITING_APPROVAL = "waiting_approval"
    COMPLETED = "completed"
    PARTIAL = "partial"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"


LIVE_TASKS = frozenset({TaskStatus.RUNNING, TaskStatus.PAUSED, TaskStatus.WAITING_APPROVAL})
"""Statuses of tasks that have not ended."""


class AgentStatus(StrEnum):
    """The status of an agent."""

    WAITING = "waiting"
    """The agent waits for its dependencies."""
    RUNNING = "running"
    PAUSED = "paused"
    WAITING_APPROVAL = "waiting_approval"
    COMPLETED = "completed"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    """The agent never ran because a dependency did not complete."""
