"""Batches of holds and settlements; see `schema/calls/batches.sql`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

import asyncpg
from pydantic_core import to_json

from purser.budget.gate import NOTHING, Amount, ScopeView, gate_answer, smallest
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState, Report, Settlement
from purser.budget.policies.fields import BackpressureStep
from purser.budget.postgres.connections.json_text import Json
from purser.budget.postgres.connections.pools import Pool, fetched
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.scope_views import views_of
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.postgres.ledger.shadow import count_shadow

_SQL = load("purser.budget.postgres.ledger", "ledger.sql")
_Balance: TypeAlias = tuple[int, datetime]


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


class _Before:
    """The gate's views of each group of asks, as they are before each ask of a batch in turn."""

    def __init__(self, rows: Sequence[asyncpg.Record], backpressure: Sequence[BackpressureStep]) -> None:
        self._views: dict[int, list[tuple[_Balance, ScopeView]]] = {}
        self._held: dict[_Balance, Amount] = {}
        for row in rows:
            balances = zip(row["scope_ids"], row["window_starts"], strict=True)
            views = list(zip(balances, views_of(row["views"], backpressure), strict=True))
            self._views[row["grp"]] = views
            self._held |= {balance: view.held for balance, view in views}

    def take(self, group: int, holds: Amount) -> list[ScopeView]:
        """What the next ask sees, which then holds this amount."""
        views = []
        for balance, view in self._views[group]:
            held = self._held[balance]
            views.append(view.with_held(held))
            self._held[balance] = held + holds
        return views


async def hold_together(
    pool: Pool, settings: LedgerSettings, now: datetime | None, asks: Sequence[Ask]
) -> list[HoldAnswer | None]:
    """Answers the asks of one tenant that are plain or cannot fit; None for each that the gate has to judge alone."""
    requests = [ask.request for ask in asks]
    lease = timedelta(seconds=settings.lease_s)
    leasts = [smallest(request.ask, request.least) for request in requests]
    groups: dict[tuple[str, str, str], int] = {}
    numbers = [groups.setdefault(_group(request), len(groups) + 1) for request in requests]
    arguments = (
        asks[0].tenant,
        *map(list, zip(*groups, strict=True)),
        [request.key for request in requests],
        [request.digest for request in requests],
        numbers,
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
    started = [place for place, request in enumerate(requests, 1) if request.start]
    if started:
        rows = await fetched(pool, None, _SQL["hold_and_start_many"], *arguments, started)
    else:
        rows = await fetched(pool, None, _SQL["hold_many"], *arguments)
    before = _Before([row for row in rows if row["place"] is None], settings.backpressure)
    answers: list[HoldAnswer | None] = [None] * len(requests)
    for row in rows:
        if row["place"] is None:
            continue
        place = row["place"] - 1
        request, held = requests[place], row["hold_id"] is not None
        seen = before.take(numbers[place], request.ask if held else NOTHING)
        gate = gate_answer(seen, request.ask, request.least, patient=request.patient, priced=request.priced)
        answers[place] = HoldAnswer(
            gate,
            str(row["hold_id"]) if held else None,
            HoldState.HELD if held else HoldState.NONE,
            request.ask,
            row["expires_at"],
            attempt=1 if held and request.start else None,
        )
    await count_shadow(pool, asks[0].tenant, [answer for answer in answers if answer is not None], now)
    return answers


async def settle_together(
    pool: Pool, settings: LedgerSettings, now: datetime | None, settles: Sequence[Settle]
) -> list[Settlement | None]:
    """Settles attempts of one tenant that are next or in progress on open holds; None for each of the others."""
    amounts = [settle.report.amount for settle in settles]
    arguments = (
        settles[0].tenant,
        [settle.hold_id for settle in settles],
        [settle.attempt for settle in settles],
        [amount.tokens for amount in amounts],
        [amount.nano_usd for amount in amounts],
        [Json(to_json(settle.report.stored).decode()) for settle in settles],
        [settle.report.digest for settle in settles],
        settings.defaults_json,
        now,
    )
    rows = await fetched(pool, None, _SQL["settle_many"], *arguments)
    overrun = {row["hold_id"]: Amount(row["overrun_tokens"], row["overrun_nano"]) for row in rows}
    return [
        Settlement(str(settle.hold_id), HoldState.SETTLED, amount, overrun[settle.hold_id], late=False)
        if settle.hold_id in overrun
        else None
        for settle, amount in zip(settles, amounts, strict=True)
    ]


def _group(request: HoldRequest) -> tuple[str, str, str]:
    """Path, labels and task: asks in which these agree draw on the same balances."""
    labels = " ".join(map(str, request.all_labels))
    return " ".join(request.path.texts()), labels, request.path.task_id()
