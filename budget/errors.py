"""Errors of the budget package.

BudgetError
├── InvalidRequest            the caller's input is invalid; nothing was written
│   ├── InvalidScope          a scope, an id or a path is malformed
│   ├── InvalidPolicy         a policy field is malformed
│   ├── InvalidUsage          a usage report cannot be read
│   └── InvalidPrices         a price file cannot be read
├── UnknownPrice              a path limits money and the model has no price
├── MoneyNeeded               a path limits money and the request states neither money nor a model
├── BeyondCounting            a sum would exceed the range of a balance; nothing was written
├── NotFound                  no such hold, approval or grant for this tenant
├── Conflict                  the name is already bound to something else
│   ├── KeyReused             a hold key was reused with another payload
│   ├── AttemptConflict       an attempt is out of order, or was reported differently before
│   └── DecisionConflict      a decision id was reused with another payload
├── HoldClosed                the hold has ended, so the step needs a new hold
├── DecisionRefused           the approval rules do not allow this decision by this person
└── LedgerUnavailable         the ledger cannot be reached: nothing is admitted
"""


class BudgetError(Exception):
    """Base class of all errors that this package raises."""


class InvalidRequest(BudgetError, ValueError):
    """The input is invalid. The message names the offending part and the remedy; nothing was written."""


class InvalidScope(InvalidRequest):
    """A scope, an id or a path is malformed."""


class InvalidPolicy(InvalidRequest):
    """A policy field is malformed."""


class InvalidUsage(InvalidRequest):
    """A usage report cannot be read."""


class InvalidPrices(InvalidRequest):
    """A price file cannot be read."""


class UnknownPrice(BudgetError):
    """A path limits money and the model has no price."""

    def __init__(
        self,
        model: str,
        scope: str | None = None,
        limit: int | None = None,
        spent: int | None = None,
        held: int | None = None,
    ) -> None:
        where = "" if scope is None else f", and scope {scope!r} limits money"
        super().__init__(
            f"model {model[:200]!r} has no price{where}: state input_cost_per_token and output_cost_per_token for it "
            "in the price file, or set a price for unknown models"
        )
        self.scope = scope
        """The scope that limits money; `None` if no gate was asked."""
        self.limit = limit
        """Nano-dollars."""
        self.spent = spent
        self.held = held


class MoneyNeeded(BudgetError):
    """A path limits money and the request states neither money nor a model."""

    def __init__(self, scope: str, limit: int | None, spent: int | None = None, held: int | None = None) -> None:
        super().__init__(f"scope {scope!r} limits money: send nano_usd, or the model to price the call by")
        self.scope = scope
        self.limit = limit
        """Nano-dollars."""
        self.spent = spent
        self.held = held


class BeyondCounting(BudgetError):
    """A sum would exceed the range of a balance. Nothing was written, and a retry does not help."""


class NotFound(BudgetError):
    """No such hold, approval or grant for this tenant."""


class Conflict(BudgetError):
    """The name is already bound to something else."""


class KeyReused(Conflict):
    """A hold key was reused with another payload."""


class AttemptConflict(Conflict):
    """An attempt is out of order, or was reported differently before."""


class DecisionConflict(Conflict):
    """A decision id was reused with another payload."""


class HoldClosed(BudgetError):
    """The hold has ended (settled, released or expired), so the step needs a new hold."""

    def __init__(self, message: str, *, state: str) -> None:
        super().__init__(message)
        self.state = state
        """How the hold ended: `settled`, `released` or `expired`."""


class DecisionRefused(BudgetError):
    """The approval rules do not allow this decision by this person; `reason` is a stable code."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
        """One of `role`, `submitter`, `same_person`, `unauthenticated`, `closed`."""


class LedgerUnavailable(BudgetError):
    """The ledger cannot be reached or did not answer in time: nothing is admitted, in any mode."""
