"""The documentation site: no link is broken, and pages load nothing from other hosts."""

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.async_api import Page

from purser.compose.stack.ports import LOOPBACK
from tests.support.servers.browser import SCREENSHOTS, WIDE, Watch, chromium

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=\"?(?:https?:)?//[^\s\">]+")
LIST_IN_A_PARAGRAPH = re.compile(r"^(?![-*|>#`]|\d+\. | {2}|$).*\n(?:[-*] |\d+\. )", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does."""
    target = tmp_path_factory.mktemp("site")
    command = [str(Path(sys.executable).with_name("mkdocs")), "build", "--strict", "-q", "-d", str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Address of a server of the site."""
    server = ThreadingHTTPServer((LOOPBACK, 0), partial(_Quiet, directory=str(site)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://{LOOPBACK}:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A page whose errors fail the test, including requests to other hosts."""
    watch = Watch()
    async with chromium() as browser:
        width, height = WIDE
        page = await browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark")
        watch.over(page)
        yield page
    assert watch.complaints == []


@pytest.mark.stack
def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").glob("**/*.md")]
    built = [site / page.with_suffix(".html") for page in pages]
    assert [str(page) for page in built if not page.exists()] == []
    built += [site / f"{name}.html" for name in ("index", "CHANGELOG", "CONTRIBUTING")]
    assert [(page.name, LOADED.findall(page.read_text())) for page in built if LOADED.search(page.read_text())] == []


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]), ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_list_is_separated_from_the_paragraph_before_it(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert [found[0] for found in LIST_IN_A_PARAGRAPH.finditer(text)] == [], "the site would show it as one paragraph"


@pytest.mark.stack
async def test_diagrams_are_drawn_and_the_search_finds(address: str, page: Page) -> None:
    await page.goto(f"{address}/operations/scaling.html")
    await page.locator("div.diagram svg").first.wait_for()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=SCREENSHOTS / "docs-scaling-dark.png")
    await page.get_by_role("textbox", name="Search").click()
    await page.keyboard.type("backpressure")
    await page.locator(".md-search-result__link").first.wait_for()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""
