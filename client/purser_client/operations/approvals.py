"""`/v1/approvals`: requests to overspend, and decisions."""

from datetime import datetime
from typing import Literal

from purser_client.operations.arguments import given, new_key, part
from purser_client.operations.operation import AsyncGroup, Group, Offered, Operation, checked
from purser_client.types import ApprovalPage, DecidedView, DecisionBody, WholeApprovalView


def show(approval_id: str) -> Operation[WholeApprovalView]:
    """Returns a request with what an approver needs to decide."""
    return Operation("approvals_show", "GET", f"/v1/approvals/{part(approval_id)}", WholeApprovalView)


def list_all(
    *, state: str | None = None, cursor: str | None = None, limit: int | None = None
) -> Operation[ApprovalPage]:
    """Lists approval requests, newest first."""
    query = given(state=state, cursor=cursor, limit=limit)
    return Operation("approvals_list", "GET", "/v1/approvals", ApprovalPage, query=query)


@checked
def decide(
    approval_id: str,
    decision: Literal["approve", "deny"],
    *,
    grant_tokens: int | None = None,
    grant_nano_usd: int | None = None,
    until: datetime | None = None,
    note: str | None = None,
    ticket_url: str | None = None,
    decision_id: str | None = None,
) -> Operation[DecidedView]:
    """Approves (the shortage, or the given amounts) or denies a request in the name of the key."""
    more = given(
        grant_tokens=grant_tokens, grant_nano_usd=grant_nano_usd, until=until, note=note, ticket_url=ticket_url
    )
    key = new_key() if decision_id is None else decision_id
    body = DecisionBody.model_validate({"decision_id": key, "decision": decision} | more)
    path = f"/v1/approvals/{part(approval_id)}/decision"
    return Operation("approvals_decide", "POST", path, DecidedView, body)


class _Approvals:
    show = Offered(show)
    list = Offered(list_all)
    decide = Offered(decide)


class Approvals(_Approvals, Group):
    """Approval requests and decisions."""


class AsyncApprovals(_Approvals, AsyncGroup):
    """Approval requests and decisions, to be awaited."""
