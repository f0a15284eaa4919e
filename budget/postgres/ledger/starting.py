"""What keeps an attempt from starting."""

from purser.budget.errors import AttemptConflict, HoldClosed, NotFound
from purser.budget.texts import number_of


def check_start(outcome: str, hold_id: str, attempt: int | None, state: str, last: int) -> None:
    """Raises unless an attempt has started, or can start once its top-up fits.

    Args:
        outcome: of `ledger_start_attempt`.
        hold_id: its hold.
        attempt: its number; `None`: the next one.
        state: state of its hold.
        last: number of the last attempt of its hold.

    Raises:
        NotFound, HoldClosed, AttemptConflict
    """
    match outcome:
        case "not_found":
            raise no_hold(hold_id)
        case "closed":
            raise HoldClosed(f"hold {hold_id!r} is {state}: hold again under another key", state=state)
        case "out_of_order":
            raise AttemptConflict(f"attempt {attempt!r} of hold {hold_id!r} cannot start: the next is {last + 1}")


def no_hold(name: str) -> NotFound:
    """The error for an unknown hold."""
    return NotFound(f"hold {name[:80]!r} does not exist for this tenant: use the hold_id of an admitted ask")


def hold_number(hold_id: str) -> int:
    """The number of a hold.

    Raises:
        NotFound: no hold has such an id.
    """
    number = number_of(hold_id)
    if number is None:
        raise no_hold(hold_id)
    return number
