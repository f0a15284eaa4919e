"""Messages about failed actions."""

import pytest
from pydantic import ValidationError

from purser.activities.errors import TaskNotFound
from purser.budget.errors import LedgerUnavailable
from purser.gateway.dashboard.actions import Refused, explain
from purser.wire.budgets import BudgetBody


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Refused("Choose a time in the future."), "Choose a time in the future."),
        (LedgerUnavailable("gone"), "The ledger did not answer. Try again: what is already recorded is not repeated."),
        (TaskNotFound("there is no task t-1"),
         "There is no task t-1. Check the id and the tenant of the key."),
        (KeyError("secret"), "The action failed; the gateway's log says why."),
    ],
)  # fmt: skip
def test_an_error_is_explained_with_its_remedy(error: Exception, message: str) -> None:
    assert explain(error) == message


def test_a_value_that_the_api_rejects_is_explained_in_a_sentence() -> None:
    with pytest.raises(ValidationError) as caught:
        BudgetBody.model_validate({"limit_tokens": "many"})
    assert explain(caught.value) == "Input should be a valid integer."
