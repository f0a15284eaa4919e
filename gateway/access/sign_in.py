"""Browser sign-in: `/sign-in`, `/sign-out`, and one-time links from `POST /v1/sign-in-links`."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from purser.budget.postgres.connections.pools import Connection
from purser.gateway.access.auth import Reader, browser_session
from purser.gateway.access.authentication import SIGN_IN, address
from purser.gateway.access.browsers import (
    COOKIE,
    CSRF_HEADER,
    HOME,
    HOST_COOKIE,
    is_csrf_token,
    is_own_page,
    local_path,
)
from purser.gateway.access.loopback import is_loopback
from purser.gateway.access.roles import PERMISSIONS, Permission, Principal, Role
from purser.gateway.access.sign_in_page import sign_in_page
from purser.gateway.access.views import SignInLinkView
from purser.gateway.errors import Forbidden, ForgedRequest, GatewayError, Unauthenticated
from purser.gateway.http.idempotency import OnceOnly
from purser.gateway.http.problems import problem_of
from purser.gateway.http.routing import Route
from purser.gateway.postgres.browser_sessions import NewSession
from purser.gateway.services import Services, Use

router = APIRouter(include_in_schema=False)
links = APIRouter(route_class=Route, prefix="/v1/sign-in-links", tags=["keys"])

FORM_FIELD = "csrf"


@dataclass(frozen=True, slots=True)
class _Credentials:
    """The key or link token of a sign-in request, and where to go next."""

    key: str
    token: str
    wanted: str
    is_form: bool


@links.post("", status_code=201)
async def create_link(caller: Reader, use: Use, request: Request, once: OnceOnly) -> SignInLinkView:
    """Creates a link that signs in as the caller's key, once, within 10 minutes. Its token is not shown again.

    A browser session cannot create one, or it could extend itself. Repeating the request with the same Idempotency-Key
    creates no second link: 409 `already-made`.
    """
    if browser_session(request) is not None:
        raise Forbidden("a browser session cannot create sign-in links: send the key")

    async def act(connection: Connection | None) -> SignInLinkView:
        link = await use.browser_sessions.link(caller, connection)
        url = f"{reached_at(use.public_url, str(request.base_url)).rstrip('/')}{SIGN_IN}#{link.token}"
        return SignInLinkView(url=url, token=link.token, expires_at=link.expires_at)

    return await once.do(caller, SignInLinkView, act, secrets=("url", "token"))


def reached_at(public_url: str, asked_at: str) -> str:
    """The address for a link: the public one, unless it names only this machine, where the browser may not be."""
    return asked_at if is_loopback(urlsplit(public_url).hostname or "") else public_url


@router.head(SIGN_IN)
@router.get(SIGN_IN)
async def show(wanted: Annotated[str, Query(alias="next")] = HOME) -> Response:
    """The sign-in page. It posts a token that follows the `#` of its address."""
    return sign_in_page(local_path(wanted))


@router.post(SIGN_IN)
async def sign_in(request: Request, use: Use) -> Response:
    """Opens a browser session for a key or the token of a link, from a form or from JSON."""
    sent = _read(await request.body(), request.headers.get("content-type", ""))
    try:
        if not is_own_page(request.headers):
            raise ForgedRequest("the sign-in comes from a page of another address: open the sign-in page itself")
        made = await _open(sent, request, use)
    except GatewayError as error:
        problem = problem_of(error)
        if not sent.is_form or problem is None:
            raise
        page = sign_in_page(sent.wanted, problem.detail, problem.status)
        page.headers.update(problem.headers())
        return page
    answer: Response = RedirectResponse(sent.wanted, 303) if sent.is_form else JSONResponse({"next": sent.wanted})
    _set_cookie(answer, made, secure=use.secure_cookies or request.url.scheme == "https")
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, use: Use) -> Response:
    """Ends the browser session. The page sends its CSRF token as a header or a form field."""
    session = browser_session(request)
    if session is None:
        raise Unauthenticated("not signed in")
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    given = request.headers.get(CSRF_HEADER) or fields.get(FORM_FIELD, [""])[0]
    if not is_csrf_token(given, session.secret):
        raise ForgedRequest(f"signing out takes the header {CSRF_HEADER} or the form field {FORM_FIELD!r}")
    await use.browser_sessions.end(session)
    answer = RedirectResponse(SIGN_IN, 303)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
    answer.delete_cookie(HOST_COOKIE, path="/", httponly=True, samesite="lax", secure=True)
    return answer


async def _open(sent: _Credentials, request: Request, use: Services) -> NewSession:
    if sent.token:
        made = await use.browser_sessions.open_by_link(sent.token)
        if made is not None:
            return made
        await use.limits.failure(address(request.scope))
        raise Unauthenticated("the link does not work any more: links work once, for 10 minutes. Ask for a new one")
    caller = await use.keys.find(sent.key) if sent.key else None
    if caller is None:
        await use.limits.failure(address(request.scope))
        raise Unauthenticated("this is no live key: check it for missing characters, or ask for a new one")
    _check_role(caller)
    return await use.browser_sessions.open(caller)


def _check_role(caller: Principal) -> None:
    if not caller.may(Permission.READ):
        able = ", ".join(role for role in Role if Permission.READ in PERMISSIONS[role])
        raise Forbidden(f"role {str(caller.role)!r} opens no pages: sign in with a key of {able}")


def _read(body: bytes, content_type: str) -> _Credentials:
    """Reads credentials from a form or JSON. An unreadable body counts as empty."""
    is_form = content_type.partition(";")[0].strip().lower() != "application/json"
    if is_form:
        fields: dict[str, Any] = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
    else:
        try:
            read = json.loads(body)
        except (ValueError, RecursionError):  # not JSON, or nested too deeply
            read = {}
        fields = read if isinstance(read, dict) else {}
    key, token, wanted = (str(fields.get(name, "")) for name in ("key", "token", "next"))
    return _Credentials(key.strip(), token.strip(), local_path(wanted or HOME), is_form)


def _set_cookie(answer: Response, made: NewSession, *, secure: bool) -> None:
    life = max(1, round((made.expires_at - datetime.now(UTC)).total_seconds()))
    name = HOST_COOKIE if secure else COOKIE
    answer.set_cookie(name, made.secret, max_age=life, path="/", httponly=True, samesite="lax", secure=secure)
    answer.headers["Cache-Control"] = "no-store"
