"""Request bodies of `/v1/approvals`."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from purser.budget.approvals import MAX_NOTE, MAX_TICKET_URL, Choice
from purser.wire.base import Body
from purser.wire.fields import Name, Positive, Time


class Reasons(BaseModel):
    """The reasons given for a decision."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    note: Annotated[str, Field(max_length=MAX_NOTE)] | None = None
    ticket_url: Annotated[str, Field(max_length=MAX_TICKET_URL)] | None = None
    """Where the decision was discussed: an http or https address."""


class DecisionBody(Reasons, Body):
    """A person's decision on an approval request."""

    decision_id: Name
    """Chosen by the caller; repeating the same decision has no effect."""
    decision: Annotated[Choice, Field(strict=False)]
    grant_tokens: Positive | None = None
    """Tokens to grant; the shortage if both amounts are left out."""
    grant_nano_usd: Positive | None = None
    until: Time | None = None
    """End of the grant; that of the window if left out."""
