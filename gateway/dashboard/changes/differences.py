"""What a change altered, field by field, in words."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from purser.budget.postgres.changes import Change
from purser.gateway.dashboard.formats import address, dollars, exact, words


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that a change altered."""

    name: str
    before: str
    after: str


def differences(change: Change) -> Iterator[Difference]:
    """The fields whose values differ, in the order in which they are recorded."""
    before, after = change.before or {}, change.after or {}
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield Difference(words(name), _text(name, before.get(name)), _text(name, after.get(name)))


def page_of(change: Change) -> str | None:
    """URL of the page about the changed object; `None` if there is none."""
    kind, _, name = change.target.partition(":")
    if change.action in ("policy.set", "template.set"):
        return address("/budgets", scope=change.target)
    match kind:
        case "session" | "task":
            return address(f"/{kind}s/{name}")
        case "approval" | "webhook":
            return address(f"/{kind}s", id=name)
        case "key":
            return "/keys"
    return None


def _text(name: str, value: Any) -> str:
    match value:
        case None | "" | [] | {}:
            return "—"
        case bool():
            return "yes" if value else "no"
        case int():
            return dollars(value) if name.endswith("nano_usd") else exact(value)
        case str():
            return value
    return json.dumps(value, ensure_ascii=False)
