"""The hold of a call whose reply streams in: topped up before the reply exceeds it."""

from purser.activities.calls.attempts import Attempt
from purser.activities.models.partial_replies import PartialReply
from purser.activities.postgres.calls.calls import Call
from purser.budget.errors import BudgetError
from purser.budget.gate import Amount
from purser.budget.learned_holds import AHEAD, step
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.call_prices import quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage
from purser.context.tokens import count_text
from purser.context.tokens.calibration import Calibration

_SMALLEST_STEP = 16
_BYTES_PER_TOKEN = 3
"""A low estimate for text, so that the length of a piece in tokens is rather too high."""


class GrowingHold:
    """The hold of one call. A hold for the whole output cap never grows."""

    def __init__(self, ledger: Ledger, prices: PriceBook, call: Call, calibration: Calibration) -> None:
        """Args:
        ledger: tops the hold up.
        prices: the prices of models.
        call: the call for which the hold was admitted.
        calibration: converts counted tokens to tokens of the model.
        """
        self._ledger = ledger
        self._prices = prices
        self._call = call
        self._calibration = calibration
        self.added = 0
        """Output tokens by which the hold has grown."""
        self._ahead = AHEAD
        self._longest = 0
        self._step: int | None = None
        self._counted = 0
        self._uncounted = ""

    def most(self, cap: int) -> Amount | None:
        """The most that a request with this output cap can use; `None`: what is held."""
        return None if self._call.learned_output is None else self._amount(cap)

    async def covers(self, partial: PartialReply, attempt: Attempt) -> bool:
        """Tops the hold up if the reply is about to exceed it; returns False if it has and no top-up fits."""
        while True:
            held = attempt.held.tokens - self._call.prompt_tokens + self.added
            if held >= attempt.cap:
                return True
            left = held - self._produced(partial, held)
            if left >= max(self._ahead, self._longest):
                return True
            if not await self._grows(attempt, held):
                # Another piece as long as the longest so far must still be covered: it comes before it can be refused.
                return left >= self._longest

    def _produced(self, partial: PartialReply, held: int) -> int:
        """Tokens so far. Counts new text once its bytes, at least one a token, could come near to what is held."""
        new = partial.take_new()
        self._uncounted += new
        self._longest = max(self._longest, _bytes(new) // _BYTES_PER_TOKEN + 1)
        known, near = self._calibration.tokens(self._counted), held - max(self._ahead, self._longest)
        if self._uncounted and known + self._calibration.tokens(_bytes(self._uncounted)) > near:
            self._counted += count_text(self._uncounted, self._call.model).tokens
            self._uncounted = ""
            known = self._calibration.tokens(self._counted)
        return known

    async def _grows(self, attempt: Attempt, held: int) -> bool:
        """Asks for a step. Where it does not fit, the next one is smaller and asked for when less is left."""
        wanted = min(attempt.cap - held, self._step or step(held, attempt.cap))
        more = self._amount(held + wanted) - self._amount(held)
        try:
            answer = await self._ledger.extend(self._call.agent.tenant, attempt.hold_id, more, priced=self._call.priced)
            extended = answer.extended
        except BudgetError:
            extended = False
        if extended:
            self.added += wanted
        else:
            self._step = max(_SMALLEST_STEP, wanted // 2)
            self._ahead = max(1, self._ahead // 2)
        return extended

    def _amount(self, output: int) -> Amount:
        usage = Usage(input=self._call.prompt_tokens, output=output)
        return quote(self._prices, self._call.model, usage).full


def _bytes(text: str) -> int:
    # A piece may end within a surrogate pair.
    return len(text.encode("utf-8", "surrogatepass"))
