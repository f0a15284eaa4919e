"""Figures of the demo for its report: from the API where it has them, otherwise from the database."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from purser.budget.errors import UnknownPrice
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.connections.queries import load
from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage

_SQL = load("purser.compose.demo", "figures.sql")


@dataclass(frozen=True)
class Held:
    """What was held before the calls."""

    holds: int
    tokens: int
    returned_tokens: int
    """Held, not used, and returned."""


@dataclass(frozen=True)
class Spent:
    """What the calls cost."""

    calls: int
    tokens: int
    nano_usd: int
    provider_tokens: int | None
    """The same according to the provider's own log; `None` with a real provider."""


@dataclass(frozen=True)
class Compression:
    """One version of the session's summary."""

    version: int
    messages: int
    """Messages that it covers."""
    of_messages: int
    """Messages in the session when the task began."""
    tokens_before: int
    tokens_after: int
    calls: int
    """Calls whose prompt contained it."""
    method: str
    text: str

    @property
    def saved_tokens(self) -> int:
        """Input tokens that those calls saved."""
        return (self.tokens_before - self.tokens_after) * self.calls


@dataclass(frozen=True)
class Cached:
    """Input tokens read from the provider's cache."""

    tokens: int
    saved_nano_usd: int
    """Difference to the price of uncached input."""


@dataclass(frozen=True)
class Delayed:
    """Delays by backpressure."""

    calls: int
    ms: int


@dataclass(frozen=True)
class Warned:
    """A threshold that a budget passed."""

    scope: str
    ratio: str


@dataclass(frozen=True)
class ScopeHolds:
    """Tokens held of one scope."""

    tokens: int
    most_tokens: int
    """The maximum at one moment."""


@dataclass(frozen=True)
class Figures:
    """All figures of the report; its JSON has the same fields."""

    task: Mapping[str, Any]
    """As `GET /tasks/{id}` returns it."""
    seconds: float
    """From submitting the task to its end."""
    held: Held
    spent: Spent
    compressions: tuple[Compression, ...]
    cached: Cached
    delayed: Delayed
    approvals: tuple[Mapping[str, Any], ...]
    """As `GET /approvals` returns them."""
    warnings: tuple[Warned, ...]
    holds: Mapping[str, ScopeHolds]
    """By scope."""
    audit: Mapping[str, Any]
    """As `purser audit --json` prints it."""

    @property
    def ok(self) -> bool:
        """Whether the task completed and the audit found no difference."""
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
    """Collects the figures.

    Args:
        pool: connections to the demo's own database.
        prices: prices of the models.
        submitted: the task file.
        task: the ended task, as `GET /tasks/{id}` returns it.
        approvals: as `GET /approvals` returns them.
        seconds: how long the task took.
        provider_tokens: tokens charged according to the provider's log; `None` with a real provider.
    """
    holds = {row["scope"]: ScopeHolds(row["held"], row["most_held"]) for row in await pool.fetch(_SQL["scopes"])}
    session = f"session:{task['session_id']}"
    tokens = task["scopes"][session]["tokens"]["spent"]
    held = holds[session].tokens if session in holds else 0
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
        holds=holds,
        audit=(await audit(pool)).to_json(),
    )


async def compressions(pool: Pool) -> tuple[Compression, ...]:
    """All versions of the session's summary so far."""
    return tuple(Compression(**row) for row in await pool.fetch(_SQL["compressions"]))


def charged(agent: Mapping[str, Any]) -> int:
    """Tokens charged to an agent of `GET /tasks/{id}`."""
    return Usage.from_dict(agent["usage"]).total


def short_name(scope: str) -> str:
    """Kind and name of a scope, without the task id in front of an agent's name."""
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
