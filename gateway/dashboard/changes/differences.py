"""What a change altered, field by field, in words."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from purser.budget.postgres.changes import Change
from purser.gateway.dashboard.formats import address, exact, exact_dollars, words


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that a change altered."""

    name: str
    before: str
    after: str


def differences(change: Change) -> Iterator[Difference]:
    """The fields whose values differ, in the order in which they are recorded; of mappings, the fields in them."""
    return _differences("", change.before or {}, change.after or {})


def _differences(within: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if isinstance(old, dict | None) and isinstance(new, dict | None):
            yield from _differences(f"{within}{words(name)}: ", old or {}, new or {})
        else:
            yield Difference(f"{within}{words(name)}", _text(name, old), _text(name, new))


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
        case None | "" | []:
            return "—"
        case bool():
            return "yes" if value else "no"
        case int():
            return exact_dollars(value) if name.endswith("nano_usd") else exact(value)
        case str():
            return value
    return json.dumps(value, ensure_ascii=False)
