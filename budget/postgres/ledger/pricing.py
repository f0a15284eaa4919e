"""Prices of holds over HTTP: as the caller states, else by the model that the hold names."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import asyncpg

from purser.budget.errors import AttemptConflict, MoneyNeeded, UnknownPrice
from purser.budget.holds import HoldAnswer, Report, Settlement, usage_of
from purser.budget.postgres.connections.pools import connected
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.starting import hold_number
from purser.budget.pricing.call_prices import Quote, Unpriced, charge, ignore_unpriced, outcome_of, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage

_SQL = load("purser.budget.postgres.ledger", "pricing.sql")
REMEMBERED = 10_000
"""Most holds whose model and money a process remembers."""


class Pricing:
    """The price rule for callers that can state money: they must, if a path limits money and the price is unknown."""

    def __init__(
        self,
        prices: PriceBook,
        ledger: Ledger,
        holds: Holds,
        on_unpriced: Callable[[Unpriced], None] = ignore_unpriced,
    ) -> None:
        """Args:
        prices: prices of models.
        ledger: settles, and refuses a report of unknown price where money is limited.
        holds: determine the model of a hold.
        on_unpriced: called for each report without a price.
        """
        self._prices = prices
        self._ledger = ledger
        self._holds = holds
        self._on_unpriced = on_unpriced
        self._admitted: OrderedDict[tuple[str, str], tuple[str | None, int]] = OrderedDict()

    def quote(self, model: str | None, tokens: int, least_tokens: int, nano_usd: int | None) -> Quote:
        """Returns the cost of an ask and of its minimum, in tokens of unknown class.

        Args:
            model, tokens, least_tokens: model, tokens and minimum tokens of the call.
            nano_usd: cost of all tokens as the caller states it; `None`: not stated.
        """
        return quote(self._prices, model, Usage.from_total(tokens), Usage.from_total(least_tokens), nano_usd)

    def admitted(self, tenant: str, model: str | None, answer: HoldAnswer) -> None:
        """Remembers the model and the money of a hold, which never change, for the report of its usage."""
        if answer.hold_id is not None:
            self._admitted[tenant, answer.hold_id] = model, answer.amount.nano_usd
            if len(self._admitted) > REMEMBERED:
                self._admitted.popitem(last=False)

    async def addition(self, tenant: str, hold_id: str, tokens: int, nano_usd: int | None) -> Quote:
        """Returns the cost of an addition to a hold; raises `NotFound`."""
        known = nano_usd is not None or not tokens
        model = None if known else (await self._holds.get(tenant, hold_id)).model
        return self.quote(model, tokens, tokens, nano_usd)

    async def settle(self, tenant: str, hold_id: str, attempt: int, usage: Usage, nano_usd: int | None) -> Settlement:
        """Settles an attempt at what it cost; see `Ledger.settle`.

        Args:
            tenant, hold_id, attempt: the attempt to settle.
            usage: its usage.
            nano_usd: cost as the caller states it; `None`: not stated.

        Raises:
            InvalidRequest, NotFound, AttemptConflict
            UnknownPrice, MoneyNeeded: the cost is unknown, and a scope limits money.
        """
        report = await self._report(tenant, hold_id, usage, nano_usd)
        try:
            settled = await self._settled(tenant, hold_id, attempt, report, stated=nano_usd is not None)
        except (UnknownPrice, MoneyNeeded):
            self._on_unpriced(Unpriced.REFUSED)
            raise
        if (outcome := outcome_of(report)) is not None:
            self._on_unpriced(outcome)
        return settled

    async def _settled(self, tenant: str, hold_id: str, attempt: int, report: Report, *, stated: bool) -> Settlement:
        """Settles; a report that was recorded at an earlier price of its model is the same report."""
        try:
            return await self._ledger.settle(tenant, hold_id, attempt, report, must_be_priced=True)
        except AttemptConflict:
            first = None if stated else await self._recorded(tenant, hold_id, attempt)
            if first is None or usage_of(first["usage"]) != report.usage.to_dict():
                raise
            same = replace(report, nano_usd=first["nano"])
            return await self._ledger.settle(tenant, hold_id, attempt, same, must_be_priced=True)

    async def _recorded(self, tenant: str, hold_id: str, attempt: int) -> asyncpg.Record | None:
        async with connected(self._ledger.pool, None) as own:
            return await own.fetchrow(_SQL["recorded"], tenant, hold_number(hold_id), attempt)

    async def _report(self, tenant: str, hold_id: str, usage: Usage, nano_usd: int | None) -> Report:
        if nano_usd is not None:
            return Report(usage, nano_usd)
        model, asked_nano_usd = self._admitted.get((tenant, hold_id)) or await self._stored(tenant, hold_id)
        return charge(self._prices, model, usage, asked_nano_usd)

    async def _stored(self, tenant: str, hold_id: str) -> tuple[str | None, int]:
        hold = await self._holds.get(tenant, hold_id)
        return hold.model, hold.asked_nano_usd
