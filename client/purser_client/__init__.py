"""The client of Purser, a budget service for LLM agents: hold before a model call, settle after it.

    with Purser() as purser, purser.call(["session:s1"], model=model, messages=messages) as call:
        reply = provider.create(model=model, messages=messages, max_tokens=call.start())
        call.settle(reply)

`purser_client.types` has the bodies and answers of the HTTP API, `purser_client.errors` the tree of errors.
"""

from purser_client.calls.async_call import AsyncCall
from purser_client.calls.call import Call
from purser_client.client import AsyncPurser, Purser
from purser_client.errors import (
    ApprovalNeeded,
    BudgetBusy,
    BudgetRefused,
    CallEnded,
    CannotHold,
    Conflict,
    Forbidden,
    HoldClosed,
    InvalidRequest,
    KeyReused,
    MoneyNeeded,
    NotAdmitted,
    NotFound,
    NotStarted,
    Problem,
    PurserError,
    TimedOut,
    TooManyRequests,
    Unanswered,
    Unauthenticated,
    Unavailable,
    UnknownPrice,
    UnknownUsage,
    Unreadable,
)
from purser_client.events import Event
from purser_client.paths import budget_path
from purser_client.settings import Patience
from purser_client.types import BudgetBody, HoldRequestBody, TaskFile

__all__ = [
    "ApprovalNeeded",
    "AsyncCall",
    "AsyncPurser",
    "BudgetBody",
    "BudgetBusy",
    "BudgetRefused",
    "Call",
    "CallEnded",
    "CannotHold",
    "Conflict",
    "Event",
    "Forbidden",
    "HoldClosed",
    "HoldRequestBody",
    "InvalidRequest",
    "KeyReused",
    "MoneyNeeded",
    "NotAdmitted",
    "NotFound",
    "NotStarted",
    "Patience",
    "Problem",
    "Purser",
    "PurserError",
    "TaskFile",
    "TimedOut",
    "TooManyRequests",
    "Unanswered",
    "Unauthenticated",
    "Unavailable",
    "UnknownPrice",
    "UnknownUsage",
    "Unreadable",
    "budget_path",
]
