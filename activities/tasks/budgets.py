"""The budgets that a task file asks for."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, ValidationInfo

from purser.budget.errors import InvalidRequest
from purser.budget.money import DOLLARS, NANO, parse_dollars, typed_dollars
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.scopes import Kind
from purser.wire.limits import MAX_AMOUNT


def _nano_usd(value: object) -> int:
    """Reads a decimal string of dollars as nano-dollars."""
    try:
        nano = parse_dollars(value) if isinstance(value, str) else None
    except InvalidRequest:
        nano = None
    if not nano:
        raise ValueError(
            'write dollars as a decimal string with at most 9 decimals, for example "0.25", '
            f"above 0 and up to {MAX_AMOUNT // NANO}"
        )
    return nano


def _of_policy(name: str) -> AfterValidator:
    """Checks a field by the rules of policies."""

    def check(value: Any) -> Any:
        PolicyPatch.parse({name: value})
        return value

    return AfterValidator(check)


Tokens = Annotated[int, Field(ge=1, le=MAX_AMOUNT)]
NanoUsd = Annotated[
    int,
    PlainValidator(_nano_usd, json_schema_input_type=Annotated[str, Field(pattern=f"^{DOLLARS.pattern}$")]),
    PlainSerializer(typed_dollars, return_type=str, when_used="json-unless-none"),
]
"""Decimal string of dollars; parsed as nano-dollars."""


class Part(BaseModel):
    """Base of all parts of a task file: strict, frozen, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class ScopeBudget(Part):
    """What the task asks for one of its scopes. It may tighten a stored policy, never widen it."""

    limit_tokens: Tokens | None = None
    limit_usd: NanoUsd | None = None
    """Decimal string of dollars; parsed as nano-dollars."""
    mode: Mode | None = None
    window: Annotated[str, _of_policy("window")] | None = None
    """`lifetime`, `hour`, `day`, `week`, `month`, or the length of a rolling window, such as `5h`."""
    timezone: Annotated[str, _of_policy("timezone")] | None = None
    warn_at: Annotated[list[Any], _of_policy("warn_at")] | None = None
    """Ratios, for example `[0.8, 0.95]`."""
    backpressure: Annotated[list[Any], _of_policy("backpressure")] | None = None
    """Steps `[ratio, delay_ms]`."""
    shadow: bool | None = None
    """Only records what the budget would have done. Refused, or without effect, where operators set what applies."""
    learned_holds: Annotated[int | float | str, _of_policy("learned_holds")] | None = None
    """Of agents: quantile of earlier replies that a hold covers at first, for example `0.9`; `0`: the whole output
    cap."""
    last_answer: Annotated[float, _of_policy("last_answer")] | None = None
    """Share of the limit, from 0 to 0.9, that only last calls may use; for tasks and agents."""
    ladder: Annotated[list[Any], _of_policy("ladder")] | None = None
    """Steps `{"ratio", "model"?, "output"?, "compression"?}` with which calls spend less before they ask, wait or are
    refused."""

    def patch(self) -> PolicyPatch:
        """Returns the fields that are set."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name != "limit_usd"}
        return PolicyPatch.parse(given | {"limit_nano_usd": self.limit_usd})


STORED = "stored"
"""Validation context for a stored file, which was validated under the rules of its time."""


def _of_kind(kind: Kind) -> AfterValidator:
    """Refuses fields that do not apply to scopes of this kind."""

    def check(budget: ScopeBudget, info: ValidationInfo) -> ScopeBudget:
        if info.context != STORED:
            budget.patch().check_kind(kind)
        return budget

    return AfterValidator(check)


class TaskBudget(Part):
    """Budgets by level; `agent` applies to each agent."""

    session: Annotated[ScopeBudget, _of_kind(Kind.SESSION)] = ScopeBudget()
    task: Annotated[ScopeBudget, _of_kind(Kind.TASK)] = ScopeBudget()
    agent: ScopeBudget = ScopeBudget()
