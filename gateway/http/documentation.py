"""Serves the documentation of this version under `/docs`, to which alerts and errors link.

It is public: people open alerts on devices that are not signed in.
"""

import re
from functools import cache
from html import escape
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import pairwise
from string import Template

from fastapi import APIRouter
from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.responses import HTMLResponse, RedirectResponse, Response

from purser.budget.errors import NotFound
from purser.gateway.access.sign_in_page import digest

PREFIX = "/docs/"
FIRST_PAGE = "quickstart"
_PAGE = re.compile(r"(?:[a-z-]+/){0,2}[a-z-]+(?:\.md)?")
_FILE = re.compile(r"(?:images|examples|examples/frameworks)/[a-z_-]+\.([a-z]+)")
_TYPES = {"png": "image/png", "svg": "image/svg+xml", "py": "text/plain", "json": "text/plain", "jsonl": "text/plain"}
_AGE = {"Cache-Control": "public, max-age=300", "X-Content-Type-Options": "nosniff"}

router = APIRouter(include_in_schema=False)


@router.head("/docs")
@router.get("/docs")
@router.head(PREFIX)
@router.get(PREFIX)
def first_page() -> Response:
    """Redirects to the first page."""
    return RedirectResponse(PREFIX + FIRST_PAGE)


@router.head(PREFIX + "{name:path}")
@router.get(PREFIX + "{name:path}")
def show(name: str) -> Response:
    """Returns a page, an image or an example. Runs in a thread, because a page is rendered on first use.

    Raises:
        NotFound: there is no file of this name.
    """
    if (file := _FILE.fullmatch(name)) and file[1] in _TYPES:
        return Response(_found(name).read_bytes(), media_type=_TYPES[file[1]], headers=_AGE)
    if not _PAGE.fullmatch(name):
        raise _missing(name)
    return HTMLResponse(_page(name.removesuffix(".md")), headers=_AGE | {"Content-Security-Policy": _policy()})


@cache
def _page(name: str) -> str:
    title, body = rendered(_found(f"{name}.md").read_text("utf-8"))
    return Template(_frame()).substitute(title=escape(title), body=body)


def rendered(text: str) -> tuple[str, str]:
    """Renders a Markdown page: returns its title, and its HTML with GitHub's heading anchors."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    title = ""
    for heading, content in pairwise(tokens):
        if heading.type == "heading_open":
            words = _words(content)
            title = title or words
            heading.attrSet("id", re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-"))
    return title, parser.renderer.render(tokens, parser.options, {})


def _words(token: Token) -> str:
    return "".join(child.content for child in token.children or ())


def _found(name: str) -> Traversable:
    file = resources.files("purser.gateway").joinpath("docs", name)
    if not file.is_file():
        raise _missing(name)
    return file


def _missing(name: str) -> NotFound:
    return NotFound(f"there is no page {name[:80]!r}: {PREFIX}{FIRST_PAGE} is the first one")


@cache
def _frame() -> str:
    return resources.files("purser.gateway.http").joinpath("documentation.html").read_text("utf-8")


@cache
def _policy() -> str:
    style = digest(_frame(), "style")
    return f"default-src 'none'; style-src {style}; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
