"""A real Chromium, for tests of pages: whoever watches one sees every complaint of it."""

import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, async_playwright, expect

SCREENSHOTS = Path(__file__).parents[2] / "artifacts" / "screenshots"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE, NARROW = (1360, 900), (420, 860)
Theme = Literal["light", "dark"]
AT_REST = "() => !document.getAnimations().some(one => one instanceof CSSTransition)"
"""Whether nothing on a page fades or moves to its place any more."""
CHOOSE = """theme => {
    if (theme) localStorage.setItem('purser-theme', theme); else localStorage.removeItem('purser-theme');
    dispatchEvent(new Event('storage'));
}"""
"""Chooses a theme as another window does, or none."""
LONG_MS = 60_000
"""A page that never shows what a test waits for fails it; a busy machine does not."""
expect.set_options(timeout=LONG_MS)
_GONE = re.compile(r"net::ERR_ABORTED")


@dataclass
class Watch:
    """What went wrong in pages while nobody expected it."""

    complaints: list[str] = field(default_factory=list)
    expects_outage: bool = False
    """Whether the server is taken away on purpose: then failed requests are no complaint."""

    def over(self, page: Page) -> None:
        """Listens to a page from now on."""
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"error in the page: {error}"))
        page.on("request", self._asked)
        page.on("requestfailed", self._failed)
        page.on("response", lambda r: self.complaints.append(f"{r.status} {r.url}") if r.status >= 400 else None)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not self.expects_outage:
            self.complaints.append(f"console {message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        host = urlsplit(request.url).hostname
        if host not in ("127.0.0.1", None):
            self.complaints.append(f"a request left this machine: {request.url}")

    def _failed(self, request: Request) -> None:
        # Leaving a page breaks off what it was loading.
        if not self.expects_outage and not _GONE.search(request.failure or ""):
            self.complaints.append(f"failed: {request.url}: {request.failure}")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The Chromium of this machine; skips the test where there is none."""
    found = os.environ.get("PURSER_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium: install the package chromium, or set PURSER_TEST_CHROMIUM=PATH")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def borrowed(free: list[BrowserContext], browser: Browser, gateway: str) -> AsyncIterator[BrowserContext]:
    """A browser of its own, which remembers nothing but the files that pages load; given back at the end.

    Args:
        free: those that are not in use.
        browser: makes one where none is free.
        gateway: address of its pages.
    """
    context = free.pop() if free else await browser.new_context(base_url=gateway, timezone_id="UTC")
    yield context
    for page in context.pages:
        storage = await context.new_cdp_session(page)
        await storage.send("Storage.clearDataForOrigin", {"origin": gateway, "storageTypes": "local_storage"})
        await page.close()
    await context.clear_cookies()
    free.append(context)


async def sign_in(
    context: BrowserContext, secret: str, watch: Watch, *, theme: Theme = "light", size: tuple[int, int] = WIDE
) -> Page:
    """A page in which the owner of a key is signed in."""
    answer = await context.request.post("/sign-in", data={"key": secret})
    assert answer.status == httpx.codes.OK, await answer.text()
    page = await context.new_page()
    await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    await page.set_viewport_size({"width": size[0], "height": size[1]})
    page.set_default_timeout(LONG_MS)
    watch.over(page)
    return page


async def shot(page: Page, name: str, *, full: bool = False) -> Path:
    """Keeps a picture of a page as `artifacts/screenshots/NAME.png`."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    file = SCREENSHOTS / f"{name}.png"
    await page.screenshot(path=file, full_page=full)
    return file


async def check_accessibility(page: Page) -> None:
    """Fails if axe finds anything that keeps a person from using the page, however small."""
    await page.wait_for_function(AT_REST)  # what fades in has less contrast
    found = await Axe().run(page)
    violations = [
        f"{one['impact']}: {one['id']}: {one['help']}: "
        + "; ".join(str(node["html"])[:160] for node in one["nodes"][:3])
        for one in found.response["violations"]
    ]
    assert not violations, "\n".join(violations)


async def in_both_themes(page: Page, name: str) -> None:
    """Checks and keeps a picture of a page in light and in dark."""
    for theme in ("light", "dark"):
        await page.evaluate(CHOOSE, theme)
        await expect(page.locator("html")).to_have_attribute("data-theme", theme)
        await page.wait_for_function(AT_REST)
        await shot(page, f"{name}-{theme}")
        await check_accessibility(page)
    await page.evaluate(CHOOSE, None)
