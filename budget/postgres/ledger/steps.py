"""Steps of holds that exist: attempts, releases and extensions, alone or in batches; see `schema/calls/steps.sql`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import asyncpg

from purser.budget.errors import BudgetError, HoldClosed
from purser.budget.gate import NOTHING, Amount, gate_answer
from purser.budget.holds import AttemptAnswer, Extension, HoldState, Released
from purser.budget.postgres.connections.pools import Connection, Pool, fetched
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.micro_batching import MicroBatcher
from purser.budget.postgres.ledger.scope_views import views_of
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.postgres.ledger.starting import check_start, no_hold

_SQL = load("purser.budget.postgres.ledger", "ledger.sql")


@dataclass(frozen=True, slots=True)
class Step(ABC):
    """A step of a hold, which is named by its id or its key."""

    tenant: str
    hold_id: int | None
    key: str | None = None

    @property
    def name(self) -> str:
        """The hold, as it was named."""
        return str(self.hold_id) if self.key is None else self.key

    @abstractmethod
    def columns(self) -> tuple[object, ...]:
        """Arguments of its statement."""


@dataclass(frozen=True, slots=True)
class AttemptStart(Step):
    """An attempt to be started; its number `None`: the next one."""

    attempt: int | None = None
    most: Amount | None = None
    """The most that its request can use; `None`: what is held."""

    def columns(self) -> tuple[object, ...]:
        most = self.most
        return (self.hold_id, self.attempt, most and most.tokens, most and most.nano_usd)


@dataclass(frozen=True, slots=True)
class Release(Step):
    """A hold to be released."""

    def columns(self) -> tuple[object, ...]:
        return (self.hold_id, self.key)


@dataclass(frozen=True, slots=True)
class Extend(Step):
    """A hold to be extended."""

    more: Amount = NOTHING
    lease: timedelta | None = None
    priced: bool = True

    def columns(self) -> tuple[object, ...]:
        return (self.hold_id, self.more.tokens, self.more.nano_usd if self.priced else None, self.lease)


S = TypeVar("S", bound=Step)
R = TypeVar("R")


class Steps(Generic[S, R]):
    """Runs steps of one kind: those that arrive while a batch is in progress share the next one."""

    def __init__(
        self,
        pool: Pool,
        settings: LedgerSettings,
        clock: Callable[[], datetime | None],
        statement: str,
        read: Callable[[S, asyncpg.Record | None, LedgerSettings], R],
    ) -> None:
        """Args:
        pool, settings: of the ledger.
        clock: replaces the server's clock.
        statement: name of the statement of one step; that of a batch ends in `_many`.
        read: turns the row of a step into its answer, or raises its error.
        """
        self._pool, self._settings, self._clock = pool, settings, clock
        self._statement, self._read = statement, read
        self._batcher = MicroBatcher[S, R](self.together, self.alone, lambda step: (step.tenant, step.name))

    async def run(self, step: S, connection: Connection | None) -> R:
        """Runs one step, alone if it joins the transaction of a connection."""
        return await (self._batcher.call(step) if connection is None else self.alone(step, connection))

    async def alone(self, step: S, connection: Connection | None = None) -> R:
        """Runs one step in a statement of its own."""
        rows = await self._fetch(self._statement, step.tenant, step.columns(), connection)
        return self._read(step, rows[0] if rows else None, self._settings)

    async def together(self, steps: Sequence[S]) -> list[R | BudgetError | None]:
        """Runs steps of one tenant in one statement; each has an answer or an error of its own."""
        columns = [list(column) for column in zip(*(step.columns() for step in steps), strict=True)]
        rows = await self._fetch(f"{self._statement}_many", steps[0].tenant, columns, None)
        by_place = {row["ord"] - 1: row for row in rows}
        return [self._outcome(step, by_place.get(place)) for place, step in enumerate(steps)]

    def _outcome(self, step: S, row: asyncpg.Record | None) -> R | BudgetError:
        try:
            return self._read(step, row, self._settings)
        except BudgetError as error:
            return error

    async def _fetch(
        self, name: str, tenant: str, columns: Sequence[object], connection: Connection | None
    ) -> list[asyncpg.Record]:
        defaults = () if self._statement == "release" else (self._settings.defaults_json,)
        arguments = (tenant, *columns, *defaults, self._clock())
        return await fetched(self._pool, connection, _SQL[name], *arguments)


def read_start(step: AttemptStart, row: asyncpg.Record | None, settings: LedgerSettings) -> AttemptAnswer:
    """The answer to a started attempt, or to one whose top-up does not fit.

    Raises:
        NotFound, HoldClosed, AttemptConflict
    """
    assert row is not None
    check_start(row["outcome"], step.name, step.attempt, row["state"], row["attempt"])
    amount, started = Amount(row["tokens"], row["nano"]), row["outcome"] == "started"
    gate = None
    if not started:
        gate = gate_answer(views_of(row["views"], settings.backpressure), amount, amount, patient=True)
    return AttemptAnswer(row["attempt"], started, amount, row["expires_at"], gate)


def read_release(step: Release, row: asyncpg.Record | None, settings: LedgerSettings) -> Released:
    """The answer to a release.

    Raises:
        NotFound
    """
    if row is None:
        raise no_hold(step.name)
    charged = Amount(row["charged_tokens"], row["charged_nano"])
    return Released(str(row["hold_id"]), HoldState(row["state"]), charged)


def read_extension(step: Extend, row: asyncpg.Record | None, settings: LedgerSettings) -> Extension:
    """The answer to an extension, or to one that does not fit.

    Raises:
        NotFound, HoldClosed
    """
    assert row is not None
    match row["outcome"]:
        case "not_found":
            raise no_hold(step.name)
        case "closed":
            raise HoldClosed(f"hold {step.name!r} is {row['state']}: it cannot be extended", state=row["state"])
    extended, gate = row["outcome"] == "extended", None
    if not extended:
        seen = views_of(row["views"], settings.backpressure)
        gate = gate_answer(seen, step.more, step.more, patient=True, priced=step.priced)
    return Extension(extended, Amount(row["tokens"], row["nano"]), row["expires_at"], gate)
