"""Batches of holds and settlements; see `schema/calls/batches.sql`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import asyncpg

from purser.budget.gate import Amount, ScopeView, gate_answer, smallest
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState, Report, Settlement
from purser.budget.postgres.connections.pools import Pool, connected, retrying
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.scope_views import views_of
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.postgres.ledger.shadow import count_shadow

_SQL = load("purser.budget.postgres.ledger", "ledger.sql")


@dataclass(frozen=True, slots=True)
class Ask:
    """A hold to be made."""

    tenant: str
    request: HoldRequest


@dataclass(frozen=True, slots=True)
class Settle:
    """A settlement to be made."""

    tenant: str
    hold_id: int
    attempt: int
    report: Report


async def hold_together(
    pool: Pool, settings: LedgerSettings, now: datetime | None, asks: Sequence[Ask]
) -> list[HoldAnswer | None]:
    """Makes the holds of one tenant that are plain; None for each that the gate has to judge alone."""
    requests = [ask.request for ask in asks]
    lease = timedelta(seconds=settings.lease_s)
    leasts = [smallest(request.ask, request.least) for request in requests]
    arguments = (
        asks[0].tenant,
        [request.key for request in requests],
        [request.digest for request in requests],
        [" ".join(request.path.texts()) for request in requests],
        [" ".join(map(str, request.all_labels)) for request in requests],
        [request.path.task_id() for request in requests],
        [request.model for request in requests],
        [request.ask.tokens for request in requests],
        [request.ask.nano_usd if request.priced else None for request in requests],
        [lease if request.lease_ms is None else timedelta(milliseconds=request.lease_ms) for request in requests],
        settings.waiter_lapse,
        settings.defaults_json,
        now,
        [least.tokens for least in leasts],
        [least.nano_usd for least in leasts],
    )
    started = [request.key for request in requests if request.start]
    if started:
        rows = await _fetch(pool, "hold_and_start_many", (*arguments, started))
    else:
        rows = await _fetch(pool, "hold_many", arguments)
    views: dict[int, list[ScopeView]] = {
        row["grp"]: views_of(row["views"], settings.backpressure) for row in rows if row["views"] is not None
    }
    answers: dict[str, HoldAnswer] = {}
    by_key = {request.key: request for request in requests}
    for row in rows:
        request = by_key[row["key"]]
        before = zip(views[row["grp"]], row["before_tokens"], row["before_nano"], strict=True)
        seen = [replace(view, held=Amount(tokens, nano)) for view, tokens, nano in before]
        gate = gate_answer(seen, request.ask, request.least, patient=request.patient, priced=request.priced)
        answers[request.key] = HoldAnswer(
            gate,
            str(row["hold_id"]),
            HoldState.HELD,
            request.ask,
            row["expires_at"],
            attempt=1 if request.start else None,
        )
    await count_shadow(pool, asks[0].tenant, list(answers.values()), now)
    return [answers.get(request.key) for request in requests]


async def settle_together(
    pool: Pool, settings: LedgerSettings, now: datetime | None, settles: Sequence[Settle]
) -> list[Settlement | None]:
    """Settles attempts of one tenant that are next or in progress on open holds; None for each of the others."""
    arguments = (
        settles[0].tenant,
        [settle.hold_id for settle in settles],
        [settle.attempt for settle in settles],
        [settle.report.amount.tokens for settle in settles],
        [settle.report.nano_usd for settle in settles],
        [settle.report.stored for settle in settles],
        [settle.report.digest for settle in settles],
        settings.defaults_json,
        now,
    )
    rows = await _fetch(pool, "settle_many", arguments)
    overrun = {row["hold_id"]: Amount(row["overrun_tokens"], row["overrun_nano"]) for row in rows}
    return [
        Settlement(str(settle.hold_id), HoldState.SETTLED, settle.report.amount, overrun[settle.hold_id], late=False)
        if settle.hold_id in overrun
        else None
        for settle in settles
    ]


async def _fetch(pool: Pool, name: str, arguments: tuple[object, ...]) -> list[asyncpg.Record]:
    async def step() -> list[asyncpg.Record]:
        async with connected(pool, None) as own:
            return await own.fetch(_SQL[name], *arguments)

    return await retrying(step)
