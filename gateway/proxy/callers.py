"""What the headers of a request to the proxy say about its call: path, key, patience, upstream."""

import hashlib
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from starlette.datastructures import Headers

from purser.activities.tasks.checks import is_below
from purser.budget.errors import InvalidRequest
from purser.budget.gate import Verdict
from purser.budget.labels import tags_of, with_tags_of_key
from purser.budget.scopes import Kind, Path, Scope
from purser.context.strategies import StrategyName
from purser.gateway.access.auth import check_tenant
from purser.gateway.access.roles import Principal
from purser.gateway.proxy.windowing import WindowTerms

DEFAULT_WAIT_S = 10
"""Seconds that a call waits for open holds of others if its request does not say."""
MOST_WAIT_S = 600
_LEVELS = {
    "purser-user": Kind.USER,
    "purser-session": Kind.SESSION,
    "purser-task": Kind.TASK,
    "purser-agent": Kind.AGENT,
}
_SIZING = ("purser-min-output", "purser-window", "purser-window-tokens")
"""Headers that change what a call holds."""
_WAIT = re.compile(r"(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])")


@dataclass(frozen=True, slots=True)
class CallTerms:
    """The terms of one call."""

    key: str
    own_key: bool
    """Whether the key was made for this request: no one can repeat it."""
    sent: bytes
    """SHA-256 of the body and of the headers by which the hold is sized."""
    path: Path
    """As the request names it, with the tags of its key."""
    wait_s: int | None
    """Seconds to wait for room or a decision; `None`: not stated."""
    least_output: int | None
    """Output tokens to which the call may shrink; `None`: all or nothing."""
    api_base: str | None
    """Address of an OpenAI-compatible server; `None`: the provider's own."""
    window: WindowTerms | None = None
    """The window for which the request asks; `None`: its messages are sent as they are."""

    @property
    def kin(self) -> str:
        """What the keys of equal calls of one caller begin with, if each was made for its request."""
        return self.key.rpartition("-")[0]

    def patience(self, verdict: Verdict) -> float:
        """Seconds for which the call waits at this verdict: for a decision of a person only if the request asks."""
        if verdict is Verdict.WAIT:
            return DEFAULT_WAIT_S if self.wait_s is None else self.wait_s
        return self.wait_s or 0


def terms_of(headers: Headers, caller: Principal, body: bytes, allowed_api_bases: tuple[str, ...]) -> CallTerms:
    """Reads the headers of a request.

    Args:
        headers: of the request.
        caller: who sent it.
        body: SHA-256 of its body.
        allowed_api_bases: addresses of servers that it may name.

    Raises:
        InvalidRequest, InvalidScope: a header is malformed; the message names it.
        Forbidden: the path names another tenant.
    """
    path = _path(headers, caller)
    check_tenant(caller, *path.scopes)
    path = replace(path, tags=tags_of(with_tags_of_key(_tags(headers), caller.tags)))
    sent = _sha256(body.hex(), *(headers.get(name, "") for name in _SIZING))
    key = headers.get("idempotency-key")
    kin = _sha256(caller.key_id, *path.texts(), *map(str, path.tags), sent.hex())
    return CallTerms(
        key=key or f"proxy-{kin.hex()}-{uuid.uuid4().hex}",
        own_key=not key,
        sent=sent,
        path=path,
        wait_s=_wait_s(headers),
        least_output=_tokens(headers, "purser-min-output"),
        api_base=_api_base(headers, allowed_api_bases),
        window=_window(headers),
    )


def _path(headers: Headers, caller: Principal) -> Path:
    stated = headers.get("purser-path")
    named = {name: headers[name] for name in _LEVELS if name in headers}
    if stated is not None:
        if named:
            raise InvalidRequest(
                f"Purser-Path and {next(iter(named)).title()} are both given: name the path in one way"
            )
        return Path.parse(part.strip() for part in stated.split(","))
    if not named:
        return Path.parse(caller.path) if caller.path else Path((Scope(Kind.TENANT, caller.tenant),))
    scopes = {_LEVELS[name]: value for name, value in named.items()}
    if Kind.AGENT in scopes and Kind.TASK in scopes and "/" not in scopes[Kind.AGENT]:
        scopes[Kind.AGENT] = f"{scopes[Kind.TASK]}/{scopes[Kind.AGENT]}"
    return Path.parse(f"{kind}:{value}" for kind, value in scopes.items())


def _tags(headers: Headers) -> Mapping[str, str]:
    tags: dict[str, str] = {}
    for stated in headers.getlist("purser-tag"):
        for part in stated.split(","):
            name, equals, value = part.strip().partition("=")
            if not equals:
                raise InvalidRequest(
                    f"Purser-Tag {part.strip()[:80]!r} is not valid: write NAME=VALUE, for example team=search"
                )
            tags[name] = value
    return tags


def _wait_s(headers: Headers) -> int | None:
    preferred = headers.get("prefer", "")
    if "wait" not in preferred:
        return None
    found = _WAIT.search(preferred)
    if found is None or int(found[1]) > MOST_WAIT_S:
        raise InvalidRequest(f"Prefer {preferred[:80]!r} is not valid: write wait=N with 0 to {MOST_WAIT_S} seconds")
    return int(found[1])


def _window(headers: Headers) -> WindowTerms | None:
    stated, tokens = headers.get("purser-window"), _tokens(headers, "purser-window-tokens")
    if stated is None:
        if tokens is not None:
            raise InvalidRequest("Purser-Window-Tokens needs Purser-Window, which names a strategy")
        return None
    if stated not in list(StrategyName):
        raise InvalidRequest(f"Purser-Window {stated[:80]!r} is not known: use one of {', '.join(StrategyName)}")
    return WindowTerms(StrategyName(stated), tokens)


def _tokens(headers: Headers, name: str) -> int | None:
    stated = headers.get(name)
    if stated is None:
        return None
    if not stated.isascii() or not stated.isdecimal() or not 1 <= len(stated) <= 9 or int(stated) == 0:
        raise InvalidRequest(f"{name.title()} {stated[:80]!r} is not valid: give a whole number of tokens from 1")
    return int(stated)


def _api_base(headers: Headers, allowed: tuple[str, ...]) -> str | None:
    stated = headers.get("purser-api-base")
    if stated is not None and not any(is_below(stated, base) for base in allowed):
        raise InvalidRequest(f"Purser-Api-Base is {stated[:200]!r}: add it to PURSER_ALLOWED_API_BASES or leave it out")
    return stated


def _sha256(*parts: str) -> bytes:
    return hashlib.sha256("\n".join(parts).encode()).digest()
