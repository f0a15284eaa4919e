"""Refusals: the figures and the remedy of a call that was not admitted, the same for every reader.

The API, the CLI, the timeline and the dashboard all show `to_json` of one `Refusal`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from math import floor
from typing import Any, Self

from purser.budget.gate import NOTHING, UNKNOWN_PRICE, Amount, GateAnswer, ScopeView
from purser.budget.money import dollars, typed_dollars
from purser.budget.policies.fields import MOST_LAST_ANSWER
from purser.budget.scopes import Kind, Scope

_AMOUNTS = ("granted", "spent", "held", "reserve", "asked")
_REQUESTABLE = (Kind.SESSION, Kind.TASK, Kind.AGENT)
"""Kinds of scopes that a task file may limit."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a scope did not admit a call, with the figures before the ask."""

    scope: Scope
    reason: str
    """`limit`, `frozen`, `unknown_price`, `approval`, `denied` or `expired`."""
    limit_tokens: int | None
    """Without grants; `None` if unlimited."""
    limit_nano_usd: int | None
    granted: Amount
    spent: Amount
    held: Amount
    asked: Amount
    period_end: datetime | None
    """When the budget renews by itself, or enough has fallen out of its rolling window; `None`: never."""
    reserve: Amount = NOTHING
    """The part of the limit that the ask has to leave to last calls."""
    of_task: bool = False
    """Whether an agent of a task asked: no one but its workflow knows the key of its hold."""

    @classmethod
    def of(cls, answer: GateAnswer, asked: Amount, period_end: datetime | None) -> Self:
        """The refusal by the decisive scope of a gate's answer; the end of a period does not thaw a frozen one."""
        decisive = answer.decisive
        view = decisive.view
        return cls(
            scope=view.scope,
            reason=decisive.reason,
            limit_tokens=view.limit_tokens,
            limit_nano_usd=view.limit_nano_usd,
            granted=view.granted,
            spent=view.spent,
            held=view.held,
            asked=asked,
            period_end=None if decisive.reason == "frozen" else period_end,
            reserve=_left_alone(view, asked),
        )

    @classmethod
    def parse(cls, shown: Mapping[str, Any], reason: str) -> Self:
        """Reads what `to_json` wrote for a task, with the final reason: an approver may have denied the call."""
        end = shown["period_end"]
        # Refusals that an older release stored have no reserve.
        amounts = {name: Amount(**shown.get(name, {})) for name in _AMOUNTS}
        return cls(
            scope=Scope.stored(shown["scope"]),
            reason=reason,
            limit_tokens=shown["limit"]["tokens"],
            limit_nano_usd=shown["limit"]["nano_usd"],
            period_end=end and datetime.fromisoformat(end),
            of_task=True,
            **amounts,
        )

    def to_json(self) -> dict[str, Any]:
        """The object `refusal` of the API, with `text` and `remedy` for people."""
        return {
            "scope": str(self.scope),
            "reason": self.reason,
            "limit": {"tokens": self.limit_tokens, "nano_usd": self.limit_nano_usd},
            **{name: getattr(self, name).to_json() for name in _AMOUNTS},
            "period_end": self.period_end and self.period_end.isoformat(),
            "text": self.text,
            "remedy": self.remedy,
        }

    @property
    def text(self) -> str:
        """The figures in one sentence."""
        parts = []
        if self.limit_tokens is not None:
            parts.append(_figures(self.limit_tokens, self._taken("tokens"), _tokens))
        if self.limit_nano_usd is not None:
            parts.append(_figures(self.limit_nano_usd, self._taken("nano_usd"), dollars))
        if not parts:
            return f"{self.scope} has no limit: {_tokens(self.asked.tokens)} asked."
        until = f", until {_at(self.period_end)}" if self.period_end else ""
        return f"{self.scope} may spend {'; and '.join(parts)}{until}."

    @property
    def remedy(self) -> str:
        """What the reader can do, in one sentence."""
        match self.reason:
            case "frozen":
                return f"Unfreeze {self.scope} with `purser budget set {self.scope} --no-frozen`, then ask again."
            case "denied":
                return f"A person denied the call: {self._anew}."
            case "expired":
                return f"No one decided in time: {self._anew}."
            case "approval":
                return f"An approver has to grant {self.scope} more: ask again once the request is decided."
            case value if value == UNKNOWN_PRICE:
                return "Name the price of the model in PURSER_PRICE_FILE, or set PURSER_UNKNOWN_PRICE=ceiling."
        ways = ["Ask for less", self._raise_limit()]
        if self._maybe_requested:
            # A policy never loosens what the task itself requested.
            ways.append("submit another task with a higher limit if its task file sets this one")
        if self.period_end:
            ways.append(f"wait until {_at(self.period_end)}")
        return f"{', '.join(ways[:-1])}, or {ways[-1]}."

    @property
    def _anew(self) -> str:
        """How a call is asked for anew, whose own key is refused for good."""
        again = "submit another task" if self.of_task else "ask again under another key"
        return f"{again}, or ask for less"

    def _taken(self, unit: str) -> Sequence[int]:
        return [getattr(getattr(self, name), unit) for name in _AMOUNTS]

    @property
    def _maybe_requested(self) -> bool:
        """Whether the limit may be one that the task asked for in its file."""
        return self.of_task and self.scope.kind in _REQUESTABLE and not self.scope.period

    def _raise_limit(self) -> str:
        """How to raise the limit so far that the ask would fit."""
        least = self._least_limits()
        # If a task file set the limit of its session, the one that all tasks share may be far above this.
        shared = self._maybe_requested and self.scope.kind is Kind.SESSION
        options = [f"{option} {'N' if shared else typed}" for option, typed, _ in least] or ["--limit-tokens N"]
        amounts = " and ".join(shown for _, _, shown in least)
        whose = f"the session's own limit{amounts and f' to {amounts} or more'}" if shared else "the limit"
        return f"raise {whose} with `purser budget set {self.scope} {' '.join(options)}`"

    def _least_limits(self) -> list[tuple[str, str, str]]:
        """The limits with which the ask would fit: the option that sets each, the amount as it is typed and shown."""
        needed = self.spent + self.held + self.asked - self.granted
        taken = needed + self.reserve
        least = []
        if (limit := self.limit_tokens) is not None and taken.tokens > limit:
            tokens = _least_limit(limit, self.reserve.tokens, needed.tokens)
            least.append(("--limit-tokens", str(tokens), _tokens(tokens)))
        if (limit := self.limit_nano_usd) is not None and self.asked.nano_usd and taken.nano_usd > limit:
            typed = typed_dollars(_least_limit(limit, self.reserve.nano_usd, needed.nano_usd))
            least.append(("--limit-usd", typed, f"${typed}"))
        return least


def _left_alone(view: ScopeView, asked: Amount) -> Amount:
    """The reserve of a scope; nothing of it where a last call gets all that it asks for from its part."""

    def reserved(reserve: int, asked: int) -> int:
        return 0 if view.last_of and reserve // view.last_of >= asked else reserve

    return Amount(reserved(view.reserve.tokens, asked.tokens), reserved(view.reserve.nano_usd, asked.nano_usd))


def _least_limit(limit: int, reserve: int, needed: int) -> int:
    """The smallest limit that surely leaves `needed` beside the reserve, which grows with it.

    The reserve is a share of the limit, rounded down: the share itself is only known to be less than that of one more.
    """
    if not reserve:
        return needed
    share = min(Fraction(reserve + 1, limit), Fraction(MOST_LAST_ANSWER))
    return floor((needed - 1) / (1 - share)) + 1


def _figures(limit: int, taken: Sequence[int], shown: Callable[[int], str]) -> str:
    granted, spent, held, reserved, asked = taken
    extra = f" and {shown(granted)} granted" if granted else ""
    reserve = f"{shown(reserved)} reserved for last calls, " if reserved else ""
    return f"{shown(limit)}{extra} ({shown(spent)} spent, {shown(held)} held, {reserve}{shown(asked)} asked)"


def _tokens(count: int) -> str:
    return f"{count:,} tokens"


def _at(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
