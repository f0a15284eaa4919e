"""Allow-list of webhook addresses, set by the operator."""

import re
from collections.abc import Sequence

import httpx

from purser.activities.tasks.checks import is_plain_path
from purser.gateway.errors import TargetRefused

MAX_URL = 2_048
_PLAIN = re.compile(r"[!-~]+")
_PORTS = {"http": 80, "https": 443}


class Targets:
    """The allow-list. It compares URLs as parsed by the HTTP client, so that both mean the same address."""

    def __init__(self, allowed: Sequence[str]) -> None:
        """Args:
        allowed: entries `https://host[:port][/prefix]`; if empty, no address is allowed.

        Raises:
            ValueError: an entry is not such an address.
        """
        self._allowed = [_entry(text) for text in allowed]

    def check(self, url: str) -> httpx.URL:
        """Parses an address; raises `TargetRefused` unless it is under an allowed one."""
        parsed = _parse(url)
        for allowed in self._allowed:
            prefix = allowed.path.rstrip("/")
            if _origin(parsed) == _origin(allowed) and (parsed.path == prefix or parsed.path.startswith(f"{prefix}/")):
                return parsed
        raise TargetRefused(
            f"{origin(url)} is not an allowed webhook target: an operator can add it to the setting webhook_targets"
        )


def origin(url: str) -> str:
    """Scheme, host and port of an address. Nothing else may be shown, because paths are often secrets."""
    scheme, host, port = _origin(httpx.URL(url))
    return f"{scheme}://{host}" if port == _PORTS.get(scheme) else f"{scheme}://{host}:{port}"


def _parse(url: str) -> httpx.URL:
    if len(url) > MAX_URL or not _PLAIN.fullmatch(url):
        raise TargetRefused(f"url is not valid: use up to {MAX_URL} printable characters without spaces")
    try:
        parsed = httpx.URL(url)
        host = parsed.host
    except (httpx.InvalidURL, UnicodeError):  # UnicodeError: a host in invalid punycode
        raise TargetRefused("url is not valid: use an address such as https://chat.example.com/hooks/…") from None
    if parsed.scheme not in _PORTS or not host:
        raise TargetRefused("url is not valid: it must begin with https:// and a host")
    if parsed.userinfo or parsed.fragment:
        raise TargetRefused("url is not valid: it must not contain a user, password or fragment")
    # As it is given: the client has resolved dot segments of what it has parsed.
    if not is_plain_path(url.partition("?")[0]):
        raise TargetRefused("url is not valid: its path must not contain dot segments, or what may be taken for one")
    return parsed


def _entry(text: str) -> httpx.URL:
    try:
        parsed = _parse(text)
    except TargetRefused:
        raise ValueError(f"{text!r} is not an address such as https://chat.example.com/hooks") from None
    if parsed.query:
        raise ValueError(f"{text!r} is not an address such as https://chat.example.com/hooks: leave the query out")
    return parsed


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.raw_host.decode("ascii").lower(), url.port or _PORTS.get(url.scheme)
