"""Opens pages without a browser, and acts on them as their scripts do."""

import asyncio
import re
from contextlib import aclosing

import httpx

from purser.gateway.access.roles import Role
from tests.gateway.access.test_sign_in import secret_of, token_for
from tests.gateway.conftest import RunningGateway
from tests.gateway.dashboard.test_streams import Opened, signed_in

WITHIN_S = 60
"""Time after which a page counts as not having shown something, generous enough for a busy machine."""


async def open_page(gateway: RunningGateway, path: str, role: Role = Role.ADMIN, name: str = "ada") -> Opened:
    """A page in a browser session of a new key."""
    key = secret_of(await gateway.client(role, name=name))
    browser = await signed_in(gateway, key)
    answer = await browser.get(path, headers={"accept": "text/html"})
    assert answer.status_code == httpx.codes.OK, answer.text
    return Opened(key, browser, answer.text)


async def act(page: Opened, name: str, fields: dict[str, str] | None = None, part: str = "", **data: str) -> None:
    """Sends an act in the region that offers it, or in `part`."""
    region = part or re.findall(r'data-part="(r\d+)"', page.html[: page.html.index(f'data-act="{name}"')])[-1]
    body = {"region": region, "name": name, "data": data, "fields": fields or {}}
    answer = await page.browser.post(f"{page.path}/acts", json=body, headers=token_for(page.browser))
    assert answer.status_code == httpx.codes.NO_CONTENT, answer.text


async def until_shown(page: Opened, text: str) -> str:
    """The next markup or message of the page that contains `text`."""
    async with asyncio.timeout(WITHIN_S), aclosing(page.updates(page.number)) as updates:
        async for kind, data in updates:
            shown = str(data.get("markup", data.get("text", ""))) if kind in ("region", "toast") else ""
            if text in shown:
                return shown
    raise AssertionError(f"the page ended before it showed {text!r}")
