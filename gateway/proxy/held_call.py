"""The hold of one call through the proxy: admission as its terms say, one attempt, one charge."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import structlog

from purser.activities.calls.attempts import Attempt, Attempts, NotStarted, anew, known_usage, renewed
from purser.activities.calls.patience import outlasting
from purser.activities.calls.uncancelled import uncancelled
from purser.activities.errors import ProviderError
from purser.activities.models.egress.transport import SendPermit
from purser.activities.runtime.background import in_background
from purser.budget.approvals import ApprovalState
from purser.budget.climbs import Climb, StepReached
from purser.budget.errors import BudgetError, NotFound
from purser.budget.gate import Amount, GateAnswer, Verdict
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState, Report
from purser.budget.postgres.events.events import EventKind
from purser.budget.pricing.call_prices import Quote, quote
from purser.budget.refusals import Refusal
from purser.budget.usage import Usage
from purser.gateway.access.roles import Principal
from purser.gateway.holds.waiting import ask_gate
from purser.gateway.postgres.waiting_calls import waiting_call
from purser.gateway.proxy.callers import CallTerms
from purser.gateway.proxy.verdicts import NotAdmitted
from purser.gateway.services import Services

_POLL_S = 1.0
"""Longest pause before a call that waits for open holds asks again."""
_UNDECIDED_S = 10.0
"""Longest pause before a call that waits for a decision asks again: room may return without one."""
_AGAIN = 3
"""Most further holds of an `Idempotency-Key` whose earlier calls have ended."""
_log = structlog.get_logger(__name__)
_jitter = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Charged:
    """What a call cost."""

    usage: Usage
    nano_usd: int

    @property
    def comment(self) -> bytes:
        """The cost as a comment of a streamed reply, which clients ignore."""
        return f": purser-cost-nano-usd {self.nano_usd}\n\n".encode()


class HeldCall:
    """A call under the gate, from its ask to its charge."""

    def __init__(self, use: Services, caller: Principal, terms: CallTerms, model: str) -> None:
        self._use = use
        self._caller = caller
        self._terms = terms
        self.model = model
        """The model that is called."""
        self._waits_as = terms.key
        """The key under which it waits for a decision."""
        self._attempts = Attempts(use.ledger, use.prices, use.metrics.calls.unpriced)
        self._attempt: Attempt | None = None
        self._asked: HoldRequest | None = None
        """The last ask for a hold."""
        self.answer: HoldAnswer | None = None
        """The hold, once the gate has admitted the call."""
        self.steps: Sequence[Mapping[str, Any]] = ()
        """The steps of ladders that the call took, as `Climb.stored` names them."""

    @property
    def held(self) -> HoldAnswer:
        """The hold of an admitted call."""
        assert self.answer is not None
        return self.answer

    @property
    def hold_id(self) -> str:
        """The id of the hold of an admitted call."""
        assert self.held.hold_id is not None
        return self.held.hold_id

    @property
    def started(self) -> bool:
        """Whether its attempt has started, so that the provider may have charged something."""
        return self._attempt is not None

    @property
    def was_overtaken(self) -> bool:
        """Whether an earlier call of the same key can have ended the hold before anything was sent."""
        return self.held.repeated and not self.started

    async def admit(self, full: Usage, least: Usage, climb: Climb | None = None, model: str = "") -> HoldAnswer:
        """Holds the most that the call may use, and waits as its terms say.

        Args:
            full: the most that the call may use.
            least: what it may shrink to.
            climb: the steps of ladders that it has taken, if it is to take all that it reaches.
            model: the cheaper model that it has taken; empty: its own.

        Raises:
            StepReached: it reaches steps beyond `climb`: ask again with them.
            NotAdmitted: the gate does not admit it, or not soon enough.
            UnknownPrice, MoneyNeeded, KeyReused, HoldClosed, LedgerUnavailable
        """
        self.answer = None
        self.model = model or self.model
        quoted = quote(self._use.prices, self.model, full, least)
        request = self._asked = await self._request(quoted)
        try:
            answer, approval_id = await self._patiently(request, climb)
        except StepReached:
            raise
        except BaseException:
            await self._withdraw()
            raise
        if answer.hold_id is None:
            refusal = await self._refusal(request, answer.gate)
            if answer.gate.verdict is not Verdict.ASK:
                await self._withdraw()
            quoted.check_priced(answer.gate)
            raise NotAdmitted(answer.gate, refusal, approval_id, answer.retry_after_ms)
        if answer.repeated:
            # An earlier request of the same key may have taken a step.
            self.model = (await self._use.holds.get(self._caller.tenant, answer.hold_id)).model or self.model
        self.answer = answer
        return answer

    async def outlast_delay(self) -> None:
        """Waits for the backpressure delay."""
        await asyncio.sleep(self.held.gate.delay_ms / 1_000)

    async def start(self, cap: int, pace: Callable[[], Awaitable[None]]) -> SendPermit:
        """Starts the attempt when the request is ready to leave and `pace` has returned.

        Raises:
            NotAdmitted: the budget has no room for another attempt of the same key.
            HoldClosed, LedgerUnavailable
        """
        if self._attempt is None:
            await pace()
            try:
                self._attempt = await self._attempts.start(
                    self._caller.tenant, self.model, self.hold_id, self.held.amount, cap
                )
            except NotStarted as refusal:
                raise NotAdmitted(refusal.gate, None, "", None) from None
        return self._attempt.permit

    async def charge(self, usage: Usage, provider_request_id: str = "") -> Charged:
        """Ends the hold with the cost of its attempt.

        If the database has lost the hold, as in a failover, the call is charged under another one. If that fails, it is
        logged: the reply has been paid for, and reaches the client in any case.
        """
        attempt = self._attempt
        assert attempt is not None
        report = self._attempts.report(attempt, usage, provider_request_id)
        try:
            await outlasting(lambda: self._attempts.settle(attempt, report))
        except NotFound:
            await self._charge_anew(attempt, report)
        return Charged(usage, report.nano_usd)

    async def _charge_anew(self, attempt: Attempt, report: Report) -> None:
        lost, cost = attempt.hold_id, report.amount
        if not cost.tokens and not cost.nano_usd:
            return
        assert self._asked is not None
        try:
            request = replace(
                self._asked,
                key=f"{self._asked.key}.lost-{lost}",
                ask=cost,
                least=Amount(min(1, cost.tokens), 0),  # a report is charged in full, whatever was held
                model=attempt.model,
                patient=False,
            )
            answer = await outlasting(lambda: self._use.ledger.hold(self._caller.tenant, request))
            if answer.hold_id is not None:
                again = replace(attempt, hold_id=answer.hold_id, number=1)
                await outlasting(lambda: self._attempts.settle(again, report))
                self.answer = answer
                return
            reason = str(answer.gate.verdict)
        except BudgetError as error:
            reason = type(error).__name__
        _log.error(
            "a call is not charged: the database has lost its hold", tenant=self._caller.tenant, hold_id=lost,
            model=attempt.model, tokens=cost.tokens, nano_usd=cost.nano_usd, reason=reason,
        )  # fmt: skip

    async def failed(self, failure: ProviderError, usage: Usage | None) -> None:
        """Charges what a failed request has cost; an unknown cost is presumed."""
        known = known_usage(failure, usage)
        if self.started and known is not None:
            await self.charge(known)
        else:
            await self.give_up()

    async def give_up(self) -> None:
        """Ends the hold without a report: an attempt that started is charged its estimate."""
        tenant, hold_id = self._caller.tenant, self.hold_id
        with suppress(NotFound):
            await outlasting(lambda: self._use.ledger.release(tenant, hold_id=hold_id))

    def leased(self) -> AbstractAsyncContextManager[None]:
        """Keeps the lease of the hold alive."""
        ledger = self._use.ledger
        return in_background(renewed(ledger, self._caller.tenant, self.hold_id, ledger.settings.lease_s * 1_000))

    async def _request(self, quoted: Quote) -> HoldRequest:
        path = await self._use.payers.complete(self._caller.tenant, self._terms.path)
        return HoldRequest(
            key=self._terms.key,
            path=path,
            ask=quoted.full,
            least=quoted.least,
            model=self.model,
            stated=self._terms.path,
            priced=quoted.priced,
            sent=self._terms.sent,
        )

    async def _patiently(self, request: HoldRequest, climb: Climb | None) -> tuple[HoldAnswer, str]:
        """Asks until the gate admits or refuses the call, or its patience ends. Only the first ask takes steps."""
        began, waits = monotonic(), False
        with ExitStack() as place:
            while True:
                answer, approval_id = await self._ask(request, climb)
                climb = None
                self._use.metrics.calls.count_verdict(answer.gate)
                patience = self._terms.patience(answer.gate.verdict)
                left = patience - (monotonic() - began)
                if answer.gate.verdict not in (Verdict.WAIT, Verdict.ASK) or left <= 0 or answer.gate.unpriced:
                    return answer, approval_id
                if not waits:
                    waits = True
                    place.enter_context(self._use.limits.waiting_call(self._caller))
                if answer.gate.verdict is Verdict.ASK:
                    # Calls that came together do not ask again together.
                    await self._decided(approval_id, min(left, _UNDECIDED_S * _jitter.uniform(0.5, 1)))
                else:
                    pause = (answer.retry_after_ms or 1_000) / 1_000
                    await asyncio.sleep(min(pause, _POLL_S, left))

    async def _decided(self, approval_id: str, most_s: float) -> None:
        """Returns once a request for approval is decided, or after `most_s`."""
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(most_s),
                self._use.feed.subscribe(self._caller.tenant, (EventKind.APPROVAL,)) as events,
            ):
                async for event in events:
                    if event.data["approval_id"] == approval_id and event.data["state"] != ApprovalState.PENDING:
                        return
                # The gateway is stopping.
                await asyncio.sleep(most_s)

    async def _ask(self, request: HoldRequest, climb: Climb | None) -> tuple[HoldAnswer, str]:
        """Asks for a hold; for a new one if an earlier call under the same key has ended."""
        waits_as = self._waiting_key if self._terms.own_key else None
        answer, approval_id = await ask_gate(request, self._caller, self._use, climb, waits_as)
        for repeated in anew(request, _AGAIN):
            if answer.state not in (HoldState.SETTLED, HoldState.RELEASED, HoldState.EXPIRED):
                break
            answer, approval_id = await ask_gate(repeated, self._caller, self._use, climb, waits_as)
        return answer, approval_id

    async def _waiting_key(self) -> str:
        """The key of an equal call that waits for a decision, or its own: a repetition does not ask for more."""
        waiting = await waiting_call(self._use.pool, self._caller.tenant, self._terms.kin, self._waits_as)
        self._waits_as = waiting or self._terms.key
        return self._waits_as

    async def _refusal(self, request: HoldRequest, gate: GateAnswer) -> Refusal | None:
        if gate.verdict is Verdict.WAIT:
            return None
        task_id, scope = request.path.task_id(), gate.decisive.scope
        period_end = await self._use.policies.room_returns(self._caller.tenant, scope, request.ask, task_id)
        return Refusal.of(gate, request.ask, period_end)

    async def _withdraw(self) -> None:
        """Ends the wait of a call that no client can repeat, so that it delays no other call."""
        if self._terms.own_key:
            with suppress(BudgetError):
                await uncancelled(self._use.ledger.release(self._caller.tenant, key=self._terms.key))
