"""Doing what a person asked for: allowed at this very moment, and what went wrong said in words."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from nicegui import ui

from activities.errors import TaskNotFound
from budget.errors import BudgetError, LedgerUnavailable
from budget.postgres.changes import acting_key
from context.errors import ContextError
from gateway.dashboard.visit import Visit
from gateway.errors import GatewayError
from gateway.roles import PERMISSIONS, Permission, Principal

T = TypeVar("T")
AWAY = "The ledger did not answer. Try again: what it has recorded it does not do twice."

_log = structlog.get_logger(__name__)


class Refused(Exception):
    """What a person asked for was not done. The message is for that person."""


async def act(visit: Visit, needs: Permission, do: Callable[[Principal], Awaitable[T]]) -> T:
    """Does something in the name of whoever is signed in now.

    Args:
        visit: the page that acts.
        needs: what the role has to carry at this moment, whatever it carried when the page was opened.
        do: gets the caller.

    Raises:
        Refused: it was not done, or nobody knows; the message says why, and what helps.
    """
    try:
        caller = await visit.caller_now()
        if caller is None:
            raise Refused("Your sign-in has ended. Sign in again.")
        if not caller.may(needs):
            able = " or ".join(role for role, carried in PERMISSIONS.items() if needs in carried)
            raise Refused(f"Your role {caller.role} may not {needs.replace('_', ' ')}: it takes {able}.")
        acting_key.set(caller.key_id)
        return await do(caller)
    except LedgerUnavailable:
        raise Refused(AWAY) from None
    except (BudgetError, ContextError, GatewayError, TaskNotFound) as error:
        raise Refused(sentence(str(error))) from error
    except Refused:
        raise
    except Exception:
        _log.exception("an action of a page failed", page=visit.request.scope["path"])
        raise Refused("It did not work, and the gateway's log says why.") from None


def tell(text: str, *, good: bool = True) -> None:
    """A short message at the edge of the page, read out too."""
    ui.notify(
        text,
        position="bottom-right",
        timeout=6_000 if good else 12_000,
        classes=f"toast {'good' if good else 'bad'}",
        close_button=False if good else "Close",
        multi_line=True,
    )


def sentence(text: str) -> str:
    """An error's words as a sentence."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")
