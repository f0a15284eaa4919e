"""Acts on the page of webhooks that none of its buttons sends."""

import re

import pytest

from tests.gateway.conftest import RunningGateway
from tests.gateway.dashboard.acting import act, open_page, until_shown


@pytest.mark.parametrize("delivery", ["", "7", "²", "9" * 18, "9" * 19])
async def test_a_delivery_that_does_not_exist_is_not_sent_again(gateway: RunningGateway, delivery: str) -> None:
    page = await open_page(gateway, "/webhooks")
    part = re.findall(r'data-part="(r\d+)"', page.html[: page.html.index('data-act="create"')])[-1]
    await act(page, "again", part=part, id="hook-1", delivery=delivery)
    assert "no such delivery" in await until_shown(page, ".")
