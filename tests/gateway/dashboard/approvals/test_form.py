"""The decision that the form of a request sends."""

import re

import httpx
import pytest

from purser.budget.approvals import Choice
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.approvals.form import Draft
from tests.gateway.conftest import RunningGateway
from tests.gateway.dashboard.acting import act, open_page, until_shown
from tests.gateway.dashboard.approvals.test_together import hold, text_of


def test_an_approval_without_an_amount_is_not_sent_as_one_of_whatever_is_missing() -> None:
    with pytest.raises(Refused, match="there is nothing to grant"):
        Draft(Choice.APPROVE).body()


@pytest.mark.parametrize(("used", "answer"), [("approve", "confirm"), ("preview", "approve")])
async def test_a_form_in_use_keeps_its_amount_although_more_is_missing_by_then(
    gateway: RunningGateway, admin: httpx.AsyncClient, agent: httpx.AsyncClient, used: str, answer: str
) -> None:
    await admin.put("/v1/budgets/session:s0", json={"limit_tokens": 100, "mode": "approval", "backpressure": []})
    approval_id = await hold(agent, "s0", 500)
    page = await open_page(gateway, f"/approvals?id={approval_id}", name="ed")
    part = re.findall(r'data-part="(r\d+)"', page.html[: page.html.index('<form class="decide"')])[-1]
    await act(page, used, {"tokens": "400", "note": "fine"}, part, id=approval_id, key="1")
    await hold(agent, "s0", 700)
    shown = await until_shown(page, "2 calls wait")
    assert ("Grant 400 tokens?" in text_of(shown)) == (answer == "confirm")
    assert "1 call asks again" in text_of(shown)
    field = re.search(r'name="tokens" value="([^"]*)"', shown)
    assert field is not None
    await act(page, answer, {"tokens": field[1], "note": "fine"}, part, id=approval_id)
    assert "You approved 400 tokens" in text_of(await until_shown(page, "You approved"))
