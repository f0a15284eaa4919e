"""A real Chromium for tests of pages, with a watch for errors in them."""

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

SCREENSHOTS = Path(__file__).parents[3] / "artifacts" / "screenshots"
PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
"""Best first: the others draw a window of their own around each page, which takes three times the processor time."""
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
ROWS = 8
"""Rows of a list that are checked for accessibility. Further ones are like these, and each takes as long."""
CHECK = """async ([rules, rows]) => {
    const hidden = new CSSStyleSheet();
    hidden.replaceSync(`:is(tr, li):nth-child(n+${rows + 1}) { display: none !important }`);
    document.adoptedStyleSheets.push(hidden);
    const options = {resultTypes: ['violations'], ...(rules.length && {runOnly: rules})};
    const {violations} = await axe.run(options);
    document.adoptedStyleSheets.pop();
    return violations;
}"""
"""Further rows are hidden meanwhile: axe looks at what it excludes, too."""
AT_REST = "() => !document.getAnimations().some(one => one instanceof CSSTransition)"
"""Whether all transitions on a page have ended."""
CHOOSE = """theme => {
    if (theme) localStorage.setItem('purser-theme', theme); else localStorage.removeItem('purser-theme');
    dispatchEvent(new Event('storage'));
}"""
"""Chooses a theme, or none, as if in another window."""
LONG_MS = 60_000
"""Timeout of expectations, generous enough for a busy machine."""
expect.set_options(timeout=LONG_MS)
_GONE = re.compile(r"net::ERR_ABORTED")


@dataclass
class Watch:
    """Unexpected errors in pages."""

    complaints: list[str] = field(default_factory=list)
    expects_outage: bool = False
    """Whether the server is stopped on purpose: failed requests are then not recorded."""

    def over(self, page: Page) -> None:
        """Watches a page from now on."""
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
        # Leaving a page aborts its pending requests.
        if not self.expects_outage and not _GONE.search(request.failure or ""):
            self.complaints.append(f"failed: {request.url}: {request.failure}")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The Chromium of this machine; skips the test if there is none."""
    found = os.environ.get("PURSER_TEST_CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        pytest.skip("no Chromium: install the package chromium-headless-shell, or set PURSER_TEST_CHROMIUM=PATH")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def borrowed(free: list[BrowserContext], browser: Browser, gateway: str) -> AsyncIterator[BrowserContext]:
    """A browser context without cookies or storage, only with cached files; returned to `free` at the end.

    Args:
        free: contexts that are not in use.
        browser: creates a context if none is free.
        gateway: URL of its pages.
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
    """A page that is signed in with a key."""
    answer = await context.request.post("/sign-in", data={"key": secret})
    assert answer.status == httpx.codes.OK, await answer.text()
    page = await context.new_page()
    await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    await page.set_viewport_size({"width": size[0], "height": size[1]})
    page.set_default_timeout(LONG_MS)
    watch.over(page)
    return page


async def shot(page: Page, name: str, *, full: bool = False) -> Path:
    """Saves a screenshot of a page as `artifacts/screenshots/NAME.png`."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    file = SCREENSHOTS / f"{name}.png"
    await page.screenshot(path=file, full_page=full)
    return file


async def check_accessibility(page: Page, *rules: str) -> None:
    """Fails if axe finds any accessibility violation, or any of these rules."""
    await page.wait_for_function(AT_REST)  # contrast is lower during a fade-in
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(Axe().axe_script)
    found = await page.evaluate(CHECK, [rules, ROWS])
    violations = [
        f"{one['impact']}: {one['id']}: {one['help']}: "
        + "; ".join(str(node["html"])[:160] for node in one["nodes"][:3])
        for one in found
    ]
    assert not violations, "\n".join(violations)


async def in_both_themes(page: Page, name: str) -> None:
    """Checks accessibility and saves a screenshot of a page in light and in dark, where nothing but colors differ."""
    for theme, rules in (("light", ()), ("dark", ("color-contrast", "link-in-text-block"))):
        await page.evaluate(CHOOSE, theme)
        await expect(page.locator("html")).to_have_attribute("data-theme", theme)
        await page.wait_for_function(AT_REST)
        await shot(page, f"{name}-{theme}")
        await check_accessibility(page, *rules)
    await page.evaluate(CHOOSE, None)
