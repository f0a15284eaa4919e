"""The sign-in page. It loads nothing; its security policy allows only its own inline script and style, by hash."""

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib import resources
from string import Template

from starlette.responses import HTMLResponse


def sign_in_page(wanted: str, problem: str = "", status: int = 200) -> HTMLResponse:
    """Renders the page.

    Args:
        wanted: path to open after the sign-in.
        problem: error of the previous attempt.
        status: HTTP status of the response.
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
        "connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "same-origin",  # a stricter policy would omit the origin of forms
        "X-Content-Type-Options": "nosniff",
    }


def digest(html: str, tag: str) -> str:
    """The hash source of the content of a page's only `tag`, for a Content-Security-Policy."""
    [content] = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
