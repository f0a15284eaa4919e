"""Which addresses webhooks may have: those that the operator lists, and nothing else."""

import re
from collections.abc import Sequence

import httpx

from purser.gateway.errors import TargetRefused

MAX_URL = 2_048
_PLAIN = re.compile(r"[!-~]+")
# A server may decode these, once or twice, before it looks at the path, and would then be elsewhere.
_DISGUISED = re.compile(r"%2e|%2f|%5c|%25|\\", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}


class Targets:
    """The allow-list. What is compared is what the HTTP client has parsed, so that both mean the same address."""

    def __init__(self, allowed: Sequence[str]) -> None:
        """Args:
        allowed: `https://host[:port][/prefix]`; empty: no address is allowed.

        Raises:
            ValueError: an entry is no such address.
        """
        self._allowed = [_entry(text) for text in allowed]

    def check(self, url: str) -> httpx.URL:
        """The address, parsed; raises `TargetRefused` unless it is below an allowed one."""
        parsed = _parse(url)
        for allowed in self._allowed:
            prefix = allowed.path.rstrip("/")
            if _origin(parsed) == _origin(allowed) and (parsed.path == prefix or parsed.path.startswith(f"{prefix}/")):
                return parsed
        raise TargetRefused(
            f"{origin(url)} is no allowed target of webhooks: an operator adds it to the setting webhook_targets"
        )


def origin(url: str) -> str:
    """Scheme, host and port. Paths of such addresses are often secrets, so nothing else is shown of them."""
    scheme, host, port = _origin(httpx.URL(url))
    return f"{scheme}://{host}" if port == _PORTS.get(scheme) else f"{scheme}://{host}:{port}"


def _parse(url: str) -> httpx.URL:
    if len(url) > MAX_URL or not _PLAIN.fullmatch(url):
        raise TargetRefused(f"url is not valid: use up to {MAX_URL} printable characters without spaces")
    try:
        parsed = httpx.URL(url)
        host = parsed.host
    except (httpx.InvalidURL, UnicodeError):  # the second: a host in punycode that stands for no name
        raise TargetRefused("url is not valid: it looks like https://chat.example.com/hooks/…") from None
    if parsed.scheme not in _PORTS or not host:
        raise TargetRefused("url is not valid: it begins with https:// and a host")
    if parsed.userinfo or parsed.fragment:
        raise TargetRefused("url is not valid: it holds no user, password or fragment")
    path = url.partition("?")[0]
    # Some servers cut what follows a `;` off each part.
    if _DISGUISED.search(path) or any(part.partition(";")[0] in (".", "..") for part in path.split("/")):
        raise TargetRefused("url is not valid: its path holds no dot segments and no encoded dots or slashes")
    return parsed


def _entry(text: str) -> httpx.URL:
    try:
        parsed = _parse(text)
    except TargetRefused:
        raise ValueError(f"{text!r} is no address such as https://chat.example.com/hooks") from None
    if parsed.query:
        raise ValueError(f"{text!r} is no address such as https://chat.example.com/hooks: leave the query out")
    return parsed


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.raw_host.decode("ascii").lower(), url.port or _PORTS.get(url.scheme)
