"""The ledger: each operation is one round trip to Postgres and one transaction.

An operation with a `connection` joins its transaction: a turn stores its reply and settles in one.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

import asyncpg

from purser.budget.errors import AttemptConflict, HoldClosed, InvalidRequest, KeyReused
from purser.budget.gate import Amount, GateAnswer, Verdict, gate_answer, smallest
from purser.budget.holds import (
    MAX_ATTEMPT,
    AttemptAnswer,
    Extension,
    HoldAnswer,
    HoldRequest,
    HoldState,
    Released,
    Report,
    Settlement,
    check_range,
)
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetched
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.batches import Ask, Settle, hold_together, settle_together
from purser.budget.postgres.ledger.micro_batching import MicroBatcher
from purser.budget.postgres.ledger.scope_views import views_of
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.postgres.ledger.shadow import count_shadow
from purser.budget.postgres.ledger.starting import check_start, hold_number, no_hold
from purser.budget.postgres.ledger.steps import (
    AttemptStart,
    Extend,
    Release,
    Steps,
    read_extension,
    read_release,
    read_start,
)
from purser.budget.pricing.call_prices import price_needed
from purser.budget.scopes import Scope
from purser.wire.limits import MAX_CALL_NANO_USD, MAX_CALL_TOKENS, MAX_LEASE_MS

_SQL = load("purser.budget.postgres.ledger", "ledger.sql")


class Ledger:
    """Holds, attempts and settlements of all tenants."""

    def __init__(self, pool: Pool, settings: LedgerSettings, *, now: datetime | None = None) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        settings: defaults by kind, lease and grace.
        now: replaces the server's clock; for tests of windows and leases.
        """
        self.pool = pool
        self.settings = settings
        self.now = now
        self._asks = MicroBatcher[Ask, HoldAnswer](
            lambda asks: hold_together(pool, settings, self.now, asks),
            lambda ask: self._hold(ask.tenant, ask.request, None),
            lambda ask: (ask.tenant, ask.request.key),
        )
        self._settles = MicroBatcher[Settle, Settlement](
            lambda settles: settle_together(pool, settings, self.now, settles),
            lambda settle: self._settle("settle", settle, keep_open=False, connection=None),
            lambda settle: (settle.tenant, settle.hold_id),
        )
        steps = pool, settings, lambda: self.now
        self._attempts = Steps[AttemptStart, AttemptAnswer](*steps, "start_attempt", read_start)
        self._releases = Steps[Release, Released](*steps, "release", read_release)
        self._extensions = Steps[Extend, Extension](*steps, "extend", read_extension)

    async def hold(self, tenant: str, request: HoldRequest, connection: Connection | None = None) -> HoldAnswer:
        """Holds the ask on every scope of its path, or on none.

        Raises:
            KeyReused: the key is bound to another payload.
            HoldClosed: the key was released before it ever held, or the request starts an attempt and its hold has
                ended.
            AttemptConflict: the request starts an attempt, and attempt 1 of its hold has ended.
            LedgerUnavailable: nothing is admitted; what may have arrived is found under the same key.
        """
        if connection is None and request.last_of is None:
            return await self._asks.call(Ask(tenant, request))
        return await self._hold(tenant, request, connection)

    async def _hold(self, tenant: str, request: HoldRequest, connection: Connection | None) -> HoldAnswer:
        least = smallest(request.ask, request.least)
        lease = timedelta(milliseconds=request.lease_ms or self.settings.lease_s * 1_000)
        arguments = (
            tenant, request.key, request.digest, request.path.texts(), [str(label) for label in request.all_labels],
            request.path.task_id(), request.model, request.ask.tokens, least.tokens,
            lease, request.patient, self.settings.waiter_lapse, self.settings.defaults_json, self.now,
            request.last_of,
        )  # fmt: skip
        name = "hold_and_start" if request.start else "hold"
        if request.priced:
            found = await self._call(name, connection, *arguments, request.ask.nano_usd, least.nano_usd)
        else:
            found = await self._call(f"{name}_unpriced", connection, *arguments)
        outcome, state = found["outcome"], HoldState(found["state"])
        if outcome == "key_reused":
            raise KeyReused(f"key {request.key!r} is bound to another payload: use a new key for a new call")
        if outcome == "closed":
            raise HoldClosed(f"key {request.key!r} was {state} before it held anything: use a new key", state=state)
        starts = request.start and found["hold_id"] is not None
        amount = Amount(found["tokens"], found["nano"])
        gate = self._gate_answer(found["views"], request.ask, least, patient=request.patient, priced=request.priced)
        if outcome == "repeat" and not gate.verdict.admits:
            # Its estimate or price has grown since it was admitted.
            gate = self._gate_answer(found["views"], amount, amount, patient=request.patient)
        answer = HoldAnswer(
            gate=gate,
            hold_id=None if found["hold_id"] is None else str(found["hold_id"]),
            state=state,
            amount=amount,
            expires_at=found["started_until"] if starts else found["expires_at"],
            retry_after_ms=self.settings.retry_after_ms if gate.verdict is Verdict.WAIT else None,
            repeated=outcome == "repeat",
            attempt=1 if starts else None,
        )
        await count_shadow(self.pool, tenant, [answer], self.now, connection)
        if starts:
            check_start(found["start"], str(found["hold_id"]), 1, found["start_state"], found["attempt"])
        return answer

    async def start_attempt(
        self,
        tenant: str,
        hold_id: str,
        attempt: int | None = None,
        connection: Connection | None = None,
        *,
        most: Amount | None = None,
    ) -> AttemptAnswer:
        """Starts the next attempt; to be called before each request to a provider.

        An earlier attempt that never reported is presumed, and the hold is topped up to a full estimate.

        Args:
            tenant, hold_id: the hold.
            attempt: its number; `None`: the next one.
            connection: joins its transaction.
            most: the most that its request can use, charged if it never reports; `None`: what is held.

        Raises:
            InvalidRequest, NotFound, AttemptConflict
            HoldClosed: the hold has ended; hold again under another key.
        """
        if attempt is not None:
            check_range(attempt, "attempt", 1, MAX_ATTEMPT)
        if most is not None:
            check_range(most.tokens, "tokens", 0, MAX_CALL_TOKENS)
            check_range(most.nano_usd, "nano_usd", 0, MAX_CALL_NANO_USD)
        return await self._attempts.run(AttemptStart(tenant, hold_number(hold_id), None, attempt, most), connection)

    async def attempt_since(self, tenant: str, hold_id: str, sent_at: float) -> int:
        """The number of the attempt that a start without an answer has started, or of the next one if it has not.

        Args:
            tenant, hold_id: the hold.
            sent_at: when the start was sent, by `time.monotonic`.

        Raises:
            NotFound: no hold has this id.
            LedgerUnavailable
        """
        rows = await fetched(self.pool, None, _SQL["last_attempt"], tenant, hold_number(hold_id), self.now)
        if not rows:
            raise no_hold(hold_id)
        [(last, age)] = rows
        # Two durations, as the clocks of two machines differ.
        started = age is not None and age.total_seconds() <= monotonic() - sent_at
        return int(last) if started else int(last) + 1

    async def settle(
        self,
        tenant: str,
        hold_id: str,
        attempt: int,
        report: Report,
        *,
        keep_open: bool = False,
        must_be_priced: bool = False,
        connection: Connection | None = None,
    ) -> Settlement:
        """Records the full cost of an attempt: never refused, never reduced.

        Args:
            tenant, hold_id, attempt: the attempt to settle.
            report: its usage and cost.
            keep_open: leave the hold open for another attempt, because this one failed.
            must_be_priced: refuse a report of unknown price if a scope limits money, as the caller can state a price.
            connection: joins its transaction.

        Raises:
            InvalidRequest, NotFound
            UnknownPrice, MoneyNeeded: the price is unknown, and a scope limits money.
            AttemptConflict: the attempt was reported differently before, or is out of order.
        """
        check_range(attempt, "attempt", 1, MAX_ATTEMPT)
        settle = Settle(tenant, hold_number(hold_id), attempt, report)
        if must_be_priced and not report.priced:
            return await self._settle("settle_unpriced", settle, keep_open=keep_open, connection=connection)
        if connection is None and not keep_open:
            return await self._settles.call(settle)
        return await self._settle("settle", settle, keep_open=keep_open, connection=connection)

    async def _settle(self, name: str, settle: Settle, *, keep_open: bool, connection: Connection | None) -> Settlement:
        hold_id, attempt, report = str(settle.hold_id), settle.attempt, settle.report
        found = await self._call(
            name, connection, settle.tenant, settle.hold_id, attempt, report.amount.tokens, report.nano_usd,
            report.stored, report.digest, keep_open, self.settings.defaults_json, self.now,
        )  # fmt: skip
        match found["outcome"]:
            case "not_found":
                raise no_hold(hold_id)
            case "price_needed":
                raise price_needed(found["model"], found["scope"], found["limit_nano"])
            case "conflict":
                raise AttemptConflict(
                    f"attempt {attempt!r} of hold {hold_id!r} has reported another usage: a report is final"
                )
            case "out_of_order":
                raise AttemptConflict(
                    f"attempt {attempt!r} of hold {hold_id!r} never started: the next is {found['attempts'] + 1}"
                )
        return Settlement(
            hold_id=hold_id,
            state=HoldState(found["state"]),
            charged=Amount(found["tokens"], found["nano"]),
            overrun=Amount(found["overrun_tokens"], found["overrun_nano"]),
            late=found["late"],
        )

    async def release(
        self, tenant: str, *, hold_id: str | None = None, key: str | None = None, connection: Connection | None = None
    ) -> Released:
        """Ends a hold by id or by key; an attempt that never reported is presumed. Ending it again has no effect.

        Releasing by key also closes a key that has no hold, so that a late ask cannot hold.

        Raises:
            NotFound: no hold has this id.
        """
        if (hold_id is None) == (key is None):
            raise InvalidRequest("release needs either hold_id or key")
        number = None if hold_id is None else hold_number(hold_id)
        return await self._releases.run(Release(tenant, number, key), connection)

    async def extend(
        self,
        tenant: str,
        hold_id: str,
        more: Amount | None = None,
        lease_ms: int | None = None,
        connection: Connection | None = None,
        *,
        priced: bool = True,
    ) -> Extension:
        """Renews the lease and, through the gate, adds to the hold. The lease never gets shorter.

        Args:
            tenant, hold_id: the hold to extend.
            more: amount to add.
            lease_ms: milliseconds from now; `None`: the lease of the hold.
            connection: joins its transaction.
            priced: False if the cost of `more` is unknown and it has no money; see `HoldRequest.priced`.

        Raises:
            InvalidRequest, NotFound, HoldClosed
        """
        more = more or Amount()
        check_range(more.tokens, "tokens", 0, MAX_CALL_TOKENS)
        check_range(more.nano_usd, "nano_usd", 0, MAX_CALL_NANO_USD)
        if lease_ms is not None:
            check_range(lease_ms, "lease_ms", 1, MAX_LEASE_MS)
        lease = None if lease_ms is None else timedelta(milliseconds=lease_ms)
        return await self._extensions.run(Extend(tenant, hold_number(hold_id), None, more, lease, priced), connection)

    async def end_scopes(self, tenant: str, scopes: Iterable[Scope], connection: Connection | None = None) -> None:
        """Marks tasks or agents as ended, so that metrics and forecasts omit their budgets at once.

        Calls are not refused from then on: a scope that is used again counts again.
        """
        async with connected(self.pool, connection) as own:
            await own.execute(_SQL["end_scopes"], tenant, [str(scope) for scope in scopes], self.now)

    async def sweep(self, limit: int = 100) -> int:
        """Expires abandoned holds and ends overdue grants; returns how many. Safe to call from several processes."""
        grace = timedelta(seconds=self.settings.grace_s)
        expired = await self._call("expire", None, grace, limit, self.now)
        ended = await self._call("end_grants", None, limit, self.now)
        return int(expired[0]) + int(ended[0])

    async def _call(self, name: str, connection: Connection | None, *arguments: object) -> asyncpg.Record:
        [found] = await fetched(self.pool, connection, _SQL[name], *arguments)
        return found

    def _gate_answer(
        self, views: list[Mapping[str, Any]], ask: Amount, least: Amount, *, patient: bool, priced: bool = True
    ) -> GateAnswer:
        return gate_answer(views_of(views, self.settings.backpressure), ask, least, patient=patient, priced=priced)
