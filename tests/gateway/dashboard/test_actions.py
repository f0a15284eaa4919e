"""What a person reads when an action was not done."""

import pytest
from pydantic import ValidationError

from purser.activities.errors import TaskNotFound
from purser.budget.errors import LedgerUnavailable
from purser.gateway.budgets.schemas import BudgetBody
from purser.gateway.dashboard.actions import Refused, explain


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Refused("Choose a time that is still to come."), "Choose a time that is still to come."),
        (LedgerUnavailable("gone"), "The ledger did not answer. Try again: what it has recorded it does not do twice."),
        (TaskNotFound("there is no task t-1"),
         "There is no task t-1. Check the id and the tenant of the key."),
        (KeyError("secret"), "It did not work, and the gateway's log says why."),
    ],
)  # fmt: skip
def test_an_error_is_told_in_words_with_what_helps(error: Exception, told: str) -> None:
    assert explain(error) == told


def test_a_value_that_the_api_does_not_take_is_told_as_a_sentence() -> None:
    with pytest.raises(ValidationError) as caught:
        BudgetBody.model_validate({"limit_tokens": "many"})
    assert explain(caught.value) == "Input should be a valid integer."
