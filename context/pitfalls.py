"""Configuration linter: warns of common pitfalls in a valid configuration."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from purser.budget.money import dollars
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy
from purser.context.settings import ContextSettings

LATEST_TRIGGER = 0.90
"""Trigger above which the next reply or tool result often overflows the window before compression finishes."""
MOST_RECENTS_PER_PRIMER = 20
SMALL_LIMIT = 10_000
"""Tokens of a hard limit that a few calls exhaust: each reserves its prompt and 4,096 for the reply."""
SMALL_LIMIT_NANO_USD = 10_000_000
"""As many tokens at a dollar per million."""
LARGEST_RATIO = 10
"""Ratio of a limit above which a percentage is meant: 80 instead of 0.8."""
FEWEST_SESSIONS = 20
"""Minimum number of sessions from which a pattern is significant."""


@dataclass(frozen=True, slots=True)
class UsageStatistics:
    """Usage of the system, counted on a live database."""

    sessions: int = 0
    one_message_sessions: int = 0
    """Sessions with a single user message."""
    summaries: int = 0
    """Summaries written by a model."""
    scored_summaries: int = 0
    """Model summaries with a fidelity score."""


@dataclass(frozen=True, slots=True)
class Pitfall:
    """One warning."""

    code: str
    """`late_trigger`, `few_primers`, `small_hard_limit`, `ratio_in_percent`, `session_per_request` or
    `unchecked_summaries`."""
    message: str
    """The finding, with figures."""
    remedy: str


def lint(
    settings: ContextSettings,
    policies: Mapping[str, Policy] | None = None,
    usage_statistics: UsageStatistics | None = None,
) -> list[Pitfall]:
    """Checks for the known pitfalls; an empty result does not prove that a configuration is good.

    Args:
        settings: context settings.
        policies: policies of scopes, by the name used in warnings.
        usage_statistics: usage of the system, if a database is available.
    """
    return [*_settings(settings), *_limits(policies or {}), *_usage(usage_statistics or UsageStatistics())]


def _settings(settings: ContextSettings) -> Iterator[Pitfall]:
    primers, recents = settings.primers_count, settings.recents_count
    if settings.compresses and settings.trigger_ratio > LATEST_TRIGGER:
        yield Pitfall(
            "late_trigger",
            f"compression starts at {settings.trigger_ratio:g} of the context budget, too late to finish in time",
            "Set PURSER_COMPRESSION_TRIGGER_RATIO (trigger_ratio) to 0.75, or 0.85 where detail matters more.",
        )
    if recents > MOST_RECENTS_PER_PRIMER * max(1, primers):
        yield Pitfall(
            "few_primers",
            f"{recents} recent messages stay verbatim and {primers} of the first: the task goes before chatter",
            "Set PURSER_PRIMERS_COUNT (primers_count) to 3 and PURSER_RECENTS_COUNT (recents_count) to 20.",
        )


def _limits(policies: Mapping[str, Policy]) -> Iterator[Pitfall]:
    for name, policy in policies.items():
        if policy.mode is Mode.HARD and not policy.shadow and (small := list(_small_limits(policy))):
            yield Pitfall(
                "small_hard_limit",
                f"{name} has a hard limit of {' and '.join(small)}: work stops after a few calls",
                "Raise the limit, or use mode soft or approval while the need is unknown.",
            )
        for field, ratios in (
            ("warn_at", policy.warn_at),
            ("backpressure", [step.ratio for step in policy.backpressure]),
            ("ladder", [step.ratio for step in policy.ladder]),
        ):
            if (highest := max(ratios, default=0)) > LARGEST_RATIO:
                yield Pitfall(
                    "ratio_in_percent",
                    f"{field} of {name} names the ratio {highest:f}, {highest:f} times the limit: nothing gets there",
                    "Write shares of the limit: 0.8 is 80 %.",
                )


def _small_limits(policy: Policy) -> Iterator[str]:
    if policy.limit_tokens is not None and policy.limit_tokens <= SMALL_LIMIT:
        yield f"{policy.limit_tokens:,} tokens"
    if policy.limit_nano_usd is not None and policy.limit_nano_usd <= SMALL_LIMIT_NANO_USD:
        yield dollars(policy.limit_nano_usd)


def _usage(usage_statistics: UsageStatistics) -> Iterator[Pitfall]:
    sessions, single = usage_statistics.sessions, usage_statistics.one_message_sessions
    if sessions >= FEWEST_SESSIONS and 2 * single > sessions:
        yield Pitfall(
            "session_per_request",
            f"{single:,} of {sessions:,} sessions have a single message: callers seem to make a new id each time",
            "Send one session_id for all requests of a conversation, or nothing is remembered and no limit adds up.",
        )
    if usage_statistics.summaries and not usage_statistics.scored_summaries:
        yield Pitfall(
            "unchecked_summaries",
            f"{usage_statistics.summaries:,} summaries were written by a model and the fidelity of none was measured",
            "Read a few: `GET /v1/sessions/{id}/summaries`; measure them with `purser.context.compression.fidelity`.",
        )
