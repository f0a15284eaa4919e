"""Request bodies. They are strict and closed: no field is guessed, converted or ignored."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from purser.budget.approvals import MAX_NOTE, Choice
from purser.budget.holds import MAX_CALL_NANO_USD, MAX_CALL_TOKENS, MAX_KEY, MAX_LEASE_MS
from purser.budget.policies import MAX_AMOUNT, Mode
from purser.budget.scopes import MAX_PATH
from purser.budget.windows import Window
from purser.context.conversation.storable import is_storable
from purser.gateway.access.roles import MAX_KEY_LIFE_S, Role
from purser.gateway.postgres.keys import MAX_RATE


def printable(value: str) -> str:
    """Refuses what no page or log can show."""
    if not value.isprintable():
        raise ValueError("use printable characters")
    return value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is out of range") from None


def _text_only(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("write a time as text, for example 2026-11-20T18:00:00Z")
    return value


Positive = Annotated[int, Field(ge=1, le=MAX_AMOUNT)]
Count = Annotated[int, Field(ge=0, le=MAX_AMOUNT)]
CallTokens = Annotated[int, Field(ge=1, le=MAX_CALL_TOKENS)]
CallMoney = Annotated[int, Field(ge=0, le=MAX_CALL_NANO_USD)]
Lease = Annotated[int, Field(ge=1, le=MAX_LEASE_MS)]
Attempt = Annotated[int, Field(ge=1, le=1_000_000)]
Time = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_text_only), AfterValidator(_in_utc)]
Name = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(printable)]


class Request(BaseModel):
    """Base of all request bodies."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        # Postgres stores neither, and says so only halfway through.
        if not is_storable(value):
            raise ValueError("text may hold no NUL and no half of a surrogate pair")
        return value


class HoldRequestBody(Request):
    """An ask for tokens and money on every scope of a path."""

    key: Annotated[Name, Field(max_length=MAX_KEY)]
    """Names the call. The same key with the same payload gets the same hold."""
    path: Annotated[list[str], Field(min_length=1, max_length=MAX_PATH + 2)]
    """Scopes, outermost first: `tenant`, `user`, `session`, `task`, `agent`. The tenant joins on its own, and so does
    the user of the session unless the path names one."""
    tokens: CallTokens
    """What the call may use: input + output."""
    nano_usd: CallMoney | None = None
    """What it may cost; from the price of `model` if left out."""
    model: Name | None = None
    min_tokens: CallTokens | None = None
    """The smallest hold that still makes sense; without it, all or nothing."""
    lease_ms: Lease | None = None


class AttemptBody(Request):
    """The next request to a provider under a hold."""

    attempt: Attempt


class SettleBody(Request):
    """What an attempt used."""

    attempt: Attempt
    usage: dict[str, Any]
    """The provider's usage block as it came, the fields of `Usage`, or `{"total": n}`."""
    nano_usd: CallMoney | None = None
    """What it cost; from the price of the hold's model if left out."""


class ExtendBody(Request):
    """More time, and through the gate more tokens and money."""

    tokens: Annotated[int, Field(ge=0, le=MAX_CALL_TOKENS)] = 0
    nano_usd: CallMoney | None = None
    lease_ms: Lease | None = None


class BudgetBody(Request):
    """Fields of a policy to store. A field that is left out stays as it is; `null` hands it back to the defaults."""

    limit_tokens: Count | None = None
    limit_nano_usd: Count | None = None
    mode: Annotated[Mode, Field(strict=False)] | None = None
    window: Annotated[Window, Field(strict=False)] | None = None
    timezone: str | None = None
    """IANA name."""
    warn_at: list[Any] | None = None
    """Ratios, for example `[0.8, 0.95]`."""
    backpressure: list[Any] | None = None
    """Steps `[ratio, delay_ms]`."""
    approval: dict[str, Any] | None = None
    """`roles`, `not_submitter`, `two_people_above_tokens`, `deadline_s`, `on_expiry`: one field, stored whole."""
    frozen: bool | None = None
    """A frozen scope admits nothing."""


class DecisionBody(Request):
    """A person's decision on an approval request."""

    decision_id: Name
    """Chosen by the caller; the same decision again changes nothing."""
    decision: Annotated[Choice, Field(strict=False)]
    grant_tokens: Positive | None = None
    """What to grant; the shortage if left out."""
    grant_nano_usd: Positive | None = None
    until: Time | None = None
    """When the grant ends."""
    note: Annotated[str, Field(max_length=MAX_NOTE)] | None = None


class KeyBody(Request):
    """A key to make."""

    name: str
    """Whom it stands for; decisions made with it carry this name."""
    role: Annotated[Role, Field(strict=False)]
    expires_in_s: Annotated[int, Field(ge=1, le=MAX_KEY_LIFE_S)] | None = None
    """Seconds until it ends by itself; without an end it works until it is revoked."""
    expires_at: Time | None = None
    """The same as a time."""
    rate_limit_per_s: Annotated[int, Field(ge=1, le=MAX_RATE)] | None = None
    """Requests a second, where it is not to be the gateway's own limit."""

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.expires_in_s is not None and self.expires_at is not None:
            raise ValueError("expires_in_s and expires_at both say when the key ends: send one")
        return self

    def ends_at(self) -> datetime | None:
        """When the key ends."""
        if self.expires_in_s is None:
            return self.expires_at
        return datetime.now(UTC) + timedelta(seconds=self.expires_in_s)
