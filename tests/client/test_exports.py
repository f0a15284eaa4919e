"""The public names of the package."""

import purser_client
import purser_client.errors


def test_the_exported_names_are_these() -> None:
    assert sorted(purser_client.__all__) == purser_client.__all__
    assert purser_client.__all__ == [
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


def test_every_error_is_exported_and_in_the_tree_of_its_docstring() -> None:
    tree = purser_client.errors.__doc__ or ""
    errors = {
        name
        for name, one in vars(purser_client.errors).items()
        if isinstance(one, type) and issubclass(one, purser_client.PurserError)
    }
    assert errors <= set(purser_client.__all__)
    assert all(f"{name} " in tree or f"{name}\n" in tree for name in errors)
