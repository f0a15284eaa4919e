"""What is believed of a browser: whose page sent a request, and proof that it is ours; and where a sign-in may lead."""

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers

COOKIE = "purser_session"
HOST_COOKIE = f"__Host-{COOKIE}"
"""The same over https: no other host, path or plain connection can set it."""
CSRF_HEADER = "X-Purser-CSRF"
HOME = "/"


def cookie_of(headers: Headers) -> str | None:
    """The secret of the browser session that came with a request."""
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
    """What a page of a browser session sends along to show that it is one: nothing that another site could know."""
    return hmac.digest(secret.encode(), b"purser csrf", hashlib.sha256).hex()


def is_csrf_token(given: str, secret: str) -> bool:
    """Whether a page of this browser session sent it."""
    return hmac.compare_digest(given.encode(), csrf_token(secret).encode())


def is_own_page(headers: Headers) -> bool:
    """Whether a page of this address sent a request, as browsers tell it and no page can change.

    Programs that are no browsers say nothing of it: that counts as yes.
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
    # The scheme is left out: a proxy that ends TLS passes requests on without it.
    return parts.scheme in ("http", "https") and parts.netloc.lower() == headers.get("host", "").lower()


def local_path(wanted: str) -> str:
    """`wanted` if it is a path of this address, else the first page: no sign-in leads to another site."""
    if not wanted.isprintable() or "\\" in wanted or not wanted.startswith(HOME) or wanted.startswith("//"):
        return HOME
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return HOME
    if parts.scheme or parts.netloc or parts.path.startswith("//"):
        return HOME
    return wanted
