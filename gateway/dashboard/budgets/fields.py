"""The fields of a policy as inputs: one list, which the form, its parsing and the texts of fields follow."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from purser.budget.errors import InvalidPolicy
from purser.budget.money import typed_dollars
from purser.budget.policies.fields import DECIDING_ROLES, BackpressureStep, Mode, OnExpiry
from purser.budget.policies.ladder import Ladder, read_typed, typed
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.windows import Window
from purser.gateway.dashboard import amounts
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.formats import exact, sentence

NEVER = "never"
"""Typed where a list is empty: an empty field leaves the value to the next source."""
RULES = "approval"
"""The field of a policy that consists of several inputs."""
EFFECTS = {
    Mode.HARD: "what does not fit is refused",
    Mode.SOFT: "what does not fit is warned about and goes on",
    Mode.APPROVAL: "what does not fit waits for a person",
}
_SPANS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_SPAN = re.compile(r"(\d{1,9})\s*(d|h|min|s)?")
_STEP = re.compile(r"([^:]+):\s*(\d{1,9})\s*(ms|s)?")
_YES_NO = (("no", "no"), ("yes", "yes"))


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the form."""

    name: str
    """The field of the policy, or `approval.` and the field of its rules."""
    label: str
    """Its name, and after a comma its unit."""
    typed: Callable[[Any], str]
    """The text of the input for a value that is set."""
    read: Callable[[str, str], Any]
    """The JSON value of a text that is not empty; the second argument is the label, for the error."""
    choices: Sequence[tuple[str, str]] = ()
    """Values to choose from, each with its text; empty: anything may be typed."""
    hint: str = "none"
    """Shown in an empty input."""
    known: Sequence[str] = ()
    """Texts to offer while something is typed."""
    first: bool = False
    """Whether it is always visible; others are folded."""

    @property
    def policy_field(self) -> str:
        """The field of the policy to which it belongs."""
        return self.name.partition(".")[0]

    @property
    def rule(self) -> str:
        """The field of the approval rules; empty for other inputs."""
        return self.name.partition(".")[2]

    def text(self, given: Policy | PolicyPatch) -> str:
        """The text of the input for a policy; empty if it sets nothing."""
        value = getattr(given, self.policy_field)
        if value is not None and self.rule:
            value = getattr(value, self.rule)
        return "" if value is None else self.typed(value)

    def value(self, fields: Mapping[str, str]) -> Any:
        """The JSON value that was typed, `None` if nothing was; raises `Refused`."""
        text = fields[self.name].strip()
        return self.read(text, self.label) if text else None


def _same(text: str, _: str) -> str:
    return text


def _yes(text: str, _: str) -> bool:
    return text == "yes"


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def percents(ratio: Decimal) -> str:
    """A ratio in percent with all of its digits: `80 %`."""
    return f"{(ratio * 100).normalize():f} %"


def _ratio(text: str, label: str) -> str:
    number = text.strip().removesuffix("%").strip()
    try:
        return str(Decimal(number) / 100)
    except ArithmeticError:
        raise Refused(f"{label}: “{text[:40]}” is not a share. Write percents such as 80 %.") from None


def _typed_ratios(ratios: Sequence[Decimal]) -> str:
    return ", ".join(map(percents, ratios)) or NEVER


def _ratios(text: str, label: str) -> list[str]:
    return [] if text == NEVER else [_ratio(part, label) for part in text.split(",")]


def _typed_steps(steps: Sequence[BackpressureStep]) -> str:
    return ", ".join(f"{percents(step.ratio)}: {step.delay_ms} ms" for step in steps) or NEVER


def _steps(text: str, label: str) -> list[list[Any]]:
    if text == NEVER:
        return []
    found = []
    for part in text.split(","):
        step = _STEP.fullmatch(part.strip())
        if step is None:
            raise Refused(f"{label}: “{part.strip()[:40]}” is not a step. Write 80 %: 50 ms, 95 %: 2 s.")
        found.append([_ratio(step[1], label), int(step[2]) * (1_000 if step[3] == "s" else 1)])
    return found


def _typed_ladder(steps: Ladder) -> str:
    return typed(steps) or NEVER


def _ladder(text: str, label: str) -> list[dict[str, Any]]:
    try:
        return [] if text == NEVER else [read_typed(part) for part in text.split(";")]
    except InvalidPolicy as error:
        raise Refused(f"{label}: {error}") from None


def typed_span(seconds: int) -> str:
    """Seconds in the largest unit that needs no fraction: `30 min`."""
    name, size = next((name, size) for name, size in _SPANS if seconds % size == 0)
    return f"{seconds // size} {name}"


def _span(text: str, label: str) -> int:
    found = _SPAN.fullmatch(text)
    if found is None:
        raise Refused(f"{label}: “{text[:40]}” is not a time. Write 45 s, 30 min, 2 h or 1 d.")
    return int(found[1]) * dict(_SPANS)[found[2] or "min"]


def _roles(text: str, _: str) -> list[str]:
    return text.split(" or ")


INPUTS = (
    Input("limit_tokens", "Token limit", exact, amounts.count, first=True),
    Input("limit_nano_usd", "Money limit, in dollars", typed_dollars, amounts.nano_usd, first=True),
    Input("mode", "Mode", str, _same, [(mode, f"{mode}: {EFFECTS[mode]}") for mode in Mode], first=True),
    Input("window", "Window", str, _same, hint="day, or rolling: 5h, 7d", known=tuple(Window), first=True),
    Input("timezone", "Time zone", str, _same, hint="Europe/Berlin"),
    Input("warn_at", "Warns at", _typed_ratios, _ratios, hint="80 %, 95 %"),
    Input("backpressure", "Slows down at", _typed_steps, _steps, hint="80 %: 50 ms, 95 %: 2 s"),
    Input("ladder", "Spends less at", _typed_ladder, _ladder, hint="80 %: output=50%; 95 %: model=openai/gpt-4o-mini"),
    Input("rollover", "Rolls over, up to", percents, _ratio, hint="50 %"),
    Input("frozen", "Frozen", _yes_or_no, _yes, _YES_NO),
    Input("shadow", "Shadow", _yes_or_no, _yes, [("no", "no: it applies"), ("yes", "yes: it only records")]),
    Input("learned_holds", "Learned holds", percents, _ratio, hint="0 %: the output cap"),
    Input("last_answer", "Reserved for last answers", percents, _ratio, hint="10 %"),
    Input(
        "approval.roles", "Who may approve", " or ".join, _roles,
        [(one, one) for one in (" or ".join(DECIDING_ROLES), *DECIDING_ROLES)],
    ),
    Input("approval.not_submitter", "Not the submitter", _yes_or_no, _yes, _YES_NO),
    Input("approval.two_people_above_tokens", "Two people above, in tokens", exact, amounts.count, hint="never"),
    Input(
        "approval.two_people_above_nano_usd", "Two people above, in dollars", typed_dollars, amounts.nano_usd,
        hint="never",
    ),
    Input("approval.deadline_s", "Time to decide", typed_span, _span, hint="30 min"),
    Input("approval.on_expiry", "Without a decision", str, _same, [(one, one) for one in OnExpiry]),
    Input("approval.remind_s", "Reminder before the deadline", typed_span, _span, hint="never"),
    Input("approval.escalate_s", "Deputies before the deadline", typed_span, _span, hint="never"),
)  # fmt: skip
"""Every field of a policy. A test fails if one is missing."""


def read_patch(fields: Mapping[str, str]) -> PolicyPatch:
    """The policy that a form describes; inputs that are empty leave their field to the next source.

    Raises:
        Refused: a field is not valid.
    """
    given: dict[str, Any] = {}
    rules: dict[str, Any] = {}
    for one in INPUTS:
        if one.name in fields and (value := one.value(fields)) is not None:
            (rules if one.rule else given)[one.rule or one.name] = value
    return _parsed(given | ({RULES: rules} if rules else {}))


def changes(policy: Policy, fields: Mapping[str, str]) -> dict[str, Any]:
    """The fields that were typed and differ from a policy, as in the API; `None` resets one to the next source.

    Raises:
        Refused: a field is not valid.
    """
    given: dict[str, Any] = {}
    rules: dict[str, Any] = policy.approval.to_json()
    for one in INPUTS:
        if one.name not in fields:
            continue
        value = one.value(fields)
        if one.rule:
            rules[one.rule] = value
        elif value is None and getattr(policy, one.name) is not None:
            given[one.name] = None
        elif value is not None:
            given[one.name] = value
    patch = _parsed({name: value for name, value in given.items() if value is not None} | {RULES: rules})
    shown = patch.to_json()
    return {
        name: None if name in given and given[name] is None else shown[name]
        for name in (*given, RULES)
        if getattr(patch, name) != getattr(policy, name)
    }


def _parsed(given: Mapping[str, Any]) -> PolicyPatch:
    try:
        return PolicyPatch.parse(given)
    except InvalidPolicy as error:
        raise Refused(sentence(str(error))) from None


def field_name(name: str) -> str:
    """The label of a field of a policy, without the unit."""
    return "Approvals" if name == RULES else _LABELS[name]


_LABELS = {one.name: one.label.partition(",")[0] for one in INPUTS}
POLICY_FIELDS = tuple(dict.fromkeys(one.policy_field for one in INPUTS))
"""The fields of a policy in the order of the form."""
