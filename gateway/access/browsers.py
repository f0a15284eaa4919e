"""Browser security: session cookies, CSRF protection, and safe redirects after a sign-in."""

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers

COOKIE = "purser_session"
HOST_COOKIE = f"__Host-{COOKIE}"
"""Name of the cookie over https: no other host, path or plain connection can set it."""
CSRF_HEADER = "X-Purser-CSRF"
HOME = "/"


def cookie_of(headers: Headers) -> str | None:
    """The secret of the browser session in a request's cookies."""
    cookies: SimpleCookie = SimpleCookie()
    for line in headers.getlist("cookie"):
        for pair in line.split(";"):
            if pair.strip().startswith((f"{COOKIE}=", f"{HOST_COOKIE}=")):
                try:
                    cookies.load(pair.strip())
                except CookieError:
                    return None
    found = cookies.get(HOST_COOKIE) or cookies.get(COOKIE)
    return None if found is None else found.value


def csrf_token(secret: str) -> str:
    """The CSRF token of a browser session, which other sites cannot know."""
    return hmac.digest(secret.encode(), b"purser csrf", hashlib.sha256).hex()


def is_csrf_token(given: str, secret: str) -> bool:
    """Whether `given` is the CSRF token of this browser session."""
    return hmac.compare_digest(given.encode(), csrf_token(secret).encode())


def is_own_page(headers: Headers) -> bool:
    """Whether a page of this origin sent a request, judged by headers that pages cannot change.

    Clients other than browsers do not send these headers: that counts as yes.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site not in (None, "same-origin", "none"):
        return False
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    # The scheme is ignored: a proxy that terminates TLS does not forward it.
    return parts.scheme in ("http", "https") and parts.netloc.lower() == headers.get("host", "").lower()


def local_path(wanted: str) -> str:
    """`wanted` if it is a local path, else the home page: a sign-in never redirects to another site."""
    if not wanted.isprintable() or "\\" in wanted or not wanted.startswith(HOME) or wanted.startswith("//"):
        return HOME
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return HOME
    if parts.scheme or parts.netloc or parts.path.startswith("//"):
        return HOME
    return wanted
