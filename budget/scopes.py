"""Scopes and paths: what has a budget, and on which budgets one call draws."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Self

from purser.budget.errors import InvalidPolicy, InvalidScope
from purser.budget.windows import read_window
from purser.wire.enums import Kind as Kind
from purser.wire.limits import MAX_PATH

LABELS = (Kind.TAG, Kind.MODEL, Kind.TOOL)
"""Kinds that are no level of a path: a call draws on a label only if the label has a policy."""
LEVELS = tuple(kind for kind in Kind if kind not in LABELS)
"""Kinds of the scopes on a path."""
_ORDER = {kind: position for position, kind in enumerate(Kind)}
_ID = re.compile(r"[A-Za-z0-9._~-]{1,128}")
_MODEL = re.compile(r"[A-Za-z0-9._~:/-]{1,256}")
REMEMBERED = 16_384
"""Most scopes that are kept parsed: one call parses each of its scopes several times."""


def check_id(value: str, what: str) -> str:
    """Returns `value` if it is valid as a new id; otherwise raises `InvalidScope`, naming `what`.

    `.` and `..` are not valid: clients and proxies remove them from URLs.
    """
    _check_characters(value, what)
    if value in (".", ".."):
        raise _removed(value, what)
    return value


def check_period(period: str, of: str) -> None:
    """Raises `InvalidScope`, naming `of`, unless a further limit can have this period."""
    try:
        read_window(period)
    except InvalidPolicy as error:
        raise InvalidScope(f"the period of {of} is not one: {error}") from None


def _removed(value: str, what: str) -> InvalidScope:
    return InvalidScope(f"{what} {value!r} is not valid: clients and proxies remove it from URLs; use another")


def _check_characters(value: str, what: str) -> None:
    if not _ID.fullmatch(value):
        raise InvalidScope(f"{what} {value[:140]!r} is not valid: use 1 to 128 of the characters A-Z a-z 0-9 . _ ~ -")


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """An entity with a budget, written `kind:id`."""

    kind: Kind
    """Level of the scope in a path."""
    id: str
    """Unique per tenant and kind; for an agent of a task `{task_id}/{agent_id}`, for a tag `{name}={value}`.
    A further limit of a scope, with a period of its own, has the suffix `@` and the period: `s1@day`."""

    def __post_init__(self) -> None:
        if "@" in self.id:
            check_period(self.id.partition("@")[2], f"scope {str(self)[:140]!r}")
        if self.kind is Kind.MODEL:
            if not _MODEL.fullmatch(self._own_id):
                raise InvalidScope(f"{self._named} is not valid: use 1 to 256 of A-Z a-z 0-9 . _ ~ : / -")
            return
        parts = self._parts
        if self.kind is Kind.AGENT and len(parts) > 2:
            raise InvalidScope(f"scope {str(self)[:140]!r} has too many '/': an agent is agent:task_id/agent_id")
        if self.kind is Kind.TAG and len(parts) != 2:
            raise InvalidScope(f"scope {str(self)[:140]!r} is no tag: write tag:name=value, as in tag:team=search")
        for part in parts:
            _check_characters(part, self._named)

    @property
    def period(self) -> str | None:
        """The window of a further limit; `None` for the scope itself."""
        return self.id.partition("@")[2] or None

    @property
    def base(self) -> "Scope":
        """The scope itself, without a period."""
        return Scope(self.kind, self._own_id)

    @property
    def _own_id(self) -> str:
        return self.id.partition("@")[0]

    @property
    def _parts(self) -> list[str]:
        match self.kind:
            case Kind.AGENT | Kind.MODEL:
                return self._own_id.split("/")
            case Kind.TAG:
                return self._own_id.split("=")
        return [self._own_id]

    @property
    def _named(self) -> str:
        return f"the id in scope {str(self)[:140]!r},"

    @classmethod
    @lru_cache(REMEMBERED)
    def parse(cls, text: str) -> "Scope":
        """Parses `kind:id` from user input; raises `InvalidScope`."""
        scope = cls.stored(text)
        for part in scope._parts:
            if part in (".", ".."):
                raise _removed(part, scope._named)
        return scope

    @classmethod
    @lru_cache(REMEMBERED)
    def stored(cls, text: str) -> "Scope":
        """Parses a stored `kind:id`, which may predate today's rules; raises `InvalidScope`."""
        kind, colon, identifier = text.partition(":")
        if not colon:
            raise InvalidScope(f"scope {text[:140]!r} has no kind: write kind:id, for example session:s1")
        try:
            known = Kind(kind)
        except ValueError:
            kinds = ", ".join(Kind)
            raise InvalidScope(f"scope {text[:140]!r} has the unknown kind {kind[:40]!r}: use one of {kinds}") from None
        return cls(known, identifier)

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


@dataclass(frozen=True, slots=True)
class Path:
    """The scopes on which one call draws, outermost first; levels may be missing, and only `agent` may repeat."""

    scopes: tuple[Scope, ...]
    tags: tuple[Scope, ...] = ()
    """Tags of the call. It draws on those that have a policy."""

    def __post_init__(self) -> None:
        if not self.scopes:
            raise InvalidScope("the path is empty: name at least one scope, for example ['session:s1']")
        bounded = sum(scope.kind not in (Kind.TENANT, Kind.USER) for scope in self.scopes)
        if bounded > MAX_PATH:
            raise InvalidScope(
                f"the path has {bounded} scopes: at most {MAX_PATH} are allowed in addition to tenant and user"
            )
        if label := next((scope for scope in self.scopes if scope.kind in LABELS), None):
            raise InvalidScope(f"scope {str(label)!r} is a label, not a level of a path: leave it out of the path")
        if further := next((scope for scope in self.scopes if scope.period), None):
            raise InvalidScope(f"scope {str(further)!r} is a further limit: name {further.base}, and its limits join")
        if len(set(self.scopes)) != len(self.scopes):
            raise InvalidScope("the path names a scope twice: each scope is charged once per call")
        for outer, inner in pairwise(self.scopes):
            repeats = outer.kind is inner.kind and inner.kind is not Kind.AGENT
            if repeats or _ORDER[outer.kind] > _ORDER[inner.kind]:
                order = " > ".join(LEVELS)
                raise InvalidScope(f"scope {str(inner)!r} may not follow {str(outer)!r}: the order is {order}")

    def _check_agents(self) -> None:
        """Raises `InvalidScope` for an agent of another task: only one of the two budgets could be meant.

        Older rules allowed it, so stored paths may name one.
        """
        task_id = self.task_id()
        for scope in self.scopes:
            of, slash, agent = scope.id.partition("/")
            if task_id and scope.kind is Kind.AGENT and slash and of != task_id:
                raise InvalidScope(
                    f"scope {str(scope)!r} is no agent of task:{task_id}: name task:{of}, or write "
                    f"agent:{task_id}/{agent}"
                )

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Self:
        """Parses `kind:id` strings; raises `InvalidScope`."""
        # A text is itself a sequence of texts: its letters.
        given = () if isinstance(texts, str) else tuple(texts)
        if isinstance(texts, str) or not all(isinstance(text, str) for text in given):
            raise InvalidScope(f"the path {str(texts)[:140]!r} is no list of texts: write for example ['session:s1']")
        path = cls(tuple(map(Scope.parse, given)))
        path._check_agents()
        return path

    def texts(self) -> list[str]:
        """The scopes as `kind:id` strings, without tags."""
        return [str(scope) for scope in self.scopes]

    def below(self, *outer: Scope) -> Self:
        """This path, extended by those scopes of `outer` whose kind it does not contain."""
        named = {scope.kind for scope in self.scopes}
        joining = (scope for scope in outer if scope.kind not in named)
        return type(self)(tuple(sorted((*joining, *self.scopes), key=lambda scope: _ORDER[scope.kind])), self.tags)

    def id_of(self, kind: Kind) -> str:
        """The id of the outermost scope of this kind, or an empty string if there is none."""
        return next((scope.id for scope in self.scopes if scope.kind is kind), "")

    def task_id(self) -> str:
        """The id of the task on this path, or an empty string if there is none."""
        return self.id_of(Kind.TASK)


def payers(tenant: str, user_id: str | None) -> tuple[Scope, ...]:
    """The scopes that every call of a tenant draws on: the tenant, and the user if one is known."""
    users = [Scope(Kind.USER, user_id)] if user_id else []
    return Scope(Kind.TENANT, tenant), *users


def task_scopes(session_id: str, task_id: str) -> tuple[Scope, ...]:
    """The scopes on which every call of a task draws, below tenant and user and above its agents."""
    return Scope(Kind.SESSION, session_id), Scope(Kind.TASK, task_id)


def agent_scope(task_id: str, agent_id: str) -> Scope:
    """The scope of one agent of a task."""
    _check_characters(task_id, "task id")
    _check_characters(agent_id, "agent id")
    return Scope(Kind.AGENT, f"{task_id}/{agent_id}")
