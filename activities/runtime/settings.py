"""Settings of the activities of a worker."""

from dataclasses import dataclass, field

from purser.context.resolution import ResolvedContext


@dataclass(frozen=True)
class ActivitySettings:
    """Bounds of tasks and calls, unless a task file says otherwise."""

    context: ResolvedContext = field(default_factory=ResolvedContext)
    """How windows are built, with the source of each setting."""
    cooldown_s: int = 600
    """Seconds for which a summarizer that failed three times in a row on a conversation is not asked for it."""
    summarizer_timeout_s: float = 60
    """Seconds that a summarizer may take for one summary, less than the lease of a hold."""
    memory_tokens: int = 2_000
    """Most tokens of retrieved messages in a window of the strategy `hybrid`."""
    memory_across_sessions: bool = False
    """Whether retrieved messages may come from other sessions of the same user."""
    max_parallel_agents: int = 8
    """Most agents of one task that run at the same time."""
    max_wait_s: int = 600
    """Longest wait in seconds for open holds of others; after it the scope's mode decides."""
    turns_per_run: int = 200
    """Most turns that an agent takes before it continues as new."""
    max_output_tokens: int = 4_096
    """Output tokens that a call may produce; at most what the model can."""
    min_output_tokens: int = 256
    """Smallest output cap of a call when only part of it fits."""
    max_attempts: int = 10
    """Most requests to a provider under one hold before the agent fails."""
    retry_ms: int = 1_000
    """Pause before the second request if the provider names none; doubles with every further request."""
    max_retry_ms: int = 60_000
    """Longest pause between two requests."""
    lease_ms: int = 120_000
    """Milliseconds until a hold that is not renewed expires."""
