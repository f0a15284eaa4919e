"""The filter of the page of budgets."""

import pytest

from purser.gateway.dashboard.budgets.tree import Filter, finder


@pytest.mark.parametrize(
    ("over", "shown"),
    [
        ("", '<option value="" selected>any share</option>'),
        ("0.50", '<option value="0.5" selected>50 %</option>'),
        ("0.95", '<option value="0.95" selected>95 %</option>'),
        ("1.00", '<option value="1" selected>100 %</option>'),
        ("0.75", '<option value="0.75" selected>0.75</option>'),
        ("nonsense", '<option value="nonsense" selected>nonsense</option>'),
    ],
)
def test_the_form_has_the_share_of_the_address(over: str, shown: str) -> None:
    form = str(finder(Filter(over, exhausts="", kind="session", text="")))
    assert shown in form
    assert form.count(" selected>") == 4
