"""The sign-in page: made here, with nothing from elsewhere; its header names the one script and style that may run."""

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib import resources
from string import Template

from starlette.responses import HTMLResponse


def sign_in_page(wanted: str, problem: str = "", status: int = 200) -> HTMLResponse:
    """The page.

    Args:
        wanted: the path that it leads to.
        problem: what was wrong with the last try.
        status: of the answer.
    """
    html = Template(_source()).substitute(next=escape(wanted), problem=escape(problem))
    return HTMLResponse(html, status, _headers())


@cache
def _source() -> str:
    return resources.files("purser.gateway.access").joinpath("sign_in.html").read_text("utf-8")


@cache
def _headers() -> dict[str, str]:
    policy = (
        f"default-src 'none'; script-src {digest(_source(), 'script')}; style-src {digest(_source(), 'style')}; "
        "connect-src 'self'; "
        "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "same-origin",  # stricter, and forms would come without their origin
        "X-Content-Type-Options": "nosniff",
    }


def digest(html: str, tag: str) -> str:
    """The hash by which a browser knows the content of a page's only `tag`."""
    [content] = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
