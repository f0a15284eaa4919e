"""Templates: policy fields for all scopes whose name matches a pattern.

`session:*` matches every session, `agent:*/writer` the agent `writer` of every task, `session:*@day` the further limit
`@day` of every session, which `session:*` does not. `*` stands for any characters.
Templates rank between the policy that is stored for a scope itself and the request of a task, which may only tighten
what they set. Of several templates that set a field, the most specific wins: the one with the most characters other
than `*`. The SQL function `template_matches` matches; it is the only place that does.
"""

import re
from dataclasses import dataclass

from purser.budget.errors import InvalidScope
from purser.budget.scopes import Kind, Scope, check_period

_PART = r"[A-Za-z0-9._~*-]{1,128}"
_PATTERNS = {
    Kind.AGENT: re.compile(f"{_PART}(/{_PART})?"),
    Kind.TAG: re.compile(rf"{_PART}={_PART}|\*"),
    Kind.MODEL: re.compile(r"[A-Za-z0-9._~:/*-]{1,256}"),
}
_PATTERN = re.compile(_PART)


@dataclass(frozen=True, slots=True, order=True)
class Pattern:
    """The name of a template: `kind:` and an id with at least one `*`."""

    text: str

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        """Reads a pattern; raises `InvalidScope`, naming what is wrong."""
        kind, colon, name = text.partition(":")
        if not colon or kind not in tuple(Kind):
            raise InvalidScope(
                f"pattern {text[:140]!r} has no kind: use one of {', '.join(Kind)}, for example session:*"
            )
        name, further, period = name.partition("@")
        if further:
            check_period(period, f"pattern {text[:140]!r}")
        if not _PATTERNS.get(Kind(kind), _PATTERN).fullmatch(name):
            raise InvalidScope(
                f"pattern {text[:140]!r} is not valid: use A-Z a-z 0-9 . _ ~ - and *, one '/' for agents only,"
                " one '=' for tags only, '/' and ':' for models, for example agent:*/writer, tag:team=*, model:openai/*"
            )
        if not is_pattern(text):
            raise InvalidScope(f"pattern {text[:140]!r} has no '*': it is one scope, which has a policy of its own")
        return cls(text)

    @property
    def kind(self) -> Kind:
        """The kind of the scopes that match."""
        return Kind(self.text.partition(":")[0])

    def __str__(self) -> str:
        return self.text

    @property
    def period(self) -> str | None:
        """The period of the further limits that it matches: `day` for `session:*@day`; `None`: it matches none."""
        return self.text.partition("@")[2] or None


def is_pattern(name: str) -> bool:
    """Whether a name is that of a template, not of one scope."""
    return "*" in name


def read_name(name: str) -> Scope | Pattern:
    """Reads the name of one scope or of a template; raises `InvalidScope`."""
    return Pattern.parse(name) if is_pattern(name) else Scope.parse(name)
