"""Doing what a person asked for: allowed at this very moment, recorded under their key, and what went wrong said."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from nicegui import ui
from pydantic import ValidationError

from purser.budget.errors import LedgerUnavailable
from purser.gateway.access.roles import PERMISSIONS, Permission, Principal
from purser.gateway.dashboard.formats import sentence
from purser.gateway.dashboard.visit import Visit
from purser.gateway.http.problems import problem_of

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Refused(Exception):
    """What a person asked for was not done. The message is for that person."""


async def perform(visit: Visit, needs: Permission, what: str, do: Callable[[Principal], Awaitable[T]]) -> T:
    """Does something in the name of whoever is signed in now. Pages change nothing otherwise.

    Args:
        visit: the page that acts.
        needs: what the role has to carry at this moment, whatever it carried when the page was opened.
        what: the same in words, after "may not".
        do: gets the caller.

    Raises:
        Refused: it was not done, or nobody knows; the message says why, and what helps.
    """
    try:
        caller = await _permitted(visit, needs, what)
        return await do(caller)
    except Exception as error:
        raise Refused(explain(error)) from error


async def _permitted(visit: Visit, needs: Permission, what: str) -> Principal:
    caller = await visit.caller_now()
    if caller is None:
        raise Refused("Your sign-in has ended. Sign in again.")
    if not caller.may(needs):
        able = " or ".join(role for role, carried in PERMISSIONS.items() if needs in carried)
        raise Refused(f"Your role {caller.role} may not {what}: it takes {able}.")
    return caller


def explain(error: Exception) -> str:
    """What went wrong and what helps, for the person who acted. A fault of ours is logged."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, LedgerUnavailable):
        return "The ledger did not answer. Try again: what it has recorded it does not do twice."
    if isinstance(error, ValidationError):
        return sentence(error.errors()[0]["msg"])
    problem = problem_of(error)
    if problem is None:
        _log.error("an action of a page failed", exc_info=error)
        return "It did not work, and the gateway's log says why."
    return f"{sentence(problem.detail)} {problem.remedy or ''}".strip()


def toast(text: str, *, good: bool = True) -> None:
    """A short message at the edge of the page, read out too."""
    ui.notify(
        text,
        position="bottom-right",
        timeout=6_000 if good else 12_000,
        classes=f"toast {'good' if good else 'bad'}",
        close_button=False if good else "Close",
        multi_line=True,
    )
