"""What activities are told once."""

from dataclasses import dataclass, field

from purser.context.settings import ContextSettings


@dataclass(frozen=True)
class ActivitySettings:
    """Bounds of tasks and calls, where a task file says nothing else."""

    context: ContextSettings = field(default_factory=ContextSettings)
    """What models get to see."""
    cooldown_s: int = 600
    """Seconds for which a summarizer that failed three times in a row on a conversation is not asked there."""
    summarizer_timeout_s: float = 60
    """Seconds that it may take to write one summary, less than the lease of a hold."""
    memory_tokens: int = 2_000
    """What retrieved messages may take of a window of the strategy `hybrid`."""
    memory_across_sessions: bool = False
    """Whether they may come from other sessions of the same user."""
    max_parallel_agents: int = 8
    """Agents of one task that run at the same time."""
    max_wait_s: int = 600
    """Longest wait for open holds of others before the mode decides."""
    turns_per_run: int = 200
    """An agent continues as new at the latest after this many turns."""
    max_output_tokens: int = 4_096
    """Output that a call may produce; at most what the model can."""
    min_output_tokens: int = 256
    """Smallest output that a call is cut down to when only part of it fits."""
    max_attempts: int = 10
    """Requests to a provider under one hold, before the agent fails."""
    retry_ms: int = 1_000
    """Pause before the second request where the provider names none; doubles from there on."""
    max_retry_ms: int = 60_000
    """Longest such pause."""
    lease_ms: int = 120_000
    """Milliseconds until a hold that nobody renews expires."""
