"""Request bodies of `/v1/approvals`."""

from typing import Annotated

from pydantic import Field

from purser.budget.approvals import MAX_NOTE, Choice
from purser.gateway.http.schemas import Name, Positive, Request, Time


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
