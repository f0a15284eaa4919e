"""What the demo did, in figures: from the API where it tells them, else from the tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from purser.budget.errors import UnknownPrice
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.reports.audit import audit
from purser.budget.pricing.prices import PriceBook
from purser.budget.usage import Usage

_SQL = load("purser.compose.demo", "figures.sql")


@dataclass(frozen=True)
class Held:
    """What was set aside before the calls."""

    holds: int
    tokens: int
    returned_tokens: int
    """Set aside and not needed."""


@dataclass(frozen=True)
class Spent:
    """What the calls cost."""

    calls: int
    tokens: int
    nano_usd: int
    provider_tokens: int | None
    """The same by the provider's own log, where it is ours."""


@dataclass(frozen=True)
class Compression:
    """One version of the session's summary."""

    version: int
    messages: int
    """That it covers."""
    of_messages: int
    """That the session had when the task began."""
    tokens_before: int
    tokens_after: int
    calls: int
    """Calls whose prompt showed it."""
    method: str
    text: str

    @property
    def saved_tokens(self) -> int:
        """Input that those calls did not send."""
        return (self.tokens_before - self.tokens_after) * self.calls


@dataclass(frozen=True)
class Cached:
    """Input that came from the provider's cache."""

    tokens: int
    saved_nano_usd: int
    """Less than it would have cost fresh."""


@dataclass(frozen=True)
class Delayed:
    """What backpressure did."""

    calls: int
    ms: int


@dataclass(frozen=True)
class Warned:
    """A threshold that a budget passed."""

    scope: str
    ratio: str


@dataclass(frozen=True)
class SetAside:
    """What was held of one scope."""

    tokens: int
    most_tokens: int
    """At one moment."""


@dataclass(frozen=True)
class Figures:
    """Everything that the report tells."""

    task: Mapping[str, Any]
    """As `GET /tasks/{id}`."""
    seconds: float
    """From submitting the task to its end."""
    held: Held
    spent: Spent
    compressions: tuple[Compression, ...]
    cached: Cached
    delayed: Delayed
    approvals: tuple[Mapping[str, Any], ...]
    """As `GET /approvals`."""
    warnings: tuple[Warned, ...]
    set_aside: Mapping[str, SetAside]
    """By scope."""
    audit: Mapping[str, Any]
    """As `purser audit`."""

    @property
    def ok(self) -> bool:
        """Whether the task completed and the ledger is right."""
        return bool(self.task["status"] == "completed" and self.audit["ok"])


async def collect(
    pool: Pool,
    prices: PriceBook,
    submitted: Mapping[str, Any],
    task: Mapping[str, Any],
    approvals: list[Mapping[str, Any]],
    *,
    seconds: float,
    provider_tokens: int | None,
) -> Figures:
    """Reads what happened.

    Args:
        pool: of the demo's own database.
        prices: of the models.
        submitted: the task file.
        task: how it ended, as `GET /tasks/{id}` shows it.
        approvals: as `GET /approvals` lists them.
        seconds: how long the task took.
        provider_tokens: what the provider's log says that it charged; `None` if the log is not ours.
    """
    set_aside = {row["scope"]: SetAside(row["held"], row["most_held"]) for row in await pool.fetch(_SQL["scopes"])}
    session = f"session:{task['session_id']}"
    tokens = task["scopes"][session]["tokens"]["spent"]
    held = set_aside[session].tokens if session in set_aside else 0
    return Figures(
        task=task,
        seconds=seconds,
        held=Held(await pool.fetchval(_SQL["holds"]), held, max(0, held - tokens)),
        spent=Spent(
            sum(agent["turns"] for agent in task["agents"].values()),
            tokens,
            task["scopes"][session]["nano_usd"]["spent"],
            provider_tokens,
        ),
        compressions=await compressions(pool),
        cached=_cached(prices, submitted, task),
        delayed=Delayed(**dict(await pool.fetchrow(_SQL["delays"]) or {})),
        approvals=tuple(approvals),
        warnings=tuple(Warned(**row) for row in await pool.fetch(_SQL["warnings"])),
        set_aside=set_aside,
        audit=(await audit(pool)).to_json(),
    )


async def compressions(pool: Pool) -> tuple[Compression, ...]:
    """The versions of the session's summary so far."""
    return tuple(Compression(**row) for row in await pool.fetch(_SQL["compressions"]))


def charged(agent: Mapping[str, Any]) -> int:
    """Tokens that an agent was charged for, in the shape of `GET /tasks/{id}`."""
    return Usage.from_dict(agent["usage"]).total


def short_name(scope: str) -> str:
    """A scope without the task that all agents have in common."""
    kind, _, name = scope.partition(":")
    return f"{kind} {name.rpartition('/')[2]}"


def _cached(prices: PriceBook, submitted: Mapping[str, Any], task: Mapping[str, Any]) -> Cached:
    agents = task["agents"]
    read = [(agent["model"], agents[agent["id"]]["usage"]["cache_read"]) for agent in submitted["agents"]]
    return Cached(sum(tokens for _, tokens in read), sum(_saved(prices, *one) for one in read))


def _saved(prices: PriceBook, model: str, cache_read: int) -> int:
    try:
        price = prices.price(model)
    except UnknownPrice:
        return 0
    return price.cost(Usage(input=cache_read)) - price.cost(Usage(cache_read=cache_read))
