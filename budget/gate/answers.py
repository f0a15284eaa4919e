"""What the gate reads and what it answers: amounts, scopes as SQL saw them under lock, verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from purser.budget.policies.fields import DEFAULT_BACKPRESSURE, DEFAULT_WARN_AT, BackpressureStep, Mode
from purser.budget.policies.ladder import Ladder, Reached
from purser.budget.scopes import Scope
from purser.wire.enums import Pressure as Pressure


class Verdict(StrEnum):
    """The gate's answer to an ask in one word, mildest first."""

    ALLOW = "allow"
    WARN = "warn"
    WAIT = "wait"
    ASK = "ask"
    REFUSE = "refuse"

    @property
    def admits(self) -> bool:
        """Whether a hold exists after this verdict."""
        return self in (Verdict.ALLOW, Verdict.WARN)


UNLIMITED = "unlimited"
"""The reason of a scope without limits."""
UNKNOWN_PRICE = "unknown_price"
"""The reason of a scope with a money limit, for an ask of unknown price."""
SHADOW = "shadow"
"""The reason of a scope whose policy only records its verdicts."""
OUTCOMES = ("refuse", "ask", "wait", "delay")
"""How a policy holds up a call, strictest first."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and money, always together."""

    tokens: int = 0
    nano_usd: int = 0
    """Nano-dollars."""

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens + other.tokens, self.nano_usd + other.nano_usd)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens - other.tokens, self.nano_usd - other.nano_usd)

    def to_json(self) -> dict[str, int]:
        """Both units as a JSON object."""
        return {"tokens": self.tokens, "nano_usd": self.nano_usd}


NOTHING = Amount()
"""No tokens, no money."""


@dataclass(frozen=True, slots=True)
class ScopeView:
    """One scope of a path as SQL read it under lock, before the ask."""

    scope: Scope
    mode: Mode
    limit_tokens: int | None
    limit_nano_usd: int | None
    spent: Amount
    held: Amount
    granted: Amount
    window_start: datetime | None = None
    """`None` for a lifetime."""
    frozen: bool = False
    shadow: bool = False
    """Its policy only records its verdicts: it neither stops nor delays a call."""
    queued: bool = False
    """An older ask waits for this scope and goes first; never set for a scope that is not bounded or a caller that
    cannot wait."""
    warn_at: Sequence[Decimal] = DEFAULT_WARN_AT
    """Ascending."""
    backpressure: Sequence[BackpressureStep] = DEFAULT_BACKPRESSURE
    reserve: Amount = NOTHING
    """The part of the limit that only last calls may use."""
    last_of: int = 0
    """If the ask is an agent's last call: how many last calls share the reserve; 0: it may use none of it."""
    ladder: Ladder = ()

    def with_held(self, held: Amount) -> "ScopeView":
        """This scope while its open holds are others. Written out: `replace` takes several times as long."""
        return ScopeView(
            self.scope, self.mode, self.limit_tokens, self.limit_nano_usd, self.spent, held, self.granted,
            self.window_start, self.frozen, self.shadow, self.queued, self.warn_at, self.backpressure, self.reserve,
            self.last_of, self.ladder,
        )  # fmt: skip

    @property
    def bounded(self) -> bool:
        """Whether its limit may stop a call: it has one, its mode is not soft, and it does more than record."""
        limited = self.limit_tokens is not None or self.limit_nano_usd is not None
        return limited and self.mode is not Mode.SOFT and not self.shadow

    @property
    def needs_price(self) -> bool:
        """Whether an ask of unknown price is refused here."""
        return self.limit_nano_usd is not None and not self.shadow


@dataclass(frozen=True, slots=True)
class Shadowed:
    """What a policy that only records would have done with an ask."""

    verdict: Verdict
    reason: str
    delay_ms: int
    """Backpressure delay of this scope alone."""

    @property
    def outcome(self) -> str | None:
        """How it would have held up the call, one of `OUTCOMES`; `None` if it would not."""
        if not self.verdict.admits:
            return str(self.verdict)
        return "delay" if self.delay_ms else None


@dataclass(frozen=True, slots=True)
class ScopeAnswer:
    """The gate's answer for one scope of a path."""

    view: ScopeView
    """The scope as it was before the ask."""
    verdict: Verdict
    ratio: float | None
    """(spent + held + ask) / (limit + granted), the larger of tokens and, if the ask has any, money; `None` if that
    divisor is 0."""
    headroom_tokens: int | None
    """Tokens left for this ask; `None` if unlimited, negative if overdrawn or in the reserve of last calls."""
    headroom_nano_usd: int | None
    reason: str
    """`fits`, `unlimited`, `warning`, `over_limit`, `open_holds`, `queued`, `approval`, `limit`, `frozen`,
    `unknown_price` or `shadow`."""
    delay_ms: int = 0
    """Backpressure delay of this scope alone."""
    would: Shadowed | None = None
    """Set for a scope whose policy only records."""
    ladder: Reached | None = None
    """The step of its ladder that the whole ask reaches, whatever part of it is held."""

    @property
    def scope(self) -> Scope:
        """The scope."""
        return self.view.scope


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """The gate's answer to an ask: the verdict on its path, and the answer for each scope of it."""

    verdict: Verdict
    amount: Amount | None
    """Amount held: the ask, or less if only part of it fits; `None` if nothing is held."""
    delay_ms: int
    pressure: Pressure
    scopes: tuple[ScopeAnswer, ...]

    @property
    def decisive(self) -> ScopeAnswer:
        """The outermost scope with the strictest verdict.

        A scope with limits that apply takes precedence over one without, and one that needs a price over all others:
        without a price the ask cannot be judged.
        """
        strictest = [scope for scope in self.scopes if scope.verdict is self.verdict]
        return min(strictest, key=lambda scope: (scope.reason != UNKNOWN_PRICE, scope.reason in (UNLIMITED, SHADOW)))

    @property
    def unpriced(self) -> bool:
        """Whether a scope of the path limits money and the ask has no known price."""
        return self.decisive.reason == UNKNOWN_PRICE

    @property
    def held_up_by(self) -> tuple[str, Scope] | None:
        """The strictest outcome of the policies that only record, and the outermost scope with it; `None` if none."""
        found = [(one.would.outcome, one.scope) for one in self.scopes if one.would and one.would.outcome]
        return min(found, key=lambda one: OUTCOMES.index(one[0]), default=None)

    @property
    def ladder(self) -> dict[Scope, Reached]:
        """The steps of ladders that the ask reaches, outermost scope first. A policy that only records has none."""
        return {one.scope: one.ladder for one in self.scopes if one.ladder is not None}

    @property
    def slowed_by(self) -> Scope | None:
        """The outermost scope that causes the whole delay; `None` if there is no delay."""
        return next((one.scope for one in self.scopes if one.delay_ms == self.delay_ms > 0), None)
