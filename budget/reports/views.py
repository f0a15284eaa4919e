"""Budgets as the API and the dashboard show them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

from purser.budget.gate import OUTCOMES, Amount, Pressure, pressure
from purser.budget.policies.policy import Policy
from purser.budget.scopes import Scope


@dataclass(frozen=True, slots=True)
class BudgetView:
    """One scope's budget in its current window."""

    scope: Scope
    policy: Policy
    sources: Mapping[str, str]
    """Source of each field of the policy."""
    window_start: datetime | None
    """`None` for a lifetime."""
    window_end: datetime | None
    spent: Amount
    held: Amount
    granted: Amount
    overrun: Amount
    would: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    """Calls of the window that the policy would have held up while it only recorded, by outcome."""

    @property
    def ratio(self) -> float | None:
        """(spent + held) / (limit + granted), the larger of tokens and money; 0.0 if unlimited, `None` for limit 0."""
        ratios = [Fraction(0)]
        for limit, name in ((self.policy.limit_tokens, "tokens"), (self.policy.limit_nano_usd, "nano_usd")):
            if limit is None:
                continue
            capacity = limit + getattr(self.granted, name)
            if capacity == 0:
                return None
            ratios.append(Fraction(getattr(self.spent, name) + getattr(self.held, name), capacity))
        return float(max(ratios))

    @property
    def headroom_tokens(self) -> int | None:
        """Tokens: limit + granted − spent − held; `None` if unlimited."""
        return self._headroom("tokens", self.policy.limit_tokens)

    @property
    def headroom_nano_usd(self) -> int | None:
        """Nano-dollars: limit + granted − spent − held; `None` if unlimited."""
        return self._headroom("nano_usd", self.policy.limit_nano_usd)

    @property
    def pressure(self) -> Pressure:
        """The ratio in words."""
        return pressure(self.ratio)

    def to_json(self) -> dict[str, Any]:
        """The response of `GET /budgets/{scope}`."""
        policy = self.policy
        return {
            "scope": str(self.scope),
            "mode": str(policy.mode),
            "window": str(policy.window),
            "timezone": policy.timezone,
            "window_start": self.window_start,
            "window_end": self.window_end,
            "limit_tokens": policy.limit_tokens,
            "limit_nano_usd": policy.limit_nano_usd,
            "tokens": self._figures("tokens", policy.limit_tokens),
            "nano_usd": self._figures("nano_usd", policy.limit_nano_usd),
            "ratio": self.ratio,
            "pressure": str(self.pressure),
            "frozen": policy.frozen,
            "shadow": policy.shadow,
            "would": dict(self.would),
            "rollover": None if policy.rollover is None else float(policy.rollover),
            "warn_at": [float(ratio) for ratio in policy.warn_at],
            "backpressure": [[float(step.ratio), step.delay_ms] for step in policy.backpressure],
            "approval": policy.approval.to_json(),
            "learned_holds": float(policy.learned_holds),
            "last_answer": float(policy.last_answer),
            "ladder": [step.shown() for step in policy.ladder],
            "sources": dict(self.sources),
        }

    def _figures(self, name: str, limit: int | None) -> dict[str, int | None]:
        moved = {part: getattr(getattr(self, part), name) for part in ("spent", "held", "granted", "overrun")}
        return {**moved, "headroom": self._headroom(name, limit)}

    def _headroom(self, name: str, limit: int | None) -> int | None:
        if limit is None:
            return None
        spent, held, granted = (getattr(amount, name) for amount in (self.spent, self.held, self.granted))
        return int(limit + granted - spent - held)


def whole_percent(ratio: float) -> int:
    """A ratio in percent, truncated and not rounded: 0.79996 is 79, because 80 would already delay a call."""
    return int(round(ratio * 100, 9))
